// SPDX-License-Identifier: GPL-3.0-or-later
// Times between moments of the stream, by events that the device notes as it comes to them.
#pragma once

#include <array>
#include <cstddef>

#include <cuda_runtime.h>

namespace halfscope::cuda {

class Laps {
public:
    explicit Laps(cudaStream_t stream); // throws BackendError
    ~Laps();
    Laps(const Laps&) = delete;
    Laps& operator=(const Laps&) = delete;

    void lap(float* milliseconds);
    // The stream has come to its end: hands out all times.
    void synchronized();
    void forget() noexcept { m_pending = 0; }

private:
    void destroy() noexcept;

    static constexpr std::size_t kEvents = 32; // between two times that the stream is waited for; then times are lost
    cudaStream_t m_stream;
    std::array<cudaEvent_t, kEvents + 1> m_events{}; // the first: of the lap before those that are pending
    std::array<float*, kEvents + 1> m_receivers{};
    std::size_t m_pending = 0;
    bool m_started = false;
};

} // namespace halfscope::cuda
