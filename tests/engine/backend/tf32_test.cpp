// SPDX-License-Identifier: GPL-3.0-or-later
// TF32 is a format of factors: whatever a product reads is rounded to it, and nothing else.
#include <algorithm>
#include <cmath>

#include "support.h"

namespace halfscope::test {
namespace {

Tensor rounded(const Tensor& t)
{
    std::vector<float> values = floats(t);
    std::ranges::transform(values, values.begin(), [](float x) { return roundTo(FormatId::Tf32, x); });
    return tensorOf(FormatId::Fp32, t.rows(), t.cols(), values);
}

std::string bytesOf(const Tensor& t)
{
    std::string bytes;
    appendBytes(bytes, t);
    return bytes;
}

// The same bits as FP32 factors that were rounded before: products of rounded factors are what both compute.
TEST(Tf32, AProductIsThatOfRoundedFactors)
{
    struct Shape {
        std::int64_t m;
        std::int64_t n;
        std::int64_t k;
    };
    for (const Shape& s : {Shape{1, 1, 1}, Shape{5, 7, 13}, Shape{49, 129, 300}, Shape{97, 261, 259}})
        for (const bool ta : {false, true})
            for (const bool tb : {false, true})
                for (const FormatId fb : {FormatId::Fp32, FormatId::Fp16, FormatId::Bf16}) {
                    const Tensor a =
                        ta ? randomTensor(FormatId::Fp32, s.k, s.m, 1) : randomTensor(FormatId::Fp32, s.m, s.k, 1);
                    const Tensor b = tb ? randomTensor(fb, s.n, s.k, 2) : randomTensor(fb, s.k, s.n, 2);
                    Tensor got = cpu().makeTensor(FormatId::Fp32, s.m, s.n);
                    Tensor want = cpu().makeTensor(FormatId::Fp32, s.m, s.n);
                    Tensor full = cpu().makeTensor(FormatId::Fp32, s.m, s.n);
                    cpu().gemm({.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = got, .tf32 = true});
                    cpu().gemm({.a = rounded(a), .transposeA = ta, .b = rounded(b), .transposeB = tb, .c = want});
                    cpu().gemm({.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = full});
                    EXPECT_EQ(bytesOf(got), bytesOf(want)) << s.m << ta << tb;
                    EXPECT_NE(bytesOf(got), bytesOf(full)) << "random FP32 numbers do not fit into TF32";
                }
}

TEST(Tf32, AlphaAndProductFactorAreExactPowers)
{
    const Tensor a = randomTensor(FormatId::Fp32, 50, 33, 1);
    const Tensor b = randomTensor(FormatId::Fp32, 33, 140, 2);
    const Tensor residual = randomTensor(FormatId::Fp32, 50, 140, 3);
    Tensor plain = cpu().makeTensor(FormatId::Fp32, 50, 140);
    cpu().gemm({.a = a, .b = b, .c = plain});
    Tensor scaled = cpu().makeTensor(FormatId::Fp32, 50, 140);
    cpu().gemm({.a = a, .b = b, .c = scaled, .alpha = 0x1p-20F});
    Tensor sum = cpu().makeTensor(FormatId::Fp32, 50, 140);
    cpu().gemm({.a = a,
                .b = b,
                .c = sum,
                .epilogue = Epilogue::AddResidual,
                .operand = &residual,
                .productFormat = FormatId::Fp16,
                .productFactor = 0x1p+10F,
                .alpha = 0x1p-20F});
    const std::vector<float> p = floats(plain);
    const std::vector<float> r = floats(residual);
    const std::vector<float> gotScaled = floats(scaled);
    const std::vector<float> gotSum = floats(sum);
    for (std::size_t i = 0; i < p.size(); ++i) {
        ASSERT_EQ(gotScaled[i], p[i] * 0x1p-20F);
        ASSERT_EQ(gotSum[i], r[i] + 0x1p+10F * roundTo(FormatId::Fp16, p[i] * 0x1p-20F));
    }
}

struct Head {
    AttentionShape shape{1, 0, 1, 0, true};
    Tensor qkv;
    Tensor dOut;
    Tensor probabilities;
    Tensor out;

    Head(int context, int width, bool causal) : shape{1, context, 1, width, causal}
    {
        qkv = randomTensor(FormatId::Fp32, context, 3L * width, 1);
        dOut = randomTensor(FormatId::Fp32, context, width, 2);
        probabilities = cpu().makeTensor(FormatId::Fp32, context, context);
        out = cpu().makeTensor(FormatId::Fp32, context, width);
    }
};

Matrix columns(const Tensor& t, std::int64_t first, std::int64_t count)
{
    const Matrix all = matrix(t);
    Matrix part(all.rows, count);
    for (std::int64_t i = 0; i < all.rows; ++i)
        for (std::int64_t j = 0; j < count; ++j)
            part.at(i, j) = all.at(i, first + j);
    return part;
}

TEST(Tf32, AttentionRoundsFactorsAndNotScores)
{
    for (const bool causal : {true, false})
        for (const int context : {5, 48, 131}) {
            Head h(context, 24, causal);
            cpu().attentionForward(h.shape, FormatId::Tf32, h.qkv, h.out, h.probabilities, nullptr);
            // FP32 attention of rounded q, k, v: the same scores, hence the same probabilities.
            Tensor probabilities = cpu().makeTensor(FormatId::Fp32, context, context);
            Tensor out = cpu().makeTensor(FormatId::Fp32, context, 24);
            cpu().attentionForward(h.shape, FormatId::Fp32, rounded(h.qkv), out, probabilities, nullptr);
            EXPECT_EQ(bytesOf(h.probabilities), bytesOf(probabilities));
            // P V, of which both are rounded.
            const Matrix v = columns(rounded(h.qkv), 48, 24);
            std::vector<float> values(v.v.begin(), v.v.end());
            cpu().gemm({.a = rounded(probabilities), .b = tensorOf(FormatId::Fp32, context, 24, values), .c = out});
            EXPECT_EQ(floats(h.out), floats(out));
        }
}

TEST(Tf32, AttentionsGradientMatchesReference)
{
    for (const bool causal : {true, false})
        for (const int context : {5, 48, 131}) {
            constexpr int kWidth = 24;
            Head h(context, kWidth, causal);
            cpu().attentionForward(h.shape, FormatId::Tf32, h.qkv, h.out, h.probabilities, nullptr);
            Guarded dQkv(FormatId::Fp32, context, 3L * kWidth);
            cpu().attentionBackward(h.shape, FormatId::Tf32, h.dOut, h.qkv, h.probabilities, *dQkv, nullptr);

            const Tensor factors = rounded(h.qkv);
            const Matrix q = columns(factors, 0, kWidth);
            const Matrix k = columns(factors, kWidth, kWidth);
            const Matrix v = columns(factors, 2L * kWidth, kWidth);
            const Matrix dOut = matrix(rounded(h.dOut));
            const Matrix p = matrix(h.probabilities);
            const auto want = reference::attentionGradient(q, k, v, p, dOut, causal);
            const Matrix dv = multiply(transpose(matrix(rounded(h.probabilities))), dOut);
            // dP = dO V^T and its dot product with p are FP32 chains of 24 and T/16 terms; the result is rounded to 11
            // bits, once; then a chain of T.
            const Matrix dp = multiply(magnitude(dOut), transpose(magnitude(v)));
            Matrix dScores(context, context);
            const double t = context;
            for (std::int64_t i = 0; i < context; ++i) {
                double dot = 0.0;
                for (std::int64_t j = 0; j < context; ++j)
                    dot += p.at(i, j) * dp.at(i, j);
                for (std::int64_t j = 0; j < context; ++j) {
                    const double fp32 =
                        p.at(i, j) / std::sqrt(kWidth) * (kWidth + t / 16.0 + 12.0) * kEps * (dp.at(i, j) + dot);
                    const double value = std::abs(want.dScores.at(i, j));
                    dScores.at(i, j) = fp32 + 0x1p-11 * (value + fp32) + t * kEps * value;
                }
            }
            Matrix all(context, 3L * kWidth);
            Matrix bound(context, 3L * kWidth);
            const Matrix dqBound = multiply(dScores, magnitude(k));
            const Matrix dkBound = multiply(transpose(dScores), magnitude(q));
            const Matrix dvBound = multiply(transpose(magnitude(p)), magnitude(dOut));
            for (std::int64_t i = 0; i < context; ++i)
                for (std::int64_t j = 0; j < kWidth; ++j) {
                    all.at(i, j) = want.dq.at(i, j);
                    all.at(i, kWidth + j) = want.dk.at(i, j);
                    all.at(i, 2L * kWidth + j) = dv.at(i, j);
                    bound.at(i, j) = dqBound.at(i, j);
                    bound.at(i, kWidth + j) = dkBound.at(i, j);
                    bound.at(i, 2L * kWidth + j) = 2.0 * t * kEps * dvBound.at(i, j);
                }
            expectClose(dQkv, all, bound, "context " + std::to_string(context));
        }
}

// Infinities must not meet the zeros above the diagonal.
TEST(Tf32, AttentionKeepsAnInfinityBelowTheDiagonal)
{
    Head h(6, 8, true);
    std::vector<float> values = floats(h.qkv);
    values[5 * 24 + 16] = std::numeric_limits<float>::infinity(); // v of the last token
    cpu().upload(values, h.qkv);
    cpu().attentionForward(h.shape, FormatId::Tf32, h.qkv, h.out, h.probabilities, nullptr);
    const std::vector<float> out = floats(h.out);
    for (std::size_t token = 0; token < 5; ++token)
        EXPECT_TRUE(std::isfinite(out[token * 8])) << token;
    EXPECT_TRUE(std::isinf(out[5 * 8]));
}

TEST(Tf32, SameBitsForAnyThreadsAndInstructionSet)
{
    expectSameBytes([](Backend& backend) {
        std::string bytes;
        const Tensor a = randomTensor(FormatId::Fp32, 131, 97, 1);
        const Tensor b = randomTensor(FormatId::Fp32, 97, 200, 2);
        Tensor c = backend.makeTensor(FormatId::Fp32, 131, 200);
        CastProbe probe = measuringProbe();
        probe.countedAs = FormatId::Tf32;
        backend.gemm({.a = a, .b = b, .c = c, .tf32 = true, .probe = &probe});
        appendBytes(bytes, c);
        appendBytes(bytes, probe);
        const AttentionShape shape{2, 70, 3, 8, true};
        const Tensor qkv = randomTensor(FormatId::Fp32, 140, 72, 3);
        const Tensor dOut = randomTensor(FormatId::Fp32, 140, 24, 4);
        Tensor out = backend.makeTensor(FormatId::Fp32, 140, 24);
        Tensor p = backend.makeTensor(FormatId::Fp32, 420, 70);
        Tensor dQkv = backend.makeTensor(FormatId::Fp32, 140, 72);
        backend.attentionForward(shape, FormatId::Tf32, qkv, out, p, nullptr);
        backend.attentionBackward(shape, FormatId::Tf32, dOut, qkv, p, dQkv, nullptr);
        for (const Tensor* t : {&out, &p, &dQkv})
            appendBytes(bytes, *t);
        return bytes;
    });
}

// What lies between the largest TF32 number and the largest FP32 number is stored as it is, and counted as saturating.
TEST(Tf32, ATapIsJudgedAsTf32ButStoresFp32)
{
    const std::vector<float> values = {0x1.fffffep127F, 0x1p-136F, 0x1p-137F, 1.5F, 0x1p-130F};
    const Tensor from = tensorOf(FormatId::Fp32, 1, 5, values);
    for (const bool measure : {true, false}) {
        Tensor to = cpu().makeTensor(FormatId::Fp32, 1, 5);
        CastProbe probe = measuringProbe();
        probe.measure = measure;
        probe.countedAs = FormatId::Tf32;
        cpu().cast(from, to, &probe);
        EXPECT_EQ(floats(to), values);
        EXPECT_TRUE(probe.saturated);
        if (!measure)
            continue;
        ClassCounts want;
        for (const float x : values)
            ++want[classify(FormatId::Tf32, x)];
        EXPECT_EQ(probe.statistics.classes, want);
        EXPECT_EQ(want[ValueClass::Flushed], 1U);
        EXPECT_EQ(want[ValueClass::Subnormal], 2U);
    }
}

} // namespace
} // namespace halfscope::test
