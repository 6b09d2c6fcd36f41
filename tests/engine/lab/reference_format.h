// SPDX-License-Identifier: GPL-3.0-or-later
// Number formats computed from their definition in double arithmetic, sharing nothing with the program's conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace halfscope::reference {

struct Format {
    std::string key;
    int exponentBits;
    int mantissaBits;
    bool ieee; // the largest exponent is for inf and NaN; otherwise only its all-ones mantissa is, for NaN
};

// In the order in which `halfscope number` prints them.
inline const std::vector<Format>& formats()
{
    static const std::vector<Format> all = {{"fp16", 5, 10, true},     {"bf16", 8, 7, true},     {"tf32", 8, 10, true},
                                            {"fp8-e4m3", 4, 3, false}, {"fp8-e5m2", 5, 2, true}, {"fp32", 8, 23, true}};
    return all;
}

struct Result {
    std::uint32_t bits;
    double value;
    std::string valueClass;
};

inline Result convert(const Format& f, double x)
{
    const int bias = (1 << (f.exponentBits - 1)) - 1;
    const int lowestExponent = 1 - bias;
    const int highestExponent = f.ieee ? bias : bias + 1;
    const std::uint32_t sign = std::signbit(x) ? 1U << (f.exponentBits + f.mantissaBits) : 0;
    const std::uint32_t mantissaMask = (1U << f.mantissaBits) - 1;
    const std::uint32_t topExponent = ((1U << f.exponentBits) - 1) << f.mantissaBits;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto overflowed = [&](const char* name) {
        return f.ieee ? Result{sign | topExponent, std::copysign(HUGE_VAL, x), name}
                      : Result{sign | topExponent | mantissaMask, nan, name};
    };
    if (std::isinf(x))
        return overflowed("inf");
    if (x == 0)
        return {sign, x, "zero"};
    // The grid that x lies on: its own octave's, or that of the subnormals. rint ties to even.
    const double step = std::ldexp(1.0, std::max(std::ilogb(x), lowestExponent) - f.mantissaBits);
    const double rounded = std::rint(x / step) * step; // both exact: step is a power of two
    const double topMantissa = f.ieee ? 2 - std::ldexp(1.0, -f.mantissaBits) : 2 - std::ldexp(1.0, 1 - f.mantissaBits);
    const double largest = std::ldexp(topMantissa, highestExponent);
    if (std::abs(rounded) > largest)
        return overflowed("saturating");
    if (rounded == 0)
        return {sign, std::copysign(0.0, x), "flushed"};
    const int exponent = std::ilogb(rounded);
    if (exponent < lowestExponent)
        return {sign | static_cast<std::uint32_t>(std::abs(rounded) / std::ldexp(1.0, lowestExponent - f.mantissaBits)),
                rounded, "subnormal"};
    const double fraction = std::ldexp(std::abs(rounded), -exponent) - 1;
    return {sign | static_cast<std::uint32_t>(exponent + bias) << f.mantissaBits |
                static_cast<std::uint32_t>(std::ldexp(fraction, f.mantissaBits)),
            rounded, "normal"};
}

} // namespace halfscope::reference
