// SPDX-License-Identifier: GPL-3.0-or-later
// What the status bar says.
#pragma once

#include <QString>

#include "ui/run_model.h"

namespace halfscope {

QString stateText(const RunModel& run); // "running on The Adventures of ..."
QString byteText(double bytes);         // "12.3 MB"

// Milliseconds, the mean of recent steps.
struct StepTime {
    double whole = 0.0;
    double forward = 0.0;
    double backward = 0.0;
    double optimizer = 0.0;
    double statistics = 0.0;
    double shadow = 0.0;
};
StepTime recentStepTime(const RunModel& run);
QString stepTimeText(const StepTime& time); // "step 12.3 ms: forward 4.1, backward 6, optimizer 1.2, statistics 0.3"
QString briefStepTimeText(const StepTime& time); // "step 12.3 ms, statistics 2.4 %"
QString stepTimeDetail(const StepTime& time);    // a line for each part

// `room`: of the memory that the run is in, the GPU's or the machine's.
QString memoryText(const RunModel& run, const std::optional<MemoryRoom>& room); // "model 12 MB, GPU 1.2 of 141 GB"
QString memoryDetail(const RunModel& run, const std::optional<MemoryRoom>& room);

} // namespace halfscope
