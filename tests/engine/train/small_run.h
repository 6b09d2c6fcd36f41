// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/train/run_config.h"

namespace halfscope {

// A model small enough for many runs a second, on the text of the generator (tests must not depend on packages).
RunConfig smallRun();

} // namespace halfscope
