// SPDX-License-Identifier: GPL-3.0-or-later
// Every kind of model in FP32: central differences of the loss along random directions of all weights, against the
// gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "engine/core/rng.h"
#include "engine/model/transformer.h"

namespace halfscope {
namespace {

struct Kind {
    const char* name;
    int patches;
    int tokens;
    int classes; // 0: a language model
    bool pretraining;
};
constexpr Kind kKinds[] = {
    {"language model", 0, 16, 0, false}, {"classifier of texts", 0, 16, 3, false}, {"in pretraining", 0, 16, 3, true},
    {"of images", 9, 0, 5, false},       {"of images and text", 9, 7, 5, false},
};

TransformerConfig configOf(const Kind& kind, bool preNorm)
{
    TransformerConfig config;
    config.vocabulary = kind.tokens > 0 ? 29 : 0;
    config.patches = kind.patches;
    config.patchWidth = kind.patches > 0 ? 6 : 0;
    config.classes = kind.classes;
    config.pretraining = kind.pretraining;
    config.width = 32;
    config.depth = 2;
    config.heads = 2;
    config.context = kind.patches + kind.tokens;
    config.batch = 4;
    config.preNorm = preNorm;
    return config;
}

// Weights larger than at a start, so that every path carries a gradient worth comparing.
void randomise(Backend& backend, Transformer& model, Rng& rng)
{
    for (Parameter& p : model.parameters()) {
        std::vector<float> w(static_cast<std::size_t>(p.master.size()));
        for (float& x : w)
            x = static_cast<float>(0.1 * rng.normal()) + (p.name.find("ln_") == std::string::npos ? 0.0F : 0.7F);
        backend.upload(w, p.master);
    }
    model.refreshCompute();
}

void expectGradient(Backend& backend, Transformer& model, const Transformer::Batch& batch, Rng& rng)
{
    randomise(backend, model, rng);
    const double loss = model.forward(batch, {});
    model.backward(batch);
    for (int direction = 0; direction < 6; ++direction) {
        double slope = 0;
        double steepest = 0; // the gradient's norm: the deviation of the slope over directions
        std::vector<std::vector<float>> original;
        std::vector<std::vector<float>> towards;
        for (const Parameter& p : model.parameters()) {
            std::vector<float> w(static_cast<std::size_t>(p.master.size()));
            std::vector<float> g(w.size());
            backend.download(p.master, w);
            backend.download(p.gradient, g);
            std::vector<float> d(w.size());
            for (std::size_t i = 0; i < w.size(); ++i) {
                d[i] = static_cast<float>(rng.normal());
                slope += static_cast<double>(d[i]) * static_cast<double>(g[i]);
                steepest += static_cast<double>(g[i]) * static_cast<double>(g[i]);
            }
            original.push_back(std::move(w));
            towards.push_back(std::move(d));
        }
        const auto lossAt = [&](double h) {
            for (std::size_t k = 0; k < original.size(); ++k) {
                std::vector<float> w = original[k];
                for (std::size_t i = 0; i < w.size(); ++i)
                    w[i] += static_cast<float>(h) * towards[k][i];
                backend.upload(w, model.parameters()[k].master);
            }
            model.refreshCompute();
            return model.forward(batch, {});
        };
        // Richardson: with D(h) the central difference, (4 D(h) - D(2h)) / 3 has an error of order h^4, which the
        // difference of the two tells; rounding adds a few hundred eps of the loss over h.
        const double h = 0x1p-9;
        const double d1 = (lossAt(h) - lossAt(-h)) / (2 * h);
        const double d2 = (lossAt(2 * h) - lossAt(-2 * h)) / (4 * h);
        lossAt(0);
        const double estimate = (4 * d1 - d2) / 3;
        const double tolerance = std::abs(d2 - d1) + 300 * 0x1p-24 * loss / h;
        EXPECT_NEAR(slope, estimate, tolerance) << "direction " << direction;
        EXPECT_LT(tolerance, 0.1 * std::sqrt(steepest)) << "a tolerance that could hide a mistake";
    }
}

TEST(ModelGradient, IsTheSlopeOfTheLoss)
{
    const std::unique_ptr<Backend> backend = makeBackend("cpu", 2);
    for (const Kind& kind : kKinds) {
        for (const bool preNorm : {true, false}) {
            SCOPED_TRACE(std::string(kind.name) + (preNorm ? ", pre-norm" : ", post-norm"));
            const TransformerConfig config = configOf(kind, preNorm);
            Transformer model(*backend, config, PrecisionPlan(listModules(config).size(), FormatId::Fp32), 1);
            Rng rng(11);
            std::vector<std::int32_t> inputs(static_cast<std::size_t>(config.batch * kind.tokens));
            for (std::int32_t& token : inputs)
                token = static_cast<std::int32_t>(rng.below(29));
            std::vector<float> patches(static_cast<std::size_t>(config.batch * kind.patches * config.patchWidth));
            for (float& x : patches)
                x = static_cast<float>(rng.normal());
            std::vector<std::int32_t> targets(static_cast<std::size_t>(config.predictions()));
            for (std::int32_t& target : targets)
                target = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(config.outputs())));
            if (kind.pretraining)
                targets[15] = targets[31] = -1;
            expectGradient(*backend, model, {inputs, targets, patches}, rng);
        }
    }
}

} // namespace
} // namespace halfscope
