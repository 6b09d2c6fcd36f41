// SPDX-License-Identifier: GPL-3.0-or-later
// Loss and optimizer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/rng.h"
#include "support.h"

namespace halfscope::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
    std::int64_t rows;
    std::int64_t vocabulary;
};
const Case kCases[] = {{1, 1}, {1, 2}, {7, 15}, {33, 16}, {64, 91}, {500, 97}, {3, 9001}};

std::vector<std::int32_t> randomTargets(const Case& c)
{
    Rng rng(5);
    std::vector<std::int32_t> targets;
    for (std::int64_t n = 0; n < c.rows; ++n)
        targets.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(c.vocabulary))));
    return targets;
}

// The relative error of one row's probabilities: x - max is rounded, exp has 2 ulp, the sum V / 16 + 4 additions, the
// quotient one rounding.
double softmaxError(const Matrix& logits, std::int64_t row)
{
    double low = logits.at(row, 0);
    double high = low;
    for (std::int64_t j = 0; j < logits.cols; ++j) {
        low = std::min(low, logits.at(row, j));
        high = std::max(high, logits.at(row, j));
    }
    return (2.0 * (high - low) + static_cast<double>(logits.cols) / 16.0 + 14.0) * kEps;
}

TEST(CrossEntropy, LossAndGradientMatchReference)
{
    for (const Case& c : kCases)
        for (const FormatId in : kFormats)
            for (const double spread : {0.1, 5.0})
                for (const float lossScale : {1.0F, 65536.0F, 3.0F}) {
                    const Tensor logits = randomTensor(in, c.rows, c.vocabulary, 1, spread);
                    const std::vector<std::int32_t> targets = randomTargets(c);
                    const Matrix x = matrix(logits);
                    const double want = reference::crossEntropy(x, targets);
                    const Matrix gradient = reference::crossEntropyGradient(x, targets, static_cast<double>(lossScale));
                    double lossBound = 0.0;
                    Matrix bound(c.rows, c.vocabulary);
                    const double factor = static_cast<double>(lossScale) / static_cast<double>(c.rows);
                    for (std::int64_t i = 0; i < c.rows; ++i) {
                        const double error = softmaxError(x, i);
                        // The log has 2 ulp of a number that is at most log V.
                        const double log = 4.0 * kEps * std::log(static_cast<double>(c.vocabulary));
                        lossBound += (error + log) / static_cast<double>(c.rows);
                        for (std::int64_t j = 0; j < c.vocabulary; ++j) {
                            const bool hit = j == targets[static_cast<std::size_t>(i)];
                            const double p = gradient.at(i, j) / factor + (hit ? 1.0 : 0.0);
                            // p - 1 is rounded where it hits, then the product with a rounded factor.
                            bound.at(i, j) = factor * p * error + 3.0 * kEps * std::abs(gradient.at(i, j));
                        }
                    }
                    EXPECT_NEAR(cpu().crossEntropy(logits, targets, lossScale, nullptr, nullptr), want, lossBound);
                    for (const FormatId format : kFormats) {
                        Guarded d(format, c.rows, c.vocabulary);
                        const double loss = cpu().crossEntropy(logits, targets, lossScale, &*d, nullptr);
                        EXPECT_NEAR(loss, want, lossBound);
                        expectClose(d, gradient, bound, "dLogits " + std::to_string(c.vocabulary));
                    }
                }
}

// What is no prediction is as if it were not there.
TEST(CrossEntropy, RowsWithoutATargetCountNothing)
{
    const Tensor logits = randomTensor(FormatId::Fp32, 7, 33, 1, 2.0);
    const std::vector<float> all = floats(logits);
    std::vector<std::int32_t> targets = {5, -1, 0, 32, -1, -1, 9};
    std::vector<float> kept;
    std::vector<std::int32_t> keptTargets;
    for (std::size_t i = 0; i < 7; ++i) {
        if (targets[i] < 0)
            continue;
        kept.insert(kept.end(), all.begin() + static_cast<std::ptrdiff_t>(33 * i),
                    all.begin() + static_cast<std::ptrdiff_t>(33 * (i + 1)));
        keptTargets.push_back(targets[i]);
    }
    Guarded d(FormatId::Fp32, 7, 33);
    Guarded want(FormatId::Fp32, 4, 33);
    EXPECT_EQ(cpu().crossEntropy(logits, targets, 8.0F, &*d, nullptr),
              cpu().crossEntropy(tensorOf(FormatId::Fp32, 4, 33, kept), keptTargets, 8.0F, &*want, nullptr));
    EXPECT_TRUE(d.intact());
    std::vector<float> rows;
    const std::vector<float> got = floats(*d);
    for (std::size_t i = 0; i < 7; ++i) {
        for (std::size_t j = 0; j < 33; ++j) {
            if (targets[i] < 0)
                EXPECT_EQ(got[33 * i + j], 0.0F);
            else
                rows.push_back(got[33 * i + j]);
        }
    }
    EXPECT_EQ(rows, floats(*want));
    expectClose(d, reference::crossEntropyGradient(matrix(logits), targets, 8.0), Matrix(7, 33, 8.0 * 64.0 * kEps),
                "with and without targets"); // |p - y| <= 1; softmaxError() < 64 eps
    targets.assign(7, -1);
    EXPECT_THROW(cpu().crossEntropy(logits, targets, 1.0F, nullptr, nullptr), std::invalid_argument);
    targets[3] = -2;
    EXPECT_THROW(cpu().crossEntropy(logits, targets, 1.0F, nullptr, nullptr), std::invalid_argument);
}

TEST(Argmax, TheFirstOfTheLargest)
{
    const std::vector<float> values = {1, 3, 2, 3, -kInf, -kInf, -5, -kInf, 0, kNan, kInf, 1, 7, -7, kInf, 2};
    for (const FormatId format : kFormats) {
        std::vector<std::int32_t> columns(4);
        cpu().argmax(tensorOf(format, 4, 4, values), columns);
        EXPECT_EQ(columns, (std::vector<std::int32_t>{1, 2, -1, 2}));
    }
    expectSameBytes([&](Backend& backend) {
        std::vector<std::int32_t> columns(900);
        backend.argmax(randomTensor(FormatId::Fp16, 900, 91, 4), columns);
        return std::string(reinterpret_cast<const char*>(columns.data()), columns.size() * sizeof(std::int32_t));
    });
}

TEST(CrossEntropy, Counts)
{
    const Case c{200, 77};
    const Tensor logits = randomTensor(FormatId::Fp32, c.rows, c.vocabulary, 1, 2.0);
    const std::vector<std::int32_t> targets = randomTargets(c);
    expectProbeOf([&](Tensor& d, CastProbe* probe) { cpu().crossEntropy(logits, targets, 1024.0F, &d, probe); }, c.rows,
                  c.vocabulary, "cross-entropy");
}

// What makes training the same for every power of two: not a tolerance.
TEST(CrossEntropy, GradientScalesExactlyByPowersOfTwo)
{
    const Case c{100, 91};
    const Tensor logits = randomTensor(FormatId::Fp32, c.rows, c.vocabulary, 1, 2.0);
    const std::vector<std::int32_t> targets = randomTargets(c);
    Guarded one(FormatId::Fp32, c.rows, c.vocabulary);
    cpu().crossEntropy(logits, targets, 1.0F, &*one, nullptr);
    const std::vector<float> base = floats(*one);
    for (const int power : {-20, 1, 16, 40}) {
        Guarded d(FormatId::Fp32, c.rows, c.vocabulary);
        cpu().crossEntropy(logits, targets, std::ldexp(1.0F, power), &*d, nullptr);
        const std::vector<float> got = floats(*d);
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(got[i], std::ldexp(base[i], power));
    }
}

TEST(CrossEntropy, IsStableForLargeLogits)
{
    const std::vector<float> values = {1e30F, -1e30F, 0.0F, 60000.0F, 60000.0F, -60000.0F};
    const Tensor logits = tensorOf(FormatId::Fp32, 2, 3, values);
    Guarded d(FormatId::Fp32, 2, 3);
    const double loss = cpu().crossEntropy(logits, std::vector<std::int32_t>{0, 1}, 2.0F, &*d, nullptr);
    EXPECT_NEAR(loss, 0.5 * std::log(2.0), 4.0 * kEps);
    EXPECT_EQ(floats(*d), (std::vector<float>{0.0F, 0.0F, 0.0F, 0.5F, -0.5F, 0.0F}));
}

TEST(CrossEntropy, NonfiniteLogitsMakeANonfiniteLoss)
{
    for (const float bad : {kInf, kNan}) {
        std::vector<float> values = floats(randomTensor(FormatId::Fp32, 3, 20, 1));
        values[20 + 17] = bad;
        const Tensor logits = tensorOf(FormatId::Fp32, 3, 20, values);
        Guarded d(FormatId::Fp32, 3, 20);
        CastProbe probe;
        const double loss = cpu().crossEntropy(logits, std::vector<std::int32_t>{1, 2, 3}, 1.0F, &*d, &probe);
        EXPECT_TRUE(std::isnan(loss));
        EXPECT_TRUE(probe.nonfinite);
        const std::vector<float> got = floats(*d);
        for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_EQ(std::isnan(got[i]), i / 20 == 1) << i;
    }
    // A logit of -inf is a probability of 0; as the target it costs infinitely much.
    const std::vector<float> values = {-kInf, 1.0F};
    const Tensor logits = tensorOf(FormatId::Fp32, 1, 2, values);
    EXPECT_EQ(cpu().crossEntropy(logits, std::vector<std::int32_t>{1}, 1.0F, nullptr, nullptr), 0.0);
    EXPECT_EQ(cpu().crossEntropy(logits, std::vector<std::int32_t>{0}, 1.0F, nullptr, nullptr),
              std::numeric_limits<double>::infinity());
}

TEST(CrossEntropy, RejectsTargetsOutsideTheVocabulary)
{
    const Tensor logits = randomTensor(FormatId::Fp32, 2, 3, 1);
    for (const std::int32_t bad : {-2, 3}) // -1: nothing is predicted
        EXPECT_THROW(cpu().crossEntropy(logits, std::vector<std::int32_t>{0, bad}, 1.0F, nullptr, nullptr),
                     std::invalid_argument);
}

TEST(Unscale, MultipliesAndSumsSquares)
{
    for (const FormatId format : kFormats)
        for (const std::int64_t n : {1, 17, 8192, 8193, 70001})
            for (const float inverse : {1.0F, 0x1p-16F, 0.3F}) {
                const Tensor gradient = randomTensor(format, 1, n, 1, 100.0);
                Guarded to(FormatId::Fp32, 1, n);
                const Backend::Unscaled result = cpu().unscale(gradient, inverse, *to);
                const std::vector<float> before = floats(gradient);
                const std::vector<float> after = floats(*to);
                double squares = 0.0;
                for (std::size_t i = 0; i < after.size(); ++i) {
                    ASSERT_EQ(after[i], before[i] * inverse);
                    squares += static_cast<double>(after[i]) * static_cast<double>(after[i]);
                }
                EXPECT_FALSE(result.foundInf);
                EXPECT_NEAR(result.sumSquares, squares, 2.0 * static_cast<double>(n) * 0x1p-53 * squares);
                EXPECT_TRUE(to.intact());
            }
}

TEST(Unscale, FindsWhatIsNotFiniteBeforeOrAfter)
{
    const std::int64_t n = 30'000;
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{8192}, n - 1})
        for (const float bad : {kInf, -kInf, kNan, 1e30F}) {
            std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
            values[static_cast<std::size_t>(place)] = bad;
            const Tensor gradient = tensorOf(FormatId::Fp32, 1, n, values);
            Tensor to = cpu().makeTensor(FormatId::Fp32, 1, n);
            EXPECT_TRUE(cpu().unscale(gradient, 1e20F, to).foundInf) << "only the product of 1e30 is infinite";
            EXPECT_EQ(cpu().unscale(gradient, 1.0F, to).foundInf, bad != 1e30F);
            EXPECT_EQ(cpu().unscale(gradient, 0.0F, to).foundInf, bad != 1e30F) << "inf * 0 and NaN * 0 are found";
        }
}

TEST(AdamW, MatchesReference)
{
    for (const std::int64_t n : {1, 15, 16, 17, 8193, 50021})
        for (const int step : {1, 10, 100'000})
            for (const float decay : {0.0F, 0.1F}) {
                AdamW hyper;
                hyper.learningRate = 3e-3F;
                hyper.weightDecay = decay;
                hyper.gradientFactor = 0.7F;
                hyper.biasCorrection1 = static_cast<float>(1.0 - std::pow(hyper.beta1, step));
                hyper.biasCorrection2 = static_cast<float>(1.0 - std::pow(hyper.beta2, step));
                const Tensor gradient = randomTensor(FormatId::Fp32, 1, n, 1, 1e-3);
                Guarded master(FormatId::Fp32, 1, n);
                Guarded moment1(FormatId::Fp32, 1, n);
                Guarded moment2(FormatId::Fp32, 1, n);
                cpu().upload(floats(randomTensor(FormatId::Fp32, 1, n, 2)), *master);
                cpu().upload(floats(randomTensor(FormatId::Fp32, 1, n, 3, 1e-3)), *moment1);
                std::vector<float> squares = floats(randomTensor(FormatId::Fp32, 1, n, 4, 1e-3));
                for (float& x : squares)
                    x *= x;
                cpu().upload(squares, *moment2);
                Matrix want[3] = {matrix(*master), matrix(*moment1), matrix(*moment2)};
                Matrix bound[3] = {want[0], want[1], want[2]};
                const Matrix g = matrix(gradient);
                for (std::size_t i = 0; i < g.v.size(); ++i) {
                    const reference::AdamState before{want[0].v[i], want[1].v[i], want[2].v[i]};
                    const reference::AdamState after = reference::adamw(hyper, g.v[i], before);
                    // Each moment: the factors, two products and a sum are rounded.
                    bound[1].v[i] = 4.0 * kEps * (std::abs(before.moment1) + std::abs(0.1 * g.v[i]));
                    bound[2].v[i] = 6.0 * kEps * after.moment2;
                    // The update carries moment1's error, half of moment2's, and eight roundings of its own; then the
                    // weight's own, twice.
                    const double rate = static_cast<double>(hyper.learningRate);
                    const double kept = before.master * (1.0 - rate * static_cast<double>(decay));
                    const double update = std::abs(after.master - kept);
                    const double root = std::sqrt(after.moment2 / static_cast<double>(hyper.biasCorrection2)) +
                                        static_cast<double>(hyper.epsilon);
                    bound[0].v[i] = rate / static_cast<double>(hyper.biasCorrection1) * bound[1].v[i] / root +
                                    update * 12.0 * kEps + 4.0 * kEps * std::abs(before.master);
                    want[0].v[i] = after.master;
                    want[1].v[i] = after.moment1;
                    want[2].v[i] = after.moment2;
                }
                cpu().adamw(hyper, gradient, *master, *moment1, *moment2);
                expectClose(master, want[0], bound[0], "weights");
                expectClose(moment1, want[1], bound[1], "first moments");
                expectClose(moment2, want[2], bound[2], "second moments");
            }
}

TEST(AdamW, ALoneDecayShrinksWeightsOnly)
{
    AdamW hyper;
    hyper.learningRate = 0.25F;
    hyper.weightDecay = 0.5F;
    hyper.biasCorrection1 = 0.1F;
    hyper.biasCorrection2 = 0.001F;
    const Tensor gradient = cpu().makeTensor(FormatId::Fp32, 1, 40);
    Tensor master = tensorOf(FormatId::Fp32, 1, 40, std::vector<float>(40, 8.0F));
    Tensor moment1 = cpu().makeTensor(FormatId::Fp32, 1, 40);
    Tensor moment2 = cpu().makeTensor(FormatId::Fp32, 1, 40);
    cpu().adamw(hyper, gradient, master, moment1, moment2);
    EXPECT_EQ(floats(master), std::vector<float>(40, 7.0F));
    EXPECT_EQ(floats(moment1), std::vector<float>(40, 0.0F));
}

TEST(Training, SameBitsForAnyThreadsAndInstructionSet)
{
    const Case c{900, 91};
    const std::vector<std::int32_t> targets = randomTargets(c);
    for (const FormatId format : kFormats)
        expectSameBytes([&](Backend& backend) {
            const Tensor logits = randomTensor(format, c.rows, c.vocabulary, 1, 2.0);
            Tensor d = backend.makeTensor(format, c.rows, c.vocabulary);
            Tensor g = backend.makeTensor(FormatId::Fp32, c.rows, c.vocabulary);
            Tensor master = randomTensor(FormatId::Fp32, c.rows, c.vocabulary, 2);
            Tensor moment1 = randomTensor(FormatId::Fp32, c.rows, c.vocabulary, 3);
            Tensor moment2 = backend.makeTensor(FormatId::Fp32, c.rows, c.vocabulary);
            CastProbe probe = measuringProbe(0x1p-10F);
            std::string bytes;
            appendBytes(bytes, backend.crossEntropy(logits, targets, 1024.0F, &d, &probe));
            const Backend::Unscaled unscaled = backend.unscale(d, 0x1p-10F, g);
            appendBytes(bytes, unscaled.sumSquares);
            backend.adamw({}, g, master, moment1, moment2);
            for (const Tensor* t : {&d, &g, &master, &moment1, &moment2})
                appendBytes(bytes, *t);
            appendBytes(bytes, probe);
            return bytes;
        });
}

} // namespace
} // namespace halfscope::test
