// SPDX-License-Identifier: GPL-3.0-or-later
// Memory that operations need while they run. It grows to what the largest operation needs and is then reused, so that
// a steady training step allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/thread_pool.h"

namespace halfscope::cpu {

// 64-byte aligned memory of `bytes`, or a BackendError that says how much was wanted and for what.
std::shared_ptr<void> allocateAligned(std::size_t bytes, const char* purpose);

class ScratchBuffer {
public:
    // At least `count` elements, with undefined contents. Invalidates what it returned before.
    template <typename T>
    T* get(std::int64_t count)
    {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        if (bytes > m_bytes) {
            grow(bytes);
        }
        return static_cast<T*>(m_memory.get());
    }

    std::size_t bytes() const { return m_bytes; }
    void reserve(std::size_t bytes); // exactly, where there are fewer

private:
    void grow(std::size_t bytes);
    void allocate(std::size_t bytes);

    std::shared_ptr<void> m_memory;
    std::size_t m_bytes = 0;
};

// What one chunk of an operation saw of the values it stored.
struct ProbeSlot {
    bool saturated = false;
    bool nonfinite = false;
    TensorStatistics statistics;
};

// Everything the operations share: the pool and the scratch memory.
struct Context {
    explicit Context(int threads) : pool(threads), workers(static_cast<std::size_t>(pool.threads())) {}

    // Buffers are told apart by number; an operation and the helpers it calls use different ones (see the enums there).
    static constexpr int kBuffers = 16;
    struct alignas(64) Worker {
        std::array<ScratchBuffer, kBuffers> buffers;
    };

    template <typename T>
    T* shared(int buffer, std::int64_t count)
    {
        return sharedBuffers[static_cast<std::size_t>(buffer)].template get<T>(count);
    }
    template <typename T>
    T* local(int worker, int buffer, std::int64_t count)
    {
        return workers[static_cast<std::size_t>(worker)].buffers[static_cast<std::size_t>(buffer)].template get<T>(
            count);
    }

    // Gives every worker the memory that one of them has come to need, so that a steady step takes none, whoever gets
    // which chunk. Between operations.
    void levelScratch();

    ThreadPool pool;
    std::vector<Worker> workers;
    std::array<ScratchBuffer, kBuffers> sharedBuffers;
    std::vector<ProbeSlot> slots;       // of the first probe of an operation
    std::vector<ProbeSlot> secondSlots; // of the second, where there is one
};

} // namespace halfscope::cpu
