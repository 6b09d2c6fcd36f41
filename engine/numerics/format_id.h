// SPDX-License-Identifier: GPL-3.0-or-later
// The names of the formats alone, for code that must compile as C++17 (CUDA). What they are: float_format.h.
#pragma once

#include <cstdint>

namespace halfscope {

enum class FormatId : std::uint8_t { Fp32, Tf32, Fp16, Bf16, Fp8E4M3, Fp8E5M2 };

} // namespace halfscope
