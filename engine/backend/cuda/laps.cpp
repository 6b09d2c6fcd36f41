// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/laps.h"

#include <utility>

#include "engine/backend/cuda/errors.h"

namespace halfscope::cuda {

Laps::Laps(cudaStream_t stream) : m_stream(stream)
{
    try {
        for (cudaEvent_t& event : m_events)
            check(cudaEventCreate(&event), "making an event");
    } catch (...) {
        destroy();
        throw;
    }
}

Laps::~Laps() { destroy(); }

void Laps::destroy() noexcept
{
    for (cudaEvent_t event : m_events) {
        if (event != nullptr)
            cudaEventDestroy(event);
    }
}

void Laps::lap(float* milliseconds)
{
    if (m_pending == kEvents) {
        std::swap(m_events[0], m_events[m_pending]);
        m_pending = 0;
    }
    const std::size_t place = m_started ? ++m_pending : 0;
    check(cudaEventRecord(m_events[place], m_stream), "timing");
    m_receivers[place] = milliseconds;
    m_started = true;
}

void Laps::synchronized()
{
    for (std::size_t i = 1; i <= m_pending; ++i) {
        float milliseconds = 0.0F;
        if (m_receivers[i] == nullptr)
            continue;
        check(cudaEventElapsedTime(&milliseconds, m_events[i - 1], m_events[i]), "timing");
        *m_receivers[i] = milliseconds;
    }
    std::swap(m_events[0], m_events[m_pending]);
    m_pending = 0;
}

} // namespace halfscope::cuda
