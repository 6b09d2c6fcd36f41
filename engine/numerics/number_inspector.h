// SPDX-License-Identifier: GPL-3.0-or-later
// One number in every format: what is stored, and what that costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/numerics/float_format.h"

namespace halfscope {

// A decimal, a C hexadecimal float, inf, nan, or "bits:0x33000001", an FP32 pattern. Decimals are rounded once, to the
// nearest FP32, ties to even. nullopt when the text is none of these.
std::optional<float> parseInspected(std::string_view text);

struct InspectedNumber {
    FormatId format = FormatId::Fp32;
    std::uint32_t bits = 0; // the format's own encoding
    std::string bitsText;   // "0x3c00": as many digits as the encoding needs
    float value = 0.0F;     // what the bits stand for
    ValueClass valueClass = ValueClass::Zero;
    // |value - x| / |x| with x the FP32 value; 0 when they are equal (also both zero, or the same infinity), inf when a
    // finite x became infinite, nan when there is no value.
    double relativeError = 0.0;
};

InspectedNumber inspect(FormatId format, float x);
// In the order fp16, bf16, tf32, fp8-e4m3, fp8-e5m2, fp32.
std::vector<InspectedNumber> inspectAll(float x);

} // namespace halfscope
