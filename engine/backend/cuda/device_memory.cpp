// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/device_memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/errors.h"

namespace halfscope::cuda {

namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 20;
constexpr std::size_t kAlignment = 256;

std::string megabytes(std::size_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

} // namespace

std::shared_ptr<void> allocateDevice(std::size_t bytes, const char* purpose)
{
    void* memory = nullptr;
    const cudaError_t answer = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
    if (answer == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        std::size_t free = 0;
        std::size_t total = 0;
        std::string available;
        if (cudaMemGetInfo(&free, &total) == cudaSuccess)
            available = ", and " + megabytes(free) + " of the GPU's " + megabytes(total) + " are free";
        throw BackendError("Out of GPU memory: " + std::string(purpose) + " needs " + std::to_string(bytes) +
                           " bytes (" + megabytes(bytes) + ")" + available + "; choose a smaller model or batch.");
    }
    check(answer, "allocating memory");
    return {memory, [](void* p) { cudaFree(p); }};
}

std::shared_ptr<void> allocatePinned(std::size_t bytes)
{
    void* memory = nullptr;
    check(cudaMallocHost(&memory, std::max<std::size_t>(bytes, 1)), "allocating pinned memory");
    return {memory, [](void* p) { cudaFreeHost(p); }};
}

// Of all tensors, which share it.
struct TensorMemory::Blocks {
    ~Blocks() { release(); }

    void release()
    {
        free.clear();
        kept = 0;
    }

    void giveBack(std::size_t bytes, std::shared_ptr<void> memory)
    {
        inUse -= bytes;
        kept += bytes;
        free.emplace(bytes, std::move(memory));
        if (kept > inUse)
            release();
    }

    std::multimap<std::size_t, std::shared_ptr<void>> free; // by size
    std::size_t kept = 0;
    std::size_t inUse = 0;
};

TensorMemory::TensorMemory() : m_blocks(std::make_shared<Blocks>()) {}

std::shared_ptr<void> TensorMemory::get(std::size_t bytes)
{
    Blocks& blocks = *m_blocks;
    std::shared_ptr<void> memory;
    if (const auto found = blocks.free.find(bytes); found != blocks.free.end()) {
        memory = std::move(found->second);
        blocks.free.erase(found);
        blocks.kept -= bytes;
    } else {
        try {
            memory = allocateDevice(bytes, "a tensor");
        } catch (const BackendError&) {
            if (blocks.kept == 0)
                throw;
            blocks.release();
            memory = allocateDevice(bytes, "a tensor");
        }
    }
    blocks.inUse += bytes;
    void* const place = memory.get();
    return {place, [bytes, memory = std::move(memory), owner = m_blocks](void*) mutable {
                owner->giveBack(bytes, std::move(memory));
            }};
}

void TensorMemory::release() { m_blocks->release(); }

std::size_t TensorMemory::kept() const { return m_blocks->kept; }

void* Scratch::bytes(std::size_t size)
{
    if (m_memory == nullptr || size > m_size) {
        m_memory.reset(); // freeing waits for the kernels that still use it
        m_size = 0;
        m_memory = allocateDevice(size, "an operation");
        m_size = size;
    }
    return m_memory.get();
}

const void* Uploads::sendBytes(const void* from, std::size_t size)
{
    const std::size_t padded = (size + kAlignment - 1) / kAlignment * kAlignment;
    if (m_used + padded > m_size) {
        check(cudaStreamSynchronize(m_stream), "waiting for the GPU");
        m_used = 0;
        if (padded > m_size) {
            m_size = 0;
            const std::size_t wanted = std::max(kRingBytes, 4 * padded);
            m_pinned = allocatePinned(wanted);
            m_device = allocateDevice(wanted, "small arrays");
            m_size = wanted;
        }
    }
    auto* pinned = static_cast<std::byte*>(m_pinned.get()) + m_used;
    auto* device = static_cast<std::byte*>(m_device.get()) + m_used;
    m_used += padded;
    if (size > 0) {
        std::memcpy(pinned, from, size);
        check(cudaMemcpyAsync(device, pinned, size, cudaMemcpyHostToDevice, m_stream), "copying to the GPU");
    }
    return device;
}

} // namespace halfscope::cuda
