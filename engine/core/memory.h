// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>

namespace halfscope {

// Bytes that can still be had without being killed for it: what the machine has free, or less where the control group
// of this process is limited. nullopt where the system does not say.
std::optional<double> availableMemory();

} // namespace halfscope
