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

// A decimal, a C hexadecimal float, a power of two (2^-24), inf, nan, "bits:0x33000001", an FP32 pattern, or the
// pattern of another format after its key, as "fp16:0x3c00" or, in binary, "fp16:0b0_01111_0000000000". Decimals are
// rounded once, to the nearest FP32, ties to even. nullopt when the text is none of these.
std::optional<float> parseInspected(std::string_view text);
// A pattern by itself, of at most the format's bits: hexadecimal, with or without 0x, or binary after 0b.
std::optional<std::uint32_t> parsePattern(FormatId format, std::string_view text);

// What the loss scale does: x is multiplied by it in FP32, cast, and divided again.
struct ScaledNumber {
    ValueClass valueClass = ValueClass::Zero;
    float value = 0.0F; // what remains of x
    double relativeError = 0.0;
};

struct InspectedNumber {
    FormatId format = FormatId::Fp32;
    std::uint32_t bits = 0; // the format's own encoding
    std::string bitsText;   // "0x3c00": as many digits as the encoding needs
    std::string fieldsText; // "0_01111_0000000000": sign, exponent and mantissa
    float value = 0.0F;     // what the bits stand for
    ValueClass valueClass = ValueClass::Zero;
    double absoluteError = 0.0; // |value - x| with x the FP32 value; inf and nan as below
    // |value - x| / |x|; 0 when they are equal (also both zero, or the same infinity), inf when a finite x became
    // infinite, nan when there is no value.
    double relativeError = 0.0;
    // |value - x| in units of the distance between the two numbers of the format around x: at most 0.5 unless it
    // overflows.
    double ulpError = 0.0;
    // The format's next numbers below and above `value`, as IEEE 754's nextDown and nextUp: infinite beyond the
    // largest, and infinity's own is infinity; nan where there is none (of nan, and of E4M3's largest, which has no
    // infinity).
    float below = 0.0F;
    float above = 0.0F;
    ScaledNumber scaled;
};

// `scale` > 0: the loss scale of `scaled`.
InspectedNumber inspect(FormatId format, float x, double scale = 1.0);
// In the order fp16, bf16, tf32, fp8-e4m3, fp8-e5m2, fp32.
std::vector<InspectedNumber> inspectAll(float x, double scale = 1.0);

} // namespace halfscope
