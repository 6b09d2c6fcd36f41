// SPDX-License-Identifier: GPL-3.0-or-later
// What the window says about the scaler, in words.
#pragma once

#include <QString>

#include "ui/run_model.h"

namespace halfscope {

QString presetName(const ScalerPreset& preset);
QString presetDifference(const ScalerPreset& preset); // one line

// What was changed since the preset was chosen: "Changed: initial scale 1, growth interval 20"; empty: nothing.
QString presetChanges(const ScalerConfig& config);

// What the statistical rules would set now: "Rules on the statistics suggest: log-normal 2¹³, preventive 2¹⁵, band
// 2¹⁴".
QString adviceText(const RunModel& run);

// "Skipped 42 of the last 1 000 steps (4.2 %). Up to 4.8 % (1 in 21) is normal."
QString skipRateText(const RunModel& run);

} // namespace halfscope
