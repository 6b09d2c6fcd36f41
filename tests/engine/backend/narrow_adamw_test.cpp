// SPDX-License-Identifier: GPL-3.0-or-later
// AdamW on weights and moments that are not FP32, and what it tells about its updates.
#include <cmath>

#include "support.h"

namespace halfscope::test {
namespace {

struct State {
    float weight;
    float moment1;
    float moment2;
};

// One update of one weight, with the roundings that backend.h promises, by the standard library.
State updated(const AdamW& h, float gradient, State s, FormatId weights, FormatId moments)
{
    const double rate = static_cast<double>(h.learningRate);
    const float g = gradient * h.gradientFactor;
    const float decayed = s.weight * static_cast<float>(1.0 - rate * static_cast<double>(h.weightDecay));
    const float correction = static_cast<float>(std::sqrt(static_cast<double>(h.biasCorrection2)));
    const auto stepSize = static_cast<float>(rate / static_cast<double>(h.biasCorrection1));
    const auto share1 = static_cast<float>(1.0 - h.beta1);
    const auto share2 = static_cast<float>(1.0 - h.beta2);
    if (weights != moments || weights == FormatId::Fp32) {
        const float m1 = std::fma(g, share1, s.moment1 * static_cast<float>(h.beta1));
        const float m2 = std::fma(g * g, share2, s.moment2 * static_cast<float>(h.beta2));
        const float denominator = std::sqrt(m2) / correction + h.epsilon;
        return {roundTo(weights, decayed - stepSize * m1 / denominator), roundTo(moments, m1), roundTo(moments, m2)};
    }
    const auto round = [&](float x) { return roundTo(weights, x); };
    const float m1 = round(std::fma(share1, g - s.moment1, s.moment1));
    const float m2 = round(round(s.moment2 * static_cast<float>(h.beta2)) + share2 * g * g);
    const float denominator = round(round(round(std::sqrt(m2)) / correction) + h.epsilon);
    return {round(round(decayed) - stepSize * m1 / denominator), m1, m2};
}

AdamW someStep()
{
    AdamW hyper;
    hyper.learningRate = 3e-3F;
    hyper.weightDecay = 0.1F;
    hyper.gradientFactor = 0.7F;
    hyper.biasCorrection1 = 0.271F;
    hyper.biasCorrection2 = 0.002997F;
    return hyper;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(NarrowAdamW, RoundsAsPromised)
{
    for (const FormatId weightFormat : kFormats)
        for (const FormatId momentFormat : kFormats)
            for (const std::int64_t n : {1, 17, 8193, 20001}) {
                const AdamW hyper = someStep();
                const Tensor gradient = randomTensor(FormatId::Fp32, 1, n, 1, 1e-2);
                Guarded weights(weightFormat, 1, n);
                Guarded moment1(momentFormat, 1, n);
                Guarded moment2(momentFormat, 1, n);
                cpu().upload(floats(randomTensor(FormatId::Fp32, 1, n, 2)), *weights);
                cpu().upload(floats(randomTensor(FormatId::Fp32, 1, n, 3, 1e-2)), *moment1);
                std::vector<float> squares = floats(randomTensor(FormatId::Fp32, 1, n, 4, 1e-2));
                for (float& x : squares)
                    x *= x;
                cpu().upload(squares, *moment2);
                const std::vector<float> w = floats(*weights);
                const std::vector<float> m1 = floats(*moment1);
                const std::vector<float> m2 = floats(*moment2);
                const std::vector<float> g = floats(gradient);
                cpu().adamw(hyper, gradient, *weights, *moment1, *moment2);
                const std::vector<float> wAfter = floats(*weights);
                const std::vector<float> m1After = floats(*moment1);
                const std::vector<float> m2After = floats(*moment2);
                for (std::size_t i = 0; i < g.size(); ++i) {
                    const State want = updated(hyper, g[i], {w[i], m1[i], m2[i]}, weightFormat, momentFormat);
                    ASSERT_TRUE(same(wAfter[i], want.weight)) << formatName(momentFormat) << i;
                    ASSERT_EQ(m1After[i], want.moment1);
                    ASSERT_EQ(m2After[i], want.moment2);
                }
                EXPECT_TRUE(weights.intact() && moment1.intact() && moment2.intact());
            }
}

// torch.optim.AdamW on half parameters: 1e-8 added to a half tensor is nothing, and 0 / 0 is NaN.
TEST(NarrowAdamW, EpsilonIsLostInFp16)
{
    AdamW hyper;
    hyper.biasCorrection1 = 0.1F;
    hyper.biasCorrection2 = 0.001F;
    const std::vector<float> gradients = {0.0F, 1e-4F, 1e-2F};
    const Tensor gradient = tensorOf(FormatId::Fp32, 1, 3, gradients);
    for (const FormatId moments : kFormats)
        for (const float epsilon : {1e-8F, 1e-4F}) {
            hyper.epsilon = epsilon;
            Tensor weights = tensorOf(moments, 1, 3, std::vector<float>(3, 1.0F));
            Tensor moment1 = cpu().makeTensor(moments, 1, 3);
            Tensor moment2 = cpu().makeTensor(moments, 1, 3);
            cpu().adamw(hyper, gradient, weights, moment1, moment2);
            const std::vector<float> w = floats(weights);
            const bool lost = moments == FormatId::Fp16 && epsilon < 1e-6F;
            EXPECT_EQ(std::isnan(w[0]), lost) << formatName(moments);
            EXPECT_TRUE(std::isfinite(w[2]));
        }
}

TEST(NarrowAdamW, CountsWhatEachUpdateDoes)
{
    for (const FormatId weightFormat : kFormats)
        for (const FormatId judged : kFormats) {
            constexpr std::int64_t kCount = 30001;
            AdamW hyper = someStep();
            hyper.learningRate = 2e-4F;
            hyper.weightDecay = 0.0F;
            const Tensor gradient = randomTensor(FormatId::Fp32, 1, kCount, 1, 1e-2);
            std::vector<float> start = floats(randomTensor(weightFormat, 1, kCount, 2));
            start[7] = 0.0F;
            Tensor weights = tensorOf(weightFormat, 1, kCount, start);
            Tensor exact = tensorOf(FormatId::Fp32, 1, kCount, start);
            Tensor moments[4];
            for (Tensor& m : moments)
                m = cpu().makeTensor(FormatId::Fp32, 1, kCount);
            UpdateProbe probe;
            probe.format = judged;
            cpu().adamw(hyper, gradient, weights, moments[0], moments[1], &probe);
            cpu().adamw(hyper, gradient, exact, moments[2], moments[3]);

            UpdateStatistics want;
            const std::vector<float> after = floats(exact);
            for (std::size_t i = 0; i < start.size(); ++i) {
                const double dw = static_cast<double>(after[i]) - static_cast<double>(start[i]);
                ++want.weights;
                want.unchanged += dw == 0.0 ? 1 : 0;
                if (dw == 0.0)
                    continue;
                want.lost += roundTo(judged, start[i]) == roundTo(judged, after[i]) ? 1 : 0;
                want.fromZero += start[i] == 0.0F ? 1 : 0;
                if (start[i] == 0.0F)
                    continue;
                // The exponent by comparison with powers of two, without a division.
                int exponent = -149;
                while (std::abs(dw) >= std::ldexp(std::abs(static_cast<double>(start[i])), exponent + 1))
                    ++exponent;
                ++want.ratios.at(exponent);
            }
            EXPECT_EQ(probe.statistics, want) << formatName(weightFormat) << " judged as " << formatName(judged);
            EXPECT_EQ(want.fromZero, 1U);
            if (judged != FormatId::Fp32) {
                EXPECT_GT(want.lost, 100U);
            }
            if (judged == weightFormat) { // what is lost is what did not move
                std::uint64_t unmoved = 0;
                const std::vector<float> stored = floats(weights);
                for (std::size_t i = 0; i < start.size(); ++i)
                    unmoved += stored[i] == start[i] ? 1 : 0;
                EXPECT_EQ(unmoved, want.lost + want.unchanged);
            }
        }
}

TEST(NarrowAdamW, SameBitsForAnyThreadsAndInstructionSet)
{
    for (const FormatId format : kFormats)
        expectSameBytes([&](Backend& backend) {
            std::string bytes;
            const Tensor gradient = randomTensor(FormatId::Fp32, 1, 40000, 1, 1e-2);
            Tensor weights = randomTensor(format, 1, 40000, 2);
            Tensor moment1 = randomTensor(format, 1, 40000, 3, 1e-2);
            Tensor moment2 = backend.makeTensor(format, 1, 40000);
            UpdateProbe probe;
            probe.format = format;
            backend.adamw(someStep(), gradient, weights, moment1, moment2, &probe);
            for (const Tensor* t : {&weights, &moment1, &moment2})
                appendBytes(bytes, *t);
            appendBytes(bytes, static_cast<double>(probe.statistics.lost));
            for (const std::uint64_t n : probe.statistics.ratios.bins)
                appendBytes(bytes, static_cast<double>(n));
            return bytes;
        });
}

} // namespace
} // namespace halfscope::test
