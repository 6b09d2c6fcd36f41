// SPDX-License-Identifier: GPL-3.0-or-later
// What to call the precision in force, whoever set it: the user, layer by layer or at once, or the schedule.
#pragma once

#include <string>

#include "ui/run_model.h"

namespace halfscope {

struct ShownPrecision {
    std::string preset;   // a key of precisionPresets()
    bool changed = false; // single modules differ from it
};
// The preset that the plan is exactly; otherwise the one that fewest modules differ from. Of equals the configured one.
ShownPrecision shownPrecision(const RunModel& run);

} // namespace halfscope
