// SPDX-License-Identifier: GPL-3.0-or-later
// What the status bar says.
#pragma once

#include <QString>

#include "ui/run_model.h"

namespace halfscope {

QString stateText(const RunModel& run);          // "running on The Adventures of ..."
QString statisticsCostText(const RunModel& run); // "statistics 1.8 % of a step"
QString byteText(double bytes);                  // "12.3 MB"
QString memoryText(const RunModel& run);         // "model 12 MB, histograms 24 MB"

} // namespace halfscope
