// SPDX-License-Identifier: GPL-3.0-or-later
// What the window says about the scaler, in words.
#pragma once

#include <QString>

#include "ui/run_model.h"

namespace halfscope {

QString presetName(const ScalerPreset& preset);
QString presetDifference(const ScalerPreset& preset); // one line

// "3 of the last 1 000 steps skipped (0.3 %); 1 in 26 is normal while the scale probes its limit"
QString skipRateText(const RunModel& run);

} // namespace halfscope
