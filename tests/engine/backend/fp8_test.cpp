// SPDX-License-Identifier: GPL-3.0-or-later
// What FP8 needs of a backend: clamped casts, largest magnitudes, products of one-byte tensors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "support.h"

namespace halfscope::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Fp8, AClampedCastKeepsTheLargestAndLetsNonfiniteValuesThrough)
{
    for (const FormatId format : {FormatId::Fp8E4M3, FormatId::Fp8E5M2}) {
        const FloatFormat& f = floatFormat(format);
        const auto largest = static_cast<float>(f.largest);
        const std::vector<float> values = {1.0F,  largest, largest * 1.5F, -3e38F,        1e-30F, 0.0F,
                                           -0.0F, kInf,    -kInf,          std::nanf(""), 100.0F, -largest * 8.0F};
        const Tensor from = tensorOf(FormatId::Fp32, 1, 12, values);
        for (const bool measure : {true, false}) {
            Tensor to = cpu().makeTensor(format, 1, 12);
            CastProbe probe = measuringProbe();
            probe.measure = measure;
            probe.clamp = true;
            cpu().cast(from, to, &probe);
            const std::vector<float> got = floats(to);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const float want =
                    roundTo(format, std::isfinite(values[i]) ? std::clamp(values[i], -largest, largest) : values[i]);
                EXPECT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) << f.name << " " << values[i];
            }
            EXPECT_FALSE(probe.saturated) << "nothing finite became nonfinite";
            EXPECT_TRUE(probe.nonfinite);
            if (!measure)
                continue;
            ClassCounts want;
            for (const float x : values)
                ++want[classify(format, x)];
            EXPECT_EQ(probe.statistics.classes, want) << "classes are of the values before they are clamped";
            EXPECT_EQ(want[ValueClass::Saturating], 3U);
        }
        EXPECT_EQ(floats(from)[2], largest * 1.5F) << "the input stays";
    }
}

TEST(Fp8, TheLargestMagnitudeIsExactAndInfiniteForWhatIsNotFinite)
{
    for (const FormatId format : kFormats)
        for (const std::int64_t n : {1, 15, 17, 8192, 8193, 50000}) {
            Tensor t = randomTensor(format, 1, n, 3);
            std::vector<float> values = floats(t);
            float want = 0.0F;
            for (const float x : values)
                want = std::max(want, std::abs(x));
            EXPECT_EQ(cpu().largestMagnitude(t), want);
            for (const float bad : {kInf, -kInf, std::nanf("")}) {
                values[static_cast<std::size_t>(n / 2)] = bad;
                cpu().upload(values, t);
                EXPECT_EQ(cpu().largestMagnitude(t), kInf);
            }
        }
    EXPECT_EQ(cpu().largestMagnitude(cpu().makeTensor(FormatId::Fp32, 0, 5)), 0.0F);
}

// Products of E4M3 and E5M2 numbers are exact in FP32, so the result is off by its sums alone.
TEST(Fp8, ProductsMatchTheReference)
{
    for (const FormatId fa : {FormatId::Fp8E4M3, FormatId::Fp8E5M2})
        for (const FormatId fb : {FormatId::Fp8E4M3, FormatId::Fp8E5M2})
            for (const bool ta : {false, true}) {
                constexpr std::int64_t kM = 50;
                constexpr std::int64_t kN = 131;
                constexpr std::int64_t kK = 77;
                const Tensor a = ta ? randomTensor(fa, kK, kM, 1) : randomTensor(fa, kM, kK, 1);
                const Tensor b = randomTensor(fb, kN, kK, 2);
                const Matrix left = ta ? transpose(matrix(a)) : matrix(a);
                const Matrix right = transpose(matrix(b));
                Matrix want = multiply(left, right);
                Matrix bound = multiply(magnitude(left), magnitude(right));
                for (double& x : want.v)
                    x *= 0x1p-5;
                for (double& x : bound.v)
                    x *= 0x1p-5 * kK * kEps / (1.0 - kK * kEps);
                Guarded c(FormatId::Bf16, kM, kN);
                cpu().gemm({.a = a, .transposeA = ta, .b = b, .transposeB = true, .c = *c, .alpha = 0x1p-5F});
                expectClose(c, want, bound, "fp8");
            }
}

// Shapes that a device with FP8 products of its own multiplies by those. Such a device adds in fewer bits: of the
// largest of the 32 products and the sum so far that an instruction adds it keeps 13 bits of mantissa and cuts the
// others off there (Hopper's, as DeepSeek-V3's report has it, section 3.3.2), so each of 33 addends is off by at most
// 2^-13 of what is never larger than the sum of all magnitudes; after that come FP32 sums of what was promoted.
TEST(Fp8, ProductsOfWholeTilesMatchTheReference)
{
    constexpr std::int64_t kM = 33;
    constexpr std::int64_t kN = 48;
    constexpr std::int64_t kK = 64;
    constexpr double kNativeEps = 33.0 * (kK / 32.0) * 0x1p-13;
    for (const FormatId fa : {FormatId::Fp8E4M3, FormatId::Fp8E5M2})
        for (const FormatId fb : {FormatId::Fp8E4M3, FormatId::Fp8E5M2})
            for (const bool ta : {false, true})
                for (const bool tb : {false, true}) {
                    const Tensor a = ta ? randomTensor(fa, kK, kM, 1) : randomTensor(fa, kM, kK, 1);
                    const Tensor b = tb ? randomTensor(fb, kN, kK, 2) : randomTensor(fb, kK, kN, 2);
                    const Matrix left = ta ? transpose(matrix(a)) : matrix(a);
                    const Matrix right = tb ? transpose(matrix(b)) : matrix(b);
                    const bool native = cpu().multipliesNatively(fa);
                    Matrix bound = multiply(magnitude(left), magnitude(right));
                    for (double& x : bound.v)
                        x *= kK * kEps / (1.0 - kK * kEps) + (native ? kNativeEps : 0.0);
                    Guarded c(FormatId::Fp32, kM, kN);
                    cpu().gemm({.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = *c});
                    expectClose(c, multiply(left, right), bound, "fp8, whole tiles");
                }
}

TEST(Fp8, SameBitsForAnyThreadsAndInstructionSet)
{
    expectSameBytes([](Backend& backend) {
        std::string bytes;
        const Tensor from = randomTensor(FormatId::Bf16, 97, 130, 1);
        Tensor a = backend.makeTensor(FormatId::Fp8E5M2, 97, 130);
        CastProbe probe = measuringProbe(0x1p-12F, 0x1p12F);
        probe.clamp = true;
        appendBytes(bytes, static_cast<double>(backend.largestMagnitude(from)));
        backend.cast(from, a, &probe);
        appendBytes(bytes, a);
        appendBytes(bytes, probe);
        const Tensor b = randomTensor(FormatId::Fp8E4M3, 130, 140, 2);
        Tensor c = backend.makeTensor(FormatId::Bf16, 97, 140);
        backend.gemm({.a = a, .b = b, .c = c, .alpha = 0x1p-12F});
        appendBytes(bytes, c);
        return bytes;
    });
}

} // namespace
} // namespace halfscope::test
