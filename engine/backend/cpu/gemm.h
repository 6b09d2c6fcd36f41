// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cpu/scratch.h"

namespace halfscope::cpu {

void gemm(Context& context, const Gemm& args);

} // namespace halfscope::cpu
