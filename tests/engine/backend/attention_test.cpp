// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/numerics/cast.h"
#include "support.h"

namespace halfscope::test {
namespace {

// batch, context, heads, width of a head, causal: around tiles, around the block of 48 queries, and several blocks.
const AttentionShape kShapes[] = {{1, 1, 1, 1, true},   {2, 5, 3, 7, true},    {2, 5, 3, 7, false},
                                  {1, 48, 2, 16, true}, {1, 49, 1, 33, true},  {1, 47, 1, 8, false},
                                  {2, 64, 2, 32, true}, {1, 131, 2, 20, true}, {1, 131, 1, 20, false},
                                  {1, 300, 1, 5, true}, {1, 10, 1, 300, true}};

std::string describe(const AttentionShape& s)
{
    return "batch " + std::to_string(s.batch) + ", context " + std::to_string(s.context) + ", heads " +
           std::to_string(s.heads) + " of " + std::to_string(s.headWidth) + (s.causal ? ", causal" : "");
}

std::int64_t tokens(const AttentionShape& s) { return std::int64_t{s.batch} * s.context; }
std::int64_t width(const AttentionShape& s) { return std::int64_t{s.heads} * s.headWidth; }

// Part 0, 1, 2 (q, k, v) of one head, as the module's format holds it.
Matrix part(const AttentionShape& s, const Matrix& all, std::int64_t batch, std::int64_t head, std::int64_t which,
            FormatId format)
{
    Matrix m(s.context, s.headWidth);
    for (std::int64_t t = 0; t < s.context; ++t)
        for (std::int64_t c = 0; c < s.headWidth; ++c)
            m.at(t, c) = static_cast<double>(roundTo(
                format, static_cast<float>(all.at(batch * s.context + t, which * width(s) + head * s.headWidth + c))));
    return m;
}

void place(const AttentionShape& s, Matrix& all, std::int64_t batch, std::int64_t head, std::int64_t which,
           const Matrix& m)
{
    for (std::int64_t t = 0; t < s.context; ++t)
        for (std::int64_t c = 0; c < s.headWidth; ++c)
            all.at(batch * s.context + t, which * width(s) + head * s.headWidth + c) = m.at(t, c);
}

// The head's (T, T) part of the probabilities.
Matrix square(const AttentionShape& s, const Matrix& all, std::int64_t batch, std::int64_t head)
{
    Matrix m(s.context, s.context);
    for (std::int64_t i = 0; i < s.context; ++i)
        for (std::int64_t j = 0; j < s.context; ++j)
            m.at(i, j) = all.at((batch * s.heads + head) * s.context + i, j);
    return m;
}

void placeSquare(const AttentionShape& s, Matrix& all, std::int64_t batch, std::int64_t head, const Matrix& m)
{
    for (std::int64_t i = 0; i < s.context; ++i)
        for (std::int64_t j = 0; j < s.context; ++j)
            all.at((batch * s.heads + head) * s.context + i, j) = m.at(i, j);
}

double roundingOf(FormatId format, double magnitude)
{
    return format == FormatId::Fp32 ? 0.0 : halfUlp(format, magnitude);
}

struct Bounded {
    Matrix value;
    Matrix bound;
};

// How far softmax(round(q k^T) / sqrt(d)) and its product with v may be from the reference. A score is off by its chain
// of fused multiply-adds and one rounding; if all scores of a row are off by at most e (after the division), each
// probability is off by a factor of at most exp(2 e), and the sum of T exponentials adds its own roundings.
void forwardBounds(const AttentionShape& s, FormatId format, const Matrix& q, const Matrix& k, const Matrix& v,
                   const reference::Attention& r, Matrix& probabilityBound, Matrix& outBound)
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headWidth));
    const Matrix magnitudes = multiply(magnitude(q), transpose(magnitude(k)));
    const double t = static_cast<double>(s.context);
    for (std::int64_t i = 0; i < s.context; ++i) {
        double worst = 0.0;
        for (std::int64_t j = 0; j < (s.causal ? i + 1 : s.context); ++j) {
            const double chain = static_cast<double>(s.headWidth) * kEps * magnitudes.at(i, j);
            const double score = std::abs(r.scores.at(i, j)) + chain;
            // Subtracting the largest, scaling (by a rounded 1 / sqrt(d)): 3 eps of twice a score.
            worst = std::max(worst, scale * (chain + roundingOf(format, score) + 6.0 * kEps * score));
        }
        const double relative = std::exp(2.0 * worst) * (1.0 + (t / 16.0 + 12.0) * kEps) - 1.0;
        for (std::int64_t j = 0; j < s.context; ++j)
            probabilityBound.at(i, j) = r.probabilities.at(i, j) * relative;
        for (std::int64_t c = 0; c < s.headWidth; ++c)
            for (std::int64_t j = 0; j < s.context; ++j) {
                const double p = r.probabilities.at(i, j);
                const double error = p * relative + (p == 0.0 ? 0.0 : roundingOf(format, p * (1.0 + relative)));
                outBound.at(i, c) += (error + t * kEps * (p + error)) * std::abs(v.at(j, c));
            }
    }
}

TEST(Attention, ForwardMatchesReference)
{
    for (const AttentionShape& s : kShapes)
        for (const FormatId format : kFormats)
            for (const FormatId in : {FormatId::Fp32, format}) {
                const Tensor qkv = randomTensor(in, tokens(s), 3 * width(s), 1);
                Bounded out{Matrix(tokens(s), width(s)), Matrix(tokens(s), width(s))};
                Bounded p{Matrix(tokens(s) * s.heads, s.context), Matrix(tokens(s) * s.heads, s.context)};
                for (std::int64_t b = 0; b < s.batch; ++b)
                    for (std::int64_t h = 0; h < s.heads; ++h) {
                        const Matrix all = matrix(qkv);
                        const Matrix q = part(s, all, b, h, 0, format);
                        const Matrix k = part(s, all, b, h, 1, format);
                        const Matrix v = part(s, all, b, h, 2, format);
                        const auto want = reference::attention(q, k, v, s.causal);
                        Matrix probabilityBound(s.context, s.context);
                        Matrix outBound(s.context, s.headWidth);
                        forwardBounds(s, format, q, k, v, want, probabilityBound, outBound);
                        place(s, out.value, b, h, 0, want.out);
                        place(s, out.bound, b, h, 0, outBound);
                        placeSquare(s, p.value, b, h, want.probabilities);
                        placeSquare(s, p.bound, b, h, probabilityBound);
                    }
                for (const FormatId to : {FormatId::Fp32, format}) {
                    Guarded got(to, tokens(s), width(s));
                    Guarded probabilities(format, tokens(s) * s.heads, s.context);
                    cpu().attentionForward(s, format, qkv, *got, *probabilities, nullptr);
                    const std::string what = describe(s) + ", " + formatName(format) + " from " + formatName(in);
                    expectClose(probabilities, p.value, p.bound, "probabilities, " + what);
                    expectClose(got, out.value, out.bound, "out, " + what);
                }
            }
}

// The backward pass gets the stored probabilities, so they carry no error here.
void backwardBounds(const AttentionShape& s, FormatId format, const Matrix& q, const Matrix& k, const Matrix& v,
                    const Matrix& p, const Matrix& dOut, const reference::AttentionGradient& r, Matrix (&bounds)[3])
{
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.headWidth));
    const double t = static_cast<double>(s.context);
    const Matrix dp = multiply(dOut, transpose(v));
    const Matrix dpMagnitudes = multiply(magnitude(dOut), transpose(magnitude(v)));
    Matrix dScores(s.context, s.context);
    for (std::int64_t i = 0; i < s.context; ++i) {
        double dot = 0.0;
        double dotMagnitude = 0.0;
        for (std::int64_t j = 0; j < s.context; ++j) {
            const double chain = static_cast<double>(s.headWidth) * kEps * dpMagnitudes.at(i, j);
            dot += p.at(i, j) * (chain + (t / 16.0 + 6.0) * kEps * (std::abs(dp.at(i, j)) + chain));
            dotMagnitude += p.at(i, j) * std::abs(dp.at(i, j));
        }
        for (std::int64_t j = 0; j < s.context; ++j) {
            const double chain = static_cast<double>(s.headWidth) * kEps * dpMagnitudes.at(i, j);
            const double magnitudes = std::abs(dp.at(i, j)) + dotMagnitude + chain + dot;
            const double error = p.at(i, j) * scale * (chain + dot + 5.0 * kEps * magnitudes);
            const double rounding = roundingOf(format, std::abs(r.dScores.at(i, j)) + error);
            dScores.at(i, j) = error + (p.at(i, j) == 0.0 ? 0.0 : rounding);
        }
    }
    for (std::int64_t i = 0; i < s.context; ++i)
        for (std::int64_t j = 0; j < s.context; ++j) {
            const double error = dScores.at(i, j) + t * kEps * (std::abs(r.dScores.at(i, j)) + dScores.at(i, j));
            for (std::int64_t c = 0; c < s.headWidth; ++c) {
                bounds[0].at(i, c) += error * std::abs(k.at(j, c));
                bounds[1].at(j, c) += error * std::abs(q.at(i, c));
                bounds[2].at(j, c) += t * kEps * p.at(i, j) * std::abs(dOut.at(i, c));
            }
        }
}

TEST(Attention, BackwardMatchesReference)
{
    for (const AttentionShape& s : kShapes)
        for (const FormatId format : kFormats)
            for (const FormatId in : {FormatId::Fp32, format}) {
                const Tensor qkv = randomTensor(in, tokens(s), 3 * width(s), 1);
                const Tensor dOut = randomTensor(in, tokens(s), width(s), 2);
                Tensor forward = cpu().makeTensor(FormatId::Fp32, tokens(s), width(s));
                Tensor probabilities = cpu().makeTensor(format, tokens(s) * s.heads, s.context);
                cpu().attentionForward(s, format, qkv, forward, probabilities, nullptr);
                Bounded want{Matrix(tokens(s), 3 * width(s)), Matrix(tokens(s), 3 * width(s))};
                const Matrix all = matrix(qkv);
                const Matrix p = matrix(probabilities);
                const Matrix d = matrix(dOut);
                for (std::int64_t b = 0; b < s.batch; ++b)
                    for (std::int64_t h = 0; h < s.heads; ++h) {
                        const Matrix q = part(s, all, b, h, 0, format);
                        const Matrix k = part(s, all, b, h, 1, format);
                        const Matrix v = part(s, all, b, h, 2, format);
                        const Matrix ph = square(s, p, b, h);
                        const Matrix dh = part(s, d, b, h, 0, FormatId::Fp32);
                        const auto g = reference::attentionGradient(q, k, v, ph, dh, s.causal);
                        Matrix bounds[3] = {Matrix(s.context, s.headWidth), Matrix(s.context, s.headWidth),
                                            Matrix(s.context, s.headWidth)};
                        backwardBounds(s, format, q, k, v, ph, dh, g, bounds);
                        const Matrix* values[3] = {&g.dq, &g.dk, &g.dv};
                        for (int which = 0; which < 3; ++which) {
                            place(s, want.value, b, h, which, *values[which]);
                            place(s, want.bound, b, h, which, bounds[which]);
                        }
                    }
                for (const FormatId to : {FormatId::Fp32, format}) {
                    Guarded got(to, tokens(s), 3 * width(s));
                    cpu().attentionBackward(s, format, dOut, qkv, probabilities, *got, nullptr);
                    expectClose(got, want.value, want.bound,
                                "backward, " + describe(s) + ", " + formatName(format) + " from " + formatName(in));
                }
            }
}

TEST(Attention, Counts)
{
    for (const AttentionShape& s : {AttentionShape{2, 70, 3, 20, true}, AttentionShape{3, 9, 2, 16, false}})
        for (const FormatId format : kFormats) {
            const Tensor qkv = randomTensor(format, tokens(s), 3 * width(s), 1);
            const Tensor dOut = randomTensor(format, tokens(s), width(s), 2);
            Tensor probabilities = cpu().makeTensor(format, tokens(s) * s.heads, s.context);
            expectProbeOf([&](Tensor& out,
                              CastProbe* probe) { cpu().attentionForward(s, format, qkv, out, probabilities, probe); },
                          tokens(s), width(s), "attention");
            expectProbeOf(
                [&](Tensor& dQkv, CastProbe* probe) {
                    cpu().attentionBackward(s, format, dOut, qkv, probabilities, dQkv, probe);
                },
                tokens(s), 3 * width(s), "attention backward");
        }
}

TEST(Attention, FlagsScoresAndInputsThatSaturateInTheModulesFormat)
{
    const AttentionShape s{1, 2, 1, 4, true};
    Tensor out = cpu().makeTensor(FormatId::Fp32, 2, 4);
    Tensor probabilities = cpu().makeTensor(FormatId::Fp16, 2, 2);
    const auto flagged = [&](const std::vector<float>& values, FormatId format) {
        const Tensor qkv = tensorOf(FormatId::Fp32, 2, 12, values);
        CastProbe probe;
        Tensor p = cpu().makeTensor(format, 2, 2);
        cpu().attentionForward(s, format, qkv, out, p, &probe);
        cpu().synchronize();
        return probe.saturated;
    };
    std::vector<float> values(24, 1.0F);
    EXPECT_FALSE(flagged(values, FormatId::Fp16));
    values[0] = 300.0F; // q of token 0
    values[4] = 300.0F; // k of token 0: the score is 90003
    EXPECT_TRUE(flagged(values, FormatId::Fp16));
    EXPECT_FALSE(flagged(values, FormatId::Bf16));
    EXPECT_FALSE(flagged(values, FormatId::Fp32));
    values.assign(24, 1.0F);
    values[9] = 70000.0F; // v of token 0
    EXPECT_TRUE(flagged(values, FormatId::Fp16));
    EXPECT_FALSE(flagged(values, FormatId::Bf16));
}

// The rounding of the scores is part of the definition: 2049 and 2048 are the same FP16 number.
TEST(Attention, RoundsScoresAndProbabilitiesIntoTheModulesFormat)
{
    const AttentionShape s{1, 2, 1, 4, false};
    std::vector<float> values(24, 0.0F);
    for (const std::size_t token : {0U, 12U}) {
        values[token] = 2048.0F; // q
        values[token + 1] = 1.0F;
        values[token + 4] = 1.0F; // k
    }
    values[5] = 1.0F;            // k of token 0: scores 2049, 2048
    values[8] = 1.0F;            // v of token 0: the output is its probability
    values[12 + 1] = 0.0078125F; // token 1 asks with 2048 + 1/128: 2048 in FP16, 2048.0078 in FP32
    const Tensor qkv = tensorOf(FormatId::Fp32, 2, 12, values);
    for (const FormatId format : {FormatId::Fp32, FormatId::Fp16}) {
        Guarded out(FormatId::Fp32, 2, 4);
        Guarded p(format, 2, 2);
        cpu().attentionForward(s, format, qkv, *out, *p, nullptr);
        const std::vector<float> got = floats(*out);
        const std::vector<float> probabilities = floats(*p);
        const bool fp16 = format == FormatId::Fp16;
        EXPECT_EQ(probabilities[0] == 0.5F, fp16);
        EXPECT_EQ(probabilities[2] == 0.5F, fp16);
        EXPECT_EQ(got[0], probabilities[0]) << "the product takes the rounded probabilities";
        EXPECT_EQ(got[4], probabilities[2]);
    }
}

TEST(Attention, RoundsScoreGradientsIntoTheModulesFormat)
{
    const AttentionShape s{1, 40, 1, 3, true};
    for (const FormatId format : kFormats) {
        // Only the key of token 0 is not zero, and it is 1 in one column: there dq is the gradient of one score.
        std::vector<float> values = floats(randomTensor(FormatId::Bf16, 40, 9, 1));
        for (std::size_t t = 0; t < 40; ++t)
            for (std::size_t c = 3; c < 6; ++c)
                values[t * 9 + c] = t == 0 && c == 3 ? 1.0F : 0.0F;
        const Tensor qkv = tensorOf(FormatId::Fp32, 40, 9, values);
        const Tensor dOut = randomTensor(FormatId::Fp32, 40, 3, 2);
        Tensor out = cpu().makeTensor(FormatId::Fp32, 40, 3);
        Tensor p = cpu().makeTensor(format, 40, 40);
        Guarded dQkv(FormatId::Fp32, 40, 9);
        cpu().attentionForward(s, format, qkv, out, p, nullptr);
        cpu().attentionBackward(s, format, dOut, qkv, p, *dQkv, nullptr);
        const std::vector<float> d = floats(*dQkv);
        int exact = 0;
        for (std::size_t t = 1; t < 40; ++t)
            exact += roundTo(format, d[t * 9]) == d[t * 9] ? 1 : 0;
        EXPECT_EQ(exact, 39) << formatName(format);
        if (format == FormatId::Fp32) {
            int half = 0; // and without the rounding they would not be such numbers
            for (std::size_t t = 1; t < 40; ++t)
                half += roundTo(FormatId::Fp16, d[t * 9]) == d[t * 9] ? 1 : 0;
            EXPECT_LT(half, 10);
        }
    }
}

// A bad value of one token must show in the tokens that look at it, and in no earlier one.
TEST(Attention, CausalKeepsBadValuesOfLaterTokensOut)
{
    const AttentionShape s{1, 60, 1, 8, true};
    const std::int64_t bad = 20; // in the middle of a block of queries
    for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        for (const std::int64_t which : {0, 1, 2}) {
            std::vector<float> clean = floats(randomTensor(FormatId::Fp32, 60, 24, 1));
            std::vector<float> spoilt = clean;
            spoilt[static_cast<std::size_t>(bad * 24 + which * 8 + 3)] = value;
            const Tensor dOut = randomTensor(FormatId::Fp32, 60, 8, 2);
            Guarded outs[2] = {{FormatId::Fp32, 60, 8}, {FormatId::Fp32, 60, 8}};
            for (int i = 0; i < 2; ++i) {
                const Tensor qkv = tensorOf(FormatId::Fp32, 60, 24, i == 0 ? clean : spoilt);
                Tensor p = cpu().makeTensor(FormatId::Fp32, 60, 60);
                CastProbe probe;
                cpu().attentionForward(s, FormatId::Fp32, qkv, *outs[i], p, &probe);
                cpu().synchronize();
                EXPECT_EQ(probe.nonfinite, i == 1);
            }
            const std::vector<float> before = floats(*outs[0]);
            const std::vector<float> after = floats(*outs[1]);
            for (std::int64_t t = 0; t < 60; ++t)
                for (std::int64_t c = 0; c < 8; ++c) {
                    const auto i = static_cast<std::size_t>(t * 8 + c);
                    const bool hit = which == 2 ? t >= bad && c == 3 : which == 1 ? t >= bad : t == bad;
                    // An infinite key need not hurt: where the query is negative its score is -inf, its share 0.
                    if (!hit) {
                        EXPECT_EQ(after[i], before[i]) << which << ": " << t << ", " << c;
                    } else if (which != 1 || std::isnan(value)) {
                        EXPECT_FALSE(std::isfinite(after[i])) << which << ": " << t << ", " << c;
                    }
                }
        }
}

// The gradient of a token's output reaches only itself and earlier tokens.
TEST(Attention, CausalKeepsBadGradientsOfEarlierTokensOut)
{
    const AttentionShape s{1, 60, 1, 8, true};
    const std::int64_t bad = 20;
    const Tensor qkv = randomTensor(FormatId::Fp32, 60, 24, 1);
    Tensor out = cpu().makeTensor(FormatId::Fp32, 60, 8);
    Tensor p = cpu().makeTensor(FormatId::Fp32, 60, 60);
    cpu().attentionForward(s, FormatId::Fp32, qkv, out, p, nullptr);
    std::vector<float> d = floats(randomTensor(FormatId::Fp32, 60, 8, 2));
    d[static_cast<std::size_t>(bad * 8 + 3)] = std::numeric_limits<float>::infinity();
    const Tensor dOut = tensorOf(FormatId::Fp32, 60, 8, d);
    Guarded dQkv(FormatId::Fp32, 60, 24);
    CastProbe probe;
    cpu().attentionBackward(s, FormatId::Fp32, dOut, qkv, p, *dQkv, &probe);
    const std::vector<float> got = floats(*dQkv);
    EXPECT_TRUE(probe.nonfinite);
    for (std::int64_t t = 0; t < 60; ++t)
        for (std::int64_t c = 0; c < 24; ++c) {
            const bool finite = std::isfinite(got[static_cast<std::size_t>(t * 24 + c)]);
            if (c < 8) {
                EXPECT_EQ(finite, t != bad) << "dq " << t;
            } else if (c < 16) {
                EXPECT_EQ(finite, t > bad) << "dk " << t;
            } else {
                EXPECT_EQ(finite, t > bad || c != 16 + 3) << "dv " << t << ", " << c;
            }
        }
}

// With and without the exact mask the sums are the same chains.
TEST(Attention, ABadSequenceLeavesTheOthersBitsAlone)
{
    const AttentionShape s{2, 50, 2, 8, true};
    std::vector<float> values = floats(randomTensor(FormatId::Fp32, 100, 48, 1));
    const Tensor clean = tensorOf(FormatId::Fp32, 100, 48, values);
    values[static_cast<std::size_t>(99 * 48 + 47)] = std::numeric_limits<float>::quiet_NaN();
    const Tensor spoilt = tensorOf(FormatId::Fp32, 100, 48, values);
    Tensor p = cpu().makeTensor(FormatId::Fp32, 200, 50);
    Guarded a(FormatId::Fp32, 100, 16);
    Guarded b(FormatId::Fp32, 100, 16);
    cpu().attentionForward(s, FormatId::Fp32, clean, *a, p, nullptr);
    cpu().attentionForward(s, FormatId::Fp32, spoilt, *b, p, nullptr);
    const std::vector<float> fa = floats(*a);
    const std::vector<float> fb = floats(*b);
    for (std::size_t i = 0; i + 1 < fa.size(); ++i)
        ASSERT_EQ(fa[i], fb[i]) << i;
    EXPECT_TRUE(std::isnan(fb.back()));
}

TEST(Attention, SameBitsForAnyThreadsAndInstructionSet)
{
    for (const AttentionShape& s : {AttentionShape{3, 70, 3, 24, true}, AttentionShape{2, 131, 2, 17, false}})
        for (const FormatId format : kFormats)
            expectSameBytes([&](Backend& backend) {
                const Tensor qkv = randomTensor(format, tokens(s), 3 * width(s), 1);
                const Tensor dOut = randomTensor(format, tokens(s), width(s), 2);
                Tensor out = backend.makeTensor(format, tokens(s), width(s));
                Tensor p = backend.makeTensor(format, tokens(s) * s.heads, s.context);
                Tensor dQkv = backend.makeTensor(format, tokens(s), 3 * width(s));
                CastProbe probe = measuringProbe(0.7F);
                backend.attentionForward(s, format, qkv, out, p, &probe);
                backend.attentionBackward(s, format, dOut, qkv, p, dQkv, &probe);
                std::string bytes;
                for (const Tensor* t : {&out, &p, &dQkv})
                    appendBytes(bytes, *t);
                appendBytes(bytes, probe);
                return bytes;
            });
}

} // namespace
} // namespace halfscope::test
