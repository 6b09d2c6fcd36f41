// SPDX-License-Identifier: GPL-3.0-or-later
// exp, log, erf and GELU: accuracy against double precision, and the same bits at every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "format_oracle.h"
#include "simd_probe.h"

namespace halfscope {
namespace {

using test::LevelGuard;

struct Function {
    const char* name;
    SimdProbe::Unary SimdProbe::*probe;
    double (*exact)(double);
    double bound; // in units of the last place; what simd_math.h states
};
const Function kFunctions[] = {{"exp", &SimdProbe::exp, std::exp, 0.9},
                               {"log", &SimdProbe::log, std::log, 0.9},
                               {"erf", &SimdProbe::erf, std::erf, 1.2}};

// Distance of y from the exact value, in units of the last place of a float of the exact value's size.
double error(float y, double exact)
{
    if (std::isnan(exact) || std::isnan(y))
        return std::isnan(exact) && std::isnan(y) ? 0.0 : HUGE_VAL;
    const auto nearest = static_cast<float>(exact);
    if (std::isinf(nearest) || std::isinf(y))
        // Just below the overflow threshold, rounding up to infinity is an error of at most the gap between the largest
        // number and 2^128.
        return nearest == y ? 0.0 : std::fabs(std::fabs(exact) - 0x1p128) / 0x1p104;
    // 2^(e - 23) for an exact value of 2^e and more, read off its exponent field; 2^-149 where floats are subnormal.
    const double smallest = std::max(std::fabs(exact), 0x1p-126);
    const std::uint64_t field = std::bit_cast<std::uint64_t>(smallest) >> 52;
    return std::fabs(static_cast<double>(y) - exact) / std::bit_cast<double>((field - 23) << 52);
}

// All FP32 patterns from `first` on, every `stride`-th; returns the largest error and checks that all levels agree.
double largestError(const Function& f, std::uint64_t stride)
{
    constexpr std::size_t kPiece = 1 << 16;
    std::vector<float> x(kPiece);
    std::vector<float> reference(kPiece);
    std::vector<float> y(kPiece);
    double largest = 0.0;
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << 32;) {
        for (float& value : x) {
            value = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
            pattern += stride;
        }
        bool first = true;
        for (const SimdLevel level : test::availableLevels()) {
            const LevelGuard guard(level);
            (simdProbe().*f.probe)(x.data(), y.data(), kPiece);
            if (first)
                reference = y;
            for (std::size_t i = 0; i < kPiece; ++i) {
                const bool same = std::bit_cast<std::uint32_t>(y[i]) == std::bit_cast<std::uint32_t>(reference[i]) ||
                                  (std::isnan(y[i]) && std::isnan(reference[i]));
                if (!same) {
                    ADD_FAILURE() << f.name << " of " << x[i] << " at " << simdLevelName(level);
                    return HUGE_VAL;
                }
            }
            first = false;
        }
        for (std::size_t i = 0; i < kPiece; ++i)
            largest = std::max(largest, error(y[i], f.exact(static_cast<double>(x[i]))));
    }
    return largest;
}

TEST(SimdMath, ErrorsStayBelowTheStatedBounds)
{
    for (const Function& f : kFunctions) {
        const double largest = largestError(f, 4093);
        EXPECT_LT(largest, f.bound) << f.name;
        EXPECT_GT(largest, 0.4) << f.name << ": too good to have been measured";
    }
}

void checkEveryFloat(const Function& f)
{
    const double largest = largestError(f, 1);
    std::printf("%s: largest error %.4f units of the last place\n", f.name, largest);
    EXPECT_LT(largest, f.bound) << f.name;
}
TEST(LongSimdMath, EveryFloatThroughExp) { checkEveryFloat(kFunctions[0]); }
TEST(LongSimdMath, EveryFloatThroughLog) { checkEveryFloat(kFunctions[1]); }
TEST(LongSimdMath, EveryFloatThroughErf) { checkEveryFloat(kFunctions[2]); }

TEST(SimdMath, SpecialArguments)
{
    const float nan = std::bit_cast<float>(0x7FC00000U);
    for (const SimdLevel level : test::availableLevels()) {
        const LevelGuard guard(level);
        const auto call = [](SimdProbe::Unary f, float x) {
            float in[16];
            float out[16];
            std::fill(std::begin(in), std::end(in), x);
            f(in, out, 16);
            return out[7];
        };
        const SimdProbe& p = simdProbe();
        EXPECT_EQ(call(p.exp, 0.0F), 1.0F);
        EXPECT_EQ(call(p.exp, HUGE_VALF), HUGE_VALF);
        EXPECT_EQ(call(p.exp, -HUGE_VALF), 0.0F);
        EXPECT_TRUE(std::isnan(call(p.exp, nan)));
        EXPECT_EQ(call(p.log, 1.0F), 0.0F);
        EXPECT_EQ(call(p.log, 0.0F), -HUGE_VALF);
        EXPECT_EQ(call(p.log, -0.0F), -HUGE_VALF);
        EXPECT_EQ(call(p.log, HUGE_VALF), HUGE_VALF);
        EXPECT_TRUE(std::isnan(call(p.log, -1.0F)));
        EXPECT_TRUE(std::isnan(call(p.log, -HUGE_VALF)));
        EXPECT_TRUE(std::isnan(call(p.log, nan)));
        EXPECT_EQ(call(p.erf, HUGE_VALF), 1.0F);
        EXPECT_EQ(call(p.erf, -HUGE_VALF), -1.0F);
        EXPECT_TRUE(std::signbit(call(p.erf, -0.0F)));
        EXPECT_TRUE(std::isnan(call(p.erf, nan)));
        EXPECT_EQ(call(p.gelu, 0.0F), 0.0F);
        EXPECT_EQ(call(p.gelu, 20.0F), 20.0F);
        EXPECT_EQ(call(p.gelu, -20.0F), 0.0F);
        EXPECT_EQ(call(p.geluDerivative, 20.0F), 1.0F);
        EXPECT_EQ(call(p.geluDerivative, 0.0F), 0.5F);
    }
}

// Phi = (1 + erf) / 2 is at most 1 and carries the errors of erf's argument and value, of the sum and of the products:
// each at most 2^-23, relative to 1. Hence the absolute bound of some 2^-23 times |x| for GELU and, the density being
// below 0.4 and |x| times it below 0.25, a few 2^-23 for its derivative.
TEST(SimdMath, GeluAndItsDerivative)
{
    std::vector<float> x(1 << 16);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i) * 0x1p-12F - 8.0F;
    std::vector<float> value(x.size());
    std::vector<float> slope(x.size());
    simdProbe().gelu(x.data(), value.data(), x.size());
    simdProbe().geluDerivative(x.data(), slope.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double t = x[i];
        const double phi = 0.5 * std::erfc(-t / std::sqrt(2.0));
        const double density = std::exp(-t * t / 2.0) / std::sqrt(2.0 * std::acos(-1.0));
        ASSERT_NEAR(value[i], t * phi, 2 * 0x1p-23 * std::fabs(t) + 0x1p-149) << t;
        ASSERT_NEAR(slope[i], phi + t * density, 4 * 0x1p-23) << t;
    }
}

} // namespace
} // namespace halfscope
