// SPDX-License-Identifier: GPL-3.0-or-later
// The device somebody chose, from one start of the program to the next.
#pragma once

#include "engine/train/run_config.h"
#include "ui/settings/settings.h"

namespace halfscope {

void rememberDevice(Settings& settings, const RunConfig& config);
// A GPU by its place on the PCI bus, if it is still there and can be used; else the CPU, and the run says why.
void useRememberedDevice(const Settings& settings, RunConfig& config);

} // namespace halfscope
