// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry on its way from the training thread to its one reader. Records and events are lossless. Snapshots are
// lossless too, but when the reader falls behind, waiting ones are merged by exact addition, so memory stays bounded.
#pragma once

#include <functional>
#include <mutex>

#include "engine/train/engine.h"

namespace halfscope {

class TelemetryQueue {
public:
    static constexpr std::size_t kMaxSnapshots = 128;
    static constexpr std::size_t kMaxBytes = std::size_t{24} << 20; // of waiting snapshots: fewer where they are large
    static constexpr std::size_t kMostKept = 4096; // rows of memory of a Telemetry that is drained into again

    void restart(); // drops what is waiting; the reader will be told
    void push(const StepRecord& record, SnapshotPtr snapshot, ShadowPtr shadow, const std::vector<Event>& events);
    void push(Event event);
    void push(EvaluationPtr evaluation);
    void drain(Telemetry& out);
    void setWake(std::function<void()> wake); // see Engine

private:
    void tell();
    static std::size_t mostSnapshots(const Snapshot& one);

    std::mutex m_mutex;
    Telemetry m_waiting;
    std::function<void()> m_wake;
    bool m_told = false; // since the last drain
};

} // namespace halfscope
