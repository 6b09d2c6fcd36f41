// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry on its way from the training thread to its one reader. Records and events are lossless. Snapshots are
// lossless too, but when the reader falls behind, waiting ones are merged by exact addition, so memory stays bounded.
#pragma once

#include <mutex>

#include "engine/train/engine.h"

namespace halfscope {

class TelemetryQueue {
public:
    static constexpr std::size_t kMaxSnapshots = 128;

    void restart(); // drops what is waiting; the reader will be told
    void push(const StepRecord& record, SnapshotPtr snapshot, ShadowPtr shadow, const std::vector<Event>& events);
    void push(Event event);
    void push(EvaluationPtr evaluation);
    void drain(Telemetry& out);

private:
    std::mutex m_mutex;
    Telemetry m_waiting;
};

} // namespace halfscope
