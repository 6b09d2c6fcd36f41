// SPDX-License-Identifier: GPL-3.0-or-later
// Memory on the GPU, and pinned memory on the host, which the GPU reads and writes while the host goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <cuda_runtime.h>

namespace halfscope::cuda {

// At least `bytes`, aligned to 256; a BackendError says how much was wanted for what and how much there is.
std::shared_ptr<void> allocateDevice(std::size_t bytes, const char* purpose);
std::shared_ptr<void> allocatePinned(std::size_t bytes);

// Memory for tensors. What they give back is kept for the next of the same size, so that a model that gets other
// formats and back again makes no calls of the driver, each of which would wait for the device. No more is kept than is
// in use, and none when there is too little for something new. Tensors may outlive this.
class TensorMemory {
public:
    TensorMemory();
    std::shared_ptr<void> get(std::size_t bytes);
    void release();           // all that is kept
    std::size_t kept() const; // bytes

private:
    struct Blocks;
    std::shared_ptr<Blocks> m_blocks;
};

// Memory that an operation needs while it runs. It grows to what the largest one needs and is then reused. Operations
// follow one another on one stream, so the next may write where the last still reads.
class Scratch {
public:
    // At least `size` bytes with undefined contents. Invalidates what it returned before.
    void* bytes(std::size_t size);

private:
    std::shared_ptr<void> m_memory;
    std::size_t m_size = 0;
};

// Small arrays on their way to the GPU. They are copied into pinned memory, in turn around a ring, so that the caller's
// array may change at once and the copy waits for nobody.
class Uploads {
public:
    explicit Uploads(cudaStream_t stream) : m_stream(stream) {}

    // A copy in device memory, valid for the operations launched until synchronized() or the ring is full, when the
    // stream is waited for.
    template <typename T>
    const T* send(const T* from, std::int64_t count)
    {
        return static_cast<const T*>(sendBytes(from, static_cast<std::size_t>(count) * sizeof(T)));
    }
    // The stream has come to its end: all of the ring is free.
    void synchronized() { m_used = 0; }

private:
    const void* sendBytes(const void* from, std::size_t size);

    cudaStream_t m_stream;
    std::shared_ptr<void> m_pinned;
    std::shared_ptr<void> m_device;
    std::size_t m_size = 0;
    std::size_t m_used = 0;
};

} // namespace halfscope::cuda
