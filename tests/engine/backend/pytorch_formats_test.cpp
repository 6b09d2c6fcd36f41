// SPDX-License-Identifier: GPL-3.0-or-later
// FP8 casts and AdamW on half parameters against PyTorch (tests/golden/make_formats_reference.py).
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support.h"

namespace halfscope::test {
namespace {

using Json = nlohmann::json;

Json golden()
{
    std::ifstream file(HALFSCOPE_SOURCE_DIR "/tests/golden/formats_reference.json");
    return file ? Json::parse(file) : Json();
}

std::vector<float> numbers(const Json& hexes)
{
    std::vector<float> values;
    for (const Json& hex : hexes) {
        const auto text = hex.get<std::string>();
        values.push_back(std::strtof(text.c_str(), nullptr)); // "nan" and "inf" too
    }
    return values;
}

TEST(PyTorchFormats, Fp8CastsGiveTheSameBits)
{
    const Json casts = golden()["casts"];
    ASSERT_GT(casts["input"].size(), 500U);
    for (const auto& [format, key] : {std::pair{FormatId::Fp8E4M3, "e4m3"}, {FormatId::Fp8E5M2, "e5m2"}})
        for (std::size_t i = 0; i < casts["input"].size(); ++i) {
            const auto x = std::bit_cast<float>(casts["input"][i].get<std::uint32_t>());
            const auto want = casts[key][i].get<std::uint32_t>();
            // Beyond the largest E4M3 number PyTorch clamps, infinity too; that is what a clamped cast is for.
            if (format == FormatId::Fp8E4M3 && std::abs(static_cast<double>(x)) >= floatFormat(format).overflowFrom)
                EXPECT_EQ(want, encode(format, std::copysign(448.0F, x))) << x;
            else
                EXPECT_EQ(encode(format, x), want) << key << " of " << x;
        }
}

// Every value of weights and moments, NaN and infinity included. Torch's kernels contract some products and sums into
// fused ones and others not, which can move a rounding of FP32 across a tie of the half format: one ulp, now and then.
TEST(PyTorchFormats, AdamWOnHalfParameters)
{
    const Json document = golden();
    const Json& h = document["hyper"];
    ASSERT_EQ(document["adamw"].size(), 8U);
    std::size_t compared = 0;
    std::size_t unequal = 0;
    for (const Json& run : document["adamw"]) {
        const FormatId format = *parseFormat(run["format"].get<std::string>());
        const std::vector<float> start = numbers(run["weights"]);
        const auto n = static_cast<std::int64_t>(start.size());
        Tensor weights = tensorOf(format, 1, n, start);
        Tensor moment1 = cpu().makeTensor(format, 1, n);
        Tensor moment2 = cpu().makeTensor(format, 1, n);
        AdamW hyper;
        hyper.learningRate = h["lr"].get<float>();
        hyper.beta1 = h["betas"][0].get<double>();
        hyper.beta2 = h["betas"][1].get<double>();
        hyper.weightDecay = h["weight_decay"].get<float>();
        hyper.epsilon = run["epsilon"].get<float>();
        int step = 0;
        for (const Json& gradient : run["gradients"]) {
            ++step;
            hyper.biasCorrection1 = static_cast<float>(1.0 - std::pow(hyper.beta1, step));
            hyper.biasCorrection2 = static_cast<float>(1.0 - std::pow(hyper.beta2, step));
            cpu().adamw(hyper, tensorOf(FormatId::Fp32, 1, n, numbers(gradient)), weights, moment1, moment2);
        }
        for (const auto& [got, key] : {std::pair{&weights, "after"}, {&moment1, "moment1"}, {&moment2, "moment2"}}) {
            const std::vector<float> want = numbers(run[key]);
            const std::vector<float> values = floats(*got);
            for (std::size_t i = 0; i < want.size(); ++i) {
                ++compared;
                if (std::isnan(want[i]) || std::isinf(want[i])) {
                    EXPECT_EQ(std::isnan(values[i]), std::isnan(want[i])) << key << i;
                    EXPECT_EQ(std::isinf(values[i]), std::isinf(want[i])) << key << i;
                    continue;
                }
                unequal += values[i] == want[i] ? 0 : 1;
                const double ulp = 2.0 * halfUlp(format, std::abs(static_cast<double>(want[i])));
                EXPECT_NEAR(values[i], want[i], step * ulp) << run["format"] << " " << key << " " << i << " " << step;
            }
        }
    }
    EXPECT_LE(unequal, compared / 50);
}

} // namespace
} // namespace halfscope::test
