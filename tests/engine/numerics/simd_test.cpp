// SPDX-License-Identifier: GPL-3.0-or-later
// The vector types and elementary functions, at every instruction set this CPU has. Results are compared as bits; where
// both are NaN any NaN will do.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/core/rng.h"
#include "format_oracle.h"
#include "simd_probe.h"

namespace halfscope {
namespace {

using test::LevelGuard;

std::uint32_t bitsOf(float x) { return std::bit_cast<std::uint32_t>(x); }
bool sameFloat(float a, float b) { return bitsOf(a) == bitsOf(b) || (std::isnan(a) && std::isnan(b)); }
float anyPattern(Rng& rng) { return std::bit_cast<float>(static_cast<std::uint32_t>(rng.next() >> 32)); }

const std::vector<float>& specials()
{
    static const std::vector<float> kAll = [] {
        std::vector<float> v = {0.0F,           0x1p-149F,
                                0x1.8p-148F,    0x1.fffffcp-127F,
                                0x1p-126F,      0x1.000002p-126F,
                                0x1p-64F,       0x1p-25F,
                                0x1p-24F,       0.5F,
                                0x1.fffffep-1F, 1.0F,
                                0x1.000002p0F,  1.5F,
                                2.5F,           3.0F,
                                0x1.fffffep22F, 0x1p23F,
                                0x1.000002p23F, 0x1p24F,
                                0x1.000002p24F, 0x1p63F,
                                0x1p127F,       0x1.fffffep127F,
                                HUGE_VALF,      std::numeric_limits<float>::quiet_NaN()};
        const std::size_t n = v.size();
        for (std::size_t i = 0; i < n; ++i)
            v.push_back(-v[i]);
        return v;
    }();
    return kAll;
}

class Simd : public testing::TestWithParam<SimdLevel> {
protected:
    void checkFma(std::vector<float> a, std::vector<float> b, std::vector<float> c)
    {
        while (a.size() % 16 != 0) {
            a.push_back(0.0F);
            b.push_back(0.0F);
            c.push_back(0.0F);
        }
        std::vector<float> wide(a.size());
        std::vector<float> narrow(a.size());
        simdProbe().fma(a.data(), b.data(), c.data(), wide.data(), a.size());
        simdProbe().fmaOneRegister(a.data(), b.data(), c.data(), narrow.data(), a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            const float expected = std::fma(a[i], b[i], c[i]);
            ASSERT_TRUE(sameFloat(wide[i], expected))
                << std::hexfloat << a[i] << " * " << b[i] << " + " << c[i] << " = " << expected << ", not " << wide[i];
            ASSERT_TRUE(sameFloat(narrow[i], expected));
        }
    }
    void checkUnary(SimdProbe::Unary f, const std::vector<float>& x, const std::function<float(float)>& expected)
    {
        std::vector<float> y(x.size());
        f(x.data(), y.data(), x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_TRUE(sameFloat(y[i], expected(x[i]))) << std::hexfloat << x[i] << " " << y[i];
    }

    LevelGuard m_level{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Levels, Simd, testing::ValuesIn(test::availableLevels()), [](const auto& param) {
    std::string name(simdLevelName(param.param));
    std::erase(name, '-');
    return name;
});

TEST_P(Simd, FmaOfSpecials)
{
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> c;
    for (const float x : specials())
        for (const float y : specials())
            for (const float z : specials()) {
                a.push_back(x);
                b.push_back(y);
                c.push_back(z);
            }
    checkFma(a, b, c);
}

TEST_P(Simd, FmaOfRandomNumbers)
{
    Rng rng(1);
    for (int round = 0; round < 40; ++round) {
        std::vector<float> a(1 << 16);
        std::vector<float> b(a.size());
        std::vector<float> c(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] = round % 2 == 0 ? anyPattern(rng) : static_cast<float>(rng.normal());
            b[i] = round % 2 == 0 ? anyPattern(rng) : static_cast<float>(rng.normal());
            // Addends of the product's size, or up to 2^60 larger or smaller, or anything.
            const float product = a[i] * b[i];
            const int shift = static_cast<int>(rng.below(120)) - 60;
            c[i] = round % 4 < 2
                       ? static_cast<float>(std::ldexp(product * (1.0F + static_cast<float>(rng.uniform())), shift))
                       : anyPattern(rng);
            if (rng.below(2) != 0)
                c[i] = -c[i];
        }
        ASSERT_NO_FATAL_FAILURE(checkFma(a, b, c));
    }
}

// Where rounding to double first and to float then goes wrong: sums on or next to a midpoint of floats, with a rest far
// below, subnormal results and results at the overflow threshold among them.
TEST_P(Simd, FmaWhereRoundingTwiceFails)
{
    Rng rng(2);
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> c;
    int twiceWrong = 0;
    for (int i = 0; i < 400'000; ++i) {
        // c has any 24 bits; a * b is an odd multiple of half its last place, plus or minus about 2^-40 of it.
        const int exponent = static_cast<int>(rng.below(253)) - 126;
        const auto significand = static_cast<float>((1U << 23) + rng.below(1U << 23));
        const float addend = std::ldexp(significand, exponent - 23);
        const double halfPlace = std::ldexp(1.0, exponent - 24);
        const auto x = static_cast<float>(1.0 + static_cast<double>(rng.below(1U << 12)) * 0x1p-23);
        float y = static_cast<float>(halfPlace / static_cast<double>(x)); // x * y is halfPlace give or take a little
        if (i % 3 == 0) {
            // Subnormal results: the midpoints are multiples of 2^-150.
            y = std::ldexp(static_cast<float>(1 + 2 * rng.below(1U << 11)), -150 + 24);
            a.push_back(std::ldexp(x, -24));
            b.push_back(y);
            c.push_back(std::ldexp(static_cast<float>(rng.below(1U << 22)), -149));
        } else {
            a.push_back(rng.below(2) != 0 ? x : -x);
            b.push_back(y);
            c.push_back(addend);
        }
        const double once =
            static_cast<double>(a.back()) * static_cast<double>(b.back()) + static_cast<double>(c.back());
        twiceWrong += static_cast<float>(once) != std::fma(a.back(), b.back(), c.back());
    }
    EXPECT_GT(twiceWrong, 1000); // the cases are what they are meant to be
    checkFma(a, b, c);
}

TEST_P(Simd, RoundingDivisionRootsAndExtremes)
{
    Rng rng(3);
    std::vector<float> a = specials();
    std::vector<float> b = specials();
    for (const float x : specials()) {
        for (const float y : specials()) {
            a.push_back(x);
            b.push_back(y);
        }
    }
    for (int i = 0; i < 200'000; ++i) {
        a.push_back(i % 2 == 0 ? anyPattern(rng) : static_cast<float>(rng.normal() * 1e4));
        b.push_back(anyPattern(rng));
    }
    while (a.size() % 16 != 0) {
        a.push_back(1.0F);
        b.push_back(1.0F);
    }
    checkUnary(simdProbe().sqrt, a, [](float x) { return std::sqrt(x); });
    checkUnary(simdProbe().floor, a, [](float x) { return std::floor(x); });
    checkUnary(simdProbe().round, a, [](float x) { return std::nearbyint(x); });
    std::vector<float> y(a.size());
    simdProbe().divide(a.data(), b.data(), y.data(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(sameFloat(y[i], a[i] / b[i])) << a[i] << " " << b[i];
    simdProbe().minimum(a.data(), b.data(), y.data(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(sameFloat(y[i], a[i] < b[i] ? a[i] : b[i])) << a[i] << " " << b[i];
    simdProbe().maximum(a.data(), b.data(), y.data(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(sameFloat(y[i], a[i] > b[i] ? a[i] : b[i])) << a[i] << " " << b[i];
}

TEST_P(Simd, LanesSumInTheFixedTree)
{
    Rng rng(4);
    for (int round = 0; round < 1000; ++round) {
        float x[16];
        double d[16];
        float floats[16];
        double doubles[16];
        float largest = -HUGE_VALF;
        for (int i = 0; i < 16; ++i) {
            x[i] = floats[i] = static_cast<float>(rng.normal());
            d[i] = doubles[i] = rng.normal();
            largest = std::max(largest, x[i]);
        }
        for (int half = 8; half > 0; half /= 2) {
            for (int i = 0; i < half; ++i) {
                floats[i] += floats[i + half];
                doubles[i] += doubles[i + half];
            }
        }
        ASSERT_EQ(simdProbe().sum(x), floats[0]);
        ASSERT_EQ(simdProbe().sumDoubles(d), doubles[0]);
        ASSERT_EQ(simdProbe().largest(x), largest);
    }
}

TEST_P(Simd, PartialLoadsAndStoresTouchNothingElse)
{
    float x[16];
    for (int i = 0; i < 16; ++i)
        x[i] = static_cast<float>(i + 1);
    for (std::size_t n = 0; n <= 16; ++n) {
        std::vector<float> source(x, x + n); // its end is the end of the allocation, for the address sanitizer
        float y[18];
        std::fill(std::begin(y), std::end(y), -1.0F);
        simdProbe().copyFirst(source.data(), y + 1, n);
        ASSERT_EQ(y[0], -1.0F);
        for (std::size_t i = 0; i < 17; ++i)
            ASSERT_EQ(y[i + 1], i < n ? x[i] : -1.0F);
    }
}

TEST_P(Simd, MasksAndIntegers)
{
    Rng rng(6);
    for (int round = 0; round < 1000; ++round) {
        float a[16];
        float b[16];
        std::int32_t x[16];
        std::int32_t z[16];
        unsigned less = 0;
        for (int i = 0; i < 16; ++i) {
            a[i] = round == 0 ? 1.0F : static_cast<float>(rng.normal());
            b[i] = round == 0 ? 0.0F : round == 1 ? 100.0F : static_cast<float>(rng.normal());
            if (rng.below(20) == 0)
                a[i] = std::numeric_limits<float>::quiet_NaN();
            less |= static_cast<unsigned>(a[i] < b[i]) << i;
            x[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(rng.next()));
            z[i] = rng.below(4) == 0 ? x[i] : static_cast<std::int32_t>(static_cast<std::uint32_t>(rng.next()));
        }
        const unsigned any = (less != 0 ? 1U << 16 : 0U) | (less != 0xFFFFU ? 1U << 17 : 0U);
        ASSERT_EQ(simdProbe().lessBits(a, b), less | any);
        std::int32_t y[8 * 16];
        simdProbe().integers(x, z, y);
        for (int i = 0; i < 16; ++i) {
            const auto p = static_cast<std::uint32_t>(x[i]);
            const auto q = static_cast<std::uint32_t>(z[i]);
            ASSERT_EQ(static_cast<std::uint32_t>(y[i]), p + q);
            ASSERT_EQ(static_cast<std::uint32_t>(y[16 + i]), p - q);
            ASSERT_EQ(y[32 + i], (x[i] & z[i]) | (x[i] ^ i));
            ASSERT_EQ(static_cast<std::uint32_t>(y[48 + i]), p << 5);
            ASSERT_EQ(static_cast<std::uint32_t>(y[64 + i]), p >> 5);
            ASSERT_EQ(y[80 + i], x[i] >> 5);
            ASSERT_EQ(y[96 + i], std::min(x[i], z[i]));
            ASSERT_EQ(y[112 + i], std::max(x[i], z[i]));
        }
    }
}

} // namespace
} // namespace halfscope
