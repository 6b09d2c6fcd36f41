// SPDX-License-Identifier: GPL-3.0-or-later
// Only + - * / and sqrt below, which IEEE 754 fixes to the last bit; a C library's log would differ between machines.
#include "engine/core/rng.h"

#include <bit>
#include <cmath>
#include <cstddef>

namespace halfscope {
namespace {

template <std::size_t n>
double polynomial(double x, const double (&c)[n])
{
    double sum = c[n - 1];
    for (std::size_t i = n - 1; i-- > 0;)
        sum = sum * x + c[i];
    return sum;
}

// ln x for a positive normal x: x = 2^k m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh((m - 1) / (m + 1)) by its
// series, s^2 <= 0.0295 here, so the first term left out is below 2^-60 of the sum.
double naturalLog(double x)
{
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t k = (bits - 0x3FE6A09E667F3BCD) >> 52; // the pattern of sqrt(1/2)
    const auto m = std::bit_cast<double>(bits - (k << 52));
    constexpr double kSeries[] = {2.0,        2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0,  2.0 / 9.0, 2.0 / 11.0,
                                  2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0};
    const double s = (m - 1.0) / (m + 1.0);
    return static_cast<double>(k) * 0x1.62e42fefa39efp-1 + s * polynomial(s * s, kSeries);
}

// The x for which a standard normal variable is below it with probability 1/2 + q, u = min(1/2 + q, 1/2 - q) > 0.
// Minimax fits: in the middle x / q in q^2, in the tails x in sqrt(-2 ln u), a nearly straight line. Relative error
// below 1e-9.
double inverseNormal(double q, double u)
{
    constexpr double kMiddle[] = {0x1.40d931ff4dcfep+1, 0x1.4ffddf5a33868p+1,  0x1.7170b5cdfd690p+2,
                                  0x1.f57e0ac8391cap+3, 0x1.760cd4aa125b4p+5,  0x1.41b781c6275b6p+7,
                                  0x1.d76af99674397p+7, 0x1.510a061c20064p+12, -0x1.798855a84ef25p+14,
                                  0x1.0b7d0135fca00p+17};
    constexpr double kTail[] = {0x1.153c7f83df28dp+1,   0x1.44f00be52cba0p+0,  -0x1.655bf6c3f32cdp-5,
                                0x1.987ac59c15f87p-7,   -0x1.e73db06444c70p-9, 0x1.2ca7f0fc32416p-10,
                                -0x1.7dfc3a4164632p-12, 0x1.d2cb2c0202194p-14, -0x1.1f0e1f7769f42p-15,
                                0x1.2c65619af1ae9p-16,  -0x1.d73718babc76fp-18};
    constexpr double kFarTail[] = {0x1.7ba60f87992d7p+2,   0x1.3e1d63d8331aap+1,  -0x1.02bc8b286df6bp-5,
                                   0x1.39691923b5ea4p-7,   -0x1.8776ecdb954c6p-9, 0x1.f41217d68fcaap-11,
                                   -0x1.44f8b6170abe5p-12, 0x1.930c3141032e8p-14, -0x1.f46a66a5c3969p-16,
                                   0x1.ff9f2295059e5p-17,  -0x1.894f2d43f2d3ap-18};
    if (u >= 0.2)
        return q * polynomial(q * q, kMiddle);
    const double r = std::sqrt(-2.0 * naturalLog(u));
    const double x =
        r < 4.0 ? polynomial((r - 2.89453125) / 1.10546875, kTail) : polynomial((r - 6.375) / 2.375, kFarTail);
    return q < 0.0 ? -x : x;
}

} // namespace

double Rng::normal()
{
    // An odd multiple of 2^-53 in (-1/2, 1/2): never 0 or +-1/2, symmetric about 0. u is exact.
    const double q = (static_cast<double>(next() >> 12) - 0x1p51 + 0.5) * 0x1.0p-52;
    const double u = 0.5 - std::fabs(q);
    return inverseNormal(q, u);
}

} // namespace halfscope
