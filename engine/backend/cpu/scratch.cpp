// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/scratch.h"

#include <algorithm>
#include <new>
#include <string>

namespace halfscope::cpu {

namespace {

constexpr std::align_val_t kAlignment{64};

}

std::shared_ptr<void> allocateAligned(std::size_t bytes, const char* purpose)
{
    void* memory = ::operator new(std::max<std::size_t>(bytes, 1), kAlignment, std::nothrow);
    if (memory == nullptr) {
        throw BackendError("Out of memory: " + std::to_string(bytes) + " bytes are needed for " + purpose +
                           "; choose a smaller model or batch.");
    }
    return {memory, [](void* p) { ::operator delete(p, kAlignment); }};
}

void ScratchBuffer::grow(std::size_t bytes)
{
    allocate(bytes + bytes / 4); // so that a slowly growing need does not allocate every time
}

void ScratchBuffer::reserve(std::size_t bytes)
{
    if (bytes > m_bytes) {
        allocate(bytes);
    }
}

void ScratchBuffer::allocate(std::size_t bytes)
{
    m_memory.reset();
    m_bytes = 0;
    m_memory = allocateAligned(bytes, "intermediate results");
    m_bytes = bytes;
}

void Context::levelScratch()
{
    for (std::size_t buffer = 0; buffer < kBuffers; ++buffer) {
        std::size_t most = 0;
        for (const Worker& worker : workers) {
            most = std::max(most, worker.buffers[buffer].bytes());
        }
        for (Worker& worker : workers) {
            worker.buffers[buffer].reserve(most);
        }
    }
}

} // namespace halfscope::cpu
