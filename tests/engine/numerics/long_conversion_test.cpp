// SPDX-License-Identifier: GPL-3.0-or-later
// All 2^32 FP32 inputs, FP16 against the processor's own conversion and BF16 against arithmetic in double. Minutes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/numerics/cast.h"
#include "format_oracle.h"

namespace halfscope {
namespace {

using test::LevelGuard;

constexpr std::size_t kPiece = 1 << 16;

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void hardwareHalf(const float* x, std::uint16_t* y, std::size_t n)
{
    for (std::size_t i = 0; i < n; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("avx,f16c"))) void hardwareFloat(const std::uint16_t* x, float* y, std::size_t n)
{
    for (std::size_t i = 0; i < n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
}
bool hasHardware() { return bestSimdLevel() >= SimdLevel::Avx2; }
#else
void hardwareHalf(const float*, std::uint16_t*, std::size_t) {}
void hardwareFloat(const std::uint16_t*, float*, std::size_t) {}
bool hasHardware() { return false; }
#endif

// Without the instruction, the list of all numbers decides.
void referenceHalf(const float* x, std::uint16_t* y, std::size_t n)
{
    static const test::FormatOracle oracle(test::kFp16);
    if (hasHardware()) {
        hardwareHalf(x, y, n);
        return;
    }
    for (std::size_t i = 0; i < n; ++i)
        y[i] = static_cast<std::uint16_t>(oracle.encode(x[i]));
}

// Of the two BF16 numbers around x (x cut off, and the next away from zero) the nearer; differences are exact in
// double.
std::uint16_t referenceBfloat(float x)
{
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t cut = bits & 0xFFFF0000U;
    if (std::isnan(x))
        return static_cast<std::uint16_t>((cut | 0x00400000U) >> 16);
    if (std::isinf(x))
        return static_cast<std::uint16_t>(cut >> 16);
    const double low = std::fabs(static_cast<double>(std::bit_cast<float>(cut)));
    const auto next = std::bit_cast<float>((cut & 0x7FFFFFFFU) + 0x10000U);
    const double high = std::isinf(next) ? 0x1p128 : static_cast<double>(next);
    const double magnitude = std::fabs(static_cast<double>(x));
    const double up = high - magnitude;
    const double down = magnitude - low;
    const bool away = up < down || (up == down && (cut & 0x10000U) != 0);
    return static_cast<std::uint16_t>((cut >> 16) + (away ? 1U : 0U));
}

template <class Reference>
void checkAllFloats(FormatId format, Reference reference)
{
    std::vector<float> x(kPiece);
    std::vector<std::uint16_t> expected(kPiece);
    std::vector<std::uint16_t> got(kPiece);
    for (std::uint64_t piece = 0; piece < (std::uint64_t{1} << 32) / kPiece; ++piece) {
        for (std::size_t i = 0; i < kPiece; ++i)
            x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(piece * kPiece + i));
        reference(x, expected);
        for (const SimdLevel level : test::availableLevels()) {
            const LevelGuard guard(level);
            castArray(format, x.data(), got.data(), kPiece);
            ASSERT_EQ(got, expected) << simdLevelName(level) << ", inputs from " << piece * kPiece;
        }
        for (std::size_t i = 0; i < kPiece; ++i)
            ASSERT_EQ(encode(format, x[i]), expected[i]) << "scalar, input " << piece * kPiece + i;
    }
}

TEST(LongConversion, EveryFloatToFp16)
{
    checkAllFloats(FormatId::Fp16, [](const std::vector<float>& x, std::vector<std::uint16_t>& y) {
        referenceHalf(x.data(), y.data(), x.size());
    });
}

TEST(LongConversion, EveryFloatToBf16)
{
    checkAllFloats(FormatId::Bf16, [](const std::vector<float>& x, std::vector<std::uint16_t>& y) {
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = referenceBfloat(x[i]);
    });
}

// Short: what the oracle of the other tests says is what the processor says, NaN payloads included.
TEST(Conversion, OracleAgreesWithTheProcessor)
{
    const test::FormatOracle oracle(test::kFp16);
    std::vector<float> values = boundaryValues(oracle);
    values.resize((values.size() + 7) / 8 * 8);
    std::vector<std::uint16_t> half(values.size());
    referenceHalf(values.data(), half.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(half[i], oracle.encode(values[i])) << std::hexfloat << values[i];
    if (hasHardware()) {
        std::vector<std::uint16_t> patterns(1 << 16);
        for (std::size_t i = 0; i < patterns.size(); ++i)
            patterns[i] = static_cast<std::uint16_t>(i);
        std::vector<float> wide(patterns.size());
        hardwareFloat(patterns.data(), wide.data(), wide.size());
        for (std::uint32_t p = 0; p < wide.size(); ++p)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[p]), std::bit_cast<std::uint32_t>(oracle.decode(p))) << p;
    }
}

} // namespace
} // namespace halfscope
