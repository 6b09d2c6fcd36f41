// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace halfscope {
namespace {

// Golden values: a run must be reproducible from its seed on every machine, so these may never change.
TEST(Rng, FirstNumbersOfASeed)
{
    Rng rng(42);
    EXPECT_EQ(rng.next(), 0x3CB511D9A947AC51U);
    EXPECT_EQ(rng.uniform(), 0x1.077d09c5c3773p-1);
    EXPECT_EQ(rng.normal(), -0x1.6d1dfd745ea01p-1);
    EXPECT_EQ(rng.normal(), 0x1.d37474bf94e43p-2);
    EXPECT_EQ(rng.index(), 4U);
}

// The transformation itself: the distribution function of what normal() returns is the uniform number it drew.
TEST(Rng, NormalInvertsTheDistribution)
{
    Rng rng(9);
    for (int i = 0; i < 300'000; ++i) {
        Rng copy = rng;
        const double q = (static_cast<double>(copy.next() >> 12) + 0.5) * 0x1p-52; // in (0, 1)
        const double x = rng.normal();
        // The smaller tail, in which 1 - 1e-17 and 1 are told apart.
        const double tail = q < 0.5 ? q : 1.0 - q;
        ASSERT_EQ(x < 0.0, q < 0.5);
        // A relative error of 1e-9 in x, up to 8.3, is one of at most x * (x + 1 / x) * 1e-9 < 7e-8 in the tail.
        ASSERT_NEAR(0.5 * std::erfc(std::fabs(x) / std::sqrt(2.0)) / tail, 1.0, 7e-8) << x;
    }
}

TEST(Rng, NormalMoments)
{
    Rng rng(1234);
    constexpr int kCount = 2'000'000;
    double sum = 0.0;
    double squares = 0.0;
    double fourth = 0.0;
    for (int i = 0; i < kCount; ++i) {
        const double x = rng.normal();
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    // Five standard errors: the variances of x, x^2 and x^4 are 1, 2 and 96.
    const double n = kCount;
    EXPECT_NEAR(sum / n, 0.0, 5.0 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1.0, 5.0 * std::sqrt(2.0 / n));
    EXPECT_NEAR(fourth / n, 3.0, 5.0 * std::sqrt(96.0 / n));
}

} // namespace
} // namespace halfscope
