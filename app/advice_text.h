// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/amp/advisor.h"

namespace halfscope {

// What the advisor has to say at a run's end, in lines: what stands, then warnings and errors that are over. Empty when
// that is nothing.
std::string adviceText(const Advisor& advisor, const std::vector<ModuleInfo>& modules);

} // namespace halfscope
