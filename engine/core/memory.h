// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>

namespace halfscope {

// Bytes.
struct MemoryRoom {
    double free = 0; // what can still be had
    double total = 0;
};

// What can be had without being killed for it: what the machine has free, or less where the control group of this
// process is limited; the total is that of the same. nullopt where the system does not say.
std::optional<MemoryRoom> machineMemory();
std::optional<double> availableMemory(); // the free part of it

} // namespace halfscope
