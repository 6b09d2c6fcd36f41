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
    m_memory.reset();
    m_bytes = 0;
    // A quarter more than asked for, so that a slowly growing need does not allocate every time.
    const std::size_t size = bytes + bytes / 4;
    m_memory = allocateAligned(size, "intermediate results");
    m_bytes = size;
}

} // namespace halfscope::cpu
