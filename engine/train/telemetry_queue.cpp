// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/telemetry_queue.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace halfscope {

void TelemetryQueue::restart()
{
    const std::lock_guard lock(m_mutex);
    m_waiting = {};
    m_waiting.restarted = true;
    tell();
}

void TelemetryQueue::setWake(std::function<void()> wake)
{
    const std::lock_guard lock(m_mutex);
    m_wake = std::move(wake);
    m_told = false;
}

void TelemetryQueue::tell()
{
    if (m_wake && !std::exchange(m_told, true))
        m_wake();
}

std::size_t TelemetryQueue::mostSnapshots(const Snapshot& one)
{
    const std::size_t bytes =
        sizeof(one) + one.taps.size() * sizeof(TapStatistics) + one.updates.size() * sizeof(ModuleUpdates);
    return std::clamp(kMaxBytes / bytes, std::size_t{8}, kMaxSnapshots);
}

void TelemetryQueue::push(const StepRecord& record, SnapshotPtr snapshot, ShadowPtr shadow,
                          const std::vector<Event>& events)
{
    const std::lock_guard lock(m_mutex);
    tell();
    m_waiting.steps.push_back(record);
    m_waiting.events.insert(m_waiting.events.end(), events.begin(), events.end());
    if (shadow)
        m_waiting.shadows.push_back(std::move(shadow));
    if (!snapshot)
        return;
    auto& snapshots = m_waiting.snapshots;
    snapshots.push_back(std::move(snapshot));
    if (snapshots.size() <= mostSnapshots(*snapshots.back()))
        return;
    // The reader is far behind: halve what waits. The newest stays whole.
    std::vector<SnapshotPtr> fewer;
    for (std::size_t i = 0; i + 2 < snapshots.size(); i += 2)
        fewer.push_back(std::make_shared<const Snapshot>(merged(*snapshots[i], *snapshots[i + 1])));
    if (snapshots.size() % 2 == 0)
        fewer.push_back(snapshots[snapshots.size() - 2]);
    fewer.push_back(snapshots.back());
    snapshots = std::move(fewer);
}

void TelemetryQueue::push(Event event)
{
    const std::lock_guard lock(m_mutex);
    tell();
    m_waiting.events.push_back(std::move(event));
}

void TelemetryQueue::push(EvaluationPtr evaluation)
{
    const std::lock_guard lock(m_mutex);
    tell();
    auto& waiting = m_waiting.evaluations;
    if (evaluation->commandId == 0) // a newer validation takes the place of an older one
        std::erase_if(waiting, [](const EvaluationPtr& e) { return e->commandId == 0; });
    waiting.push_back(std::move(evaluation));
}

void TelemetryQueue::drain(Telemetry& out)
{
    // The vectors keep their memory, so that the next steps need none; but not for ever what a reader that was away for
    // long once needed.
    const auto empty = [](auto& rows) {
        if (rows.capacity() > kMostKept)
            std::remove_reference_t<decltype(rows)>().swap(rows); // rows = {} assigns a list and keeps the memory
        rows.clear();
    };
    out.restarted = false;
    empty(out.steps);
    empty(out.events);
    empty(out.snapshots);
    empty(out.evaluations);
    empty(out.shadows);
    const std::lock_guard lock(m_mutex);
    std::swap(out, m_waiting);
    m_told = false;
}

} // namespace halfscope
