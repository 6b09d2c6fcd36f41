// SPDX-License-Identifier: GPL-3.0-or-later
// The engine against PyTorch: logits, loss, every gradient, and ten AdamW steps with clipping (tests/golden).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/backend/backend_registry.h"
#include "engine/model/transformer.h"
#include "engine/train/optimizer.h"

namespace halfscope {
namespace {

using Json = nlohmann::json;

constexpr double kEps = 0x1p-24; // half an ulp of 1 in FP32: the relative error of one rounding

std::vector<double> numbers(const Json& hexes)
{
    std::istringstream in(hexes.get<std::string>());
    std::vector<double> out;
    for (std::string word; in >> word;)
        out.push_back(std::strtod(word.c_str(), nullptr));
    return out;
}

double number(const Json& hex) { return std::strtod(hex.get<std::string>().c_str(), nullptr); }

class PyTorchParity : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override
    {
        const bool encoder = GetParam().starts_with("image") || GetParam().starts_with("text");
        const std::string name = encoder ? "encoder_reference.json" : "gpt_reference.json";
        std::ifstream file(HALFSCOPE_SOURCE_DIR "/tests/golden/" + name);
        ASSERT_TRUE(file) << name;
        root = Json::parse(file);
        reference = root["models"][GetParam()];
        const Json& c = root["config"];
        config.vocabulary = c["vocabulary"];
        config.width = c["width"];
        config.depth = c["depth"];
        config.heads = c["heads"];
        config.batch = c["batch"];
        if (encoder) {
            config.patches = reference["patch_count"];
            config.patchWidth = config.patches > 0 ? c["patch_width"].get<int>() : 0;
            config.context = config.patches + reference["token_count"].get<int>();
            config.vocabulary = config.context > config.patches ? config.vocabulary : 0;
            config.classes = c["classes"];
        } else {
            config.context = c["context"];
        }
        config.preNorm = !GetParam().ends_with("post_norm_relu");
        config.tiedHead = GetParam() == "tied_head";
        config.activation = config.preNorm ? Activation::Gelu : Activation::Relu;
        backend = makeBackend("cpu", 2);
        const PrecisionPlan plan(listModules(config).size(), FormatId::Fp32);
        model = std::make_unique<Transformer>(*backend, config, plan, 1);
        ASSERT_EQ(model->parameters().size(), reference["weights"].size());
        for (Parameter& p : model->parameters()) {
            ASSERT_TRUE(reference["weights"].contains(p.name)) << p.name;
            const std::vector<double> values = numbers(reference["weights"][p.name]);
            backend->upload(std::vector<float>(values.begin(), values.end()), p.master);
        }
        model->refreshCompute();
    }

    // Roundings along the longest path from a weight to the loss: a product of length k contributes k, a norm or
    // softmax over k about 2k. First-order error analysis then bounds the relative error of a value by (roundings *
    // eps), relative to the largest magnitude in its tensor, because every operation on the path has gain of order one
    // in these models.
    double roundings() const
    {
        const int c = config.width;
        const int block = 2 * 2 * c + 3 * c + c / config.heads + 3 * config.context + c + config.mlpRatio * c;
        const int ends = config.patchWidth + (config.classes > 0 ? config.context + 2 : 0); // patches, and the mean
        return config.depth * block + 3 * c + 2 * config.outputs() + ends;
    }

    void compare(const Tensor& tensor, const std::vector<double>& expected, double bound, const std::string& name)
    {
        ASSERT_EQ(static_cast<std::size_t>(tensor.size()), expected.size()) << name;
        std::vector<float> actual(expected.size());
        backend->download(tensor, actual);
        double largest = 0;
        for (const double e : expected)
            largest = std::max(largest, std::abs(e));
        double worst = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
            worst = std::max(worst, error / largest);
            EXPECT_LE(error, bound * kEps * largest)
                << name << " element " << i << ": " << actual[i] << " vs " << expected[i];
        }
        RecordProperty("error_in_eps_" + name, std::to_string(worst / kEps));
    }

    Transformer::Batch batch(std::size_t step)
    {
        inputs = reference["inputs"][step].get<std::vector<std::int32_t>>();
        targets = reference["targets"][step].get<std::vector<std::int32_t>>();
        patches.clear();
        if (reference.contains("patches")) {
            for (const double x : numbers(reference["patches"][step]))
                patches.push_back(static_cast<float>(x));
        }
        return {inputs, targets, patches};
    }

    Json root;
    Json reference;
    TransformerConfig config;
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Transformer> model;
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    std::vector<float> patches;
};

TEST_P(PyTorchParity, LogitsLossAndEveryGradient)
{
    const Transformer::Batch first = batch(0);
    const double loss = model->forward(first, {});
    model->backward(first);
    EXPECT_NEAR(loss, number(reference["loss"]), roundings() * kEps * std::abs(number(reference["loss"])));
    compare(model->logits(), numbers(reference["logits"]), roundings(), "logits");
    double largestGradient = 0;
    for (const auto& g : reference["gradients"]) {
        for (const double v : numbers(g))
            largestGradient = std::max(largestGradient, std::abs(v));
    }
    for (const Parameter& p : model->parameters()) {
        // The key biases' gradient is zero in exact arithmetic (softmax ignores a shift), so it is compared, with the
        // rest of its tensor, relative to that tensor's largest value. Forward and backward: twice the path, and once
        // more because the backward pass reads rounded activations.
        compare(p.gradient, numbers(reference["gradients"][p.name]), 3 * roundings(), p.name);
    }
    EXPECT_GT(largestGradient, 1e-3);
}

TEST_P(PyTorchParity, TenAdamWStepsWithClipping)
{
    Optimizer optimizer(*backend, *model);
    OptimizerConfig o;
    o.learningRate = root["optimizer"]["lr"].get<float>();
    o.beta1 = root["optimizer"]["beta1"];
    o.beta2 = root["optimizer"]["beta2"];
    o.epsilon = root["optimizer"]["eps"].get<float>();
    o.weightDecay = root["optimizer"]["weight_decay"].get<float>();
    o.clipNorm = root["optimizer"]["clip"].get<float>();
    for (std::size_t step = 0; step < reference["losses_fp64"].size(); ++step) {
        const Transformer::Batch b = batch(step);
        const double loss = model->forward(b, {});
        model->backward(b);
        const Optimizer::Gradients gradients = optimizer.unscale(1.0F);
        // Adam divides by the gradient's own size, so a step's error is relative to the step: each of the `step`
        // updates so far moved every weight by about the learning rate with a relative error of (3 * roundings) eps,
        // and the loss answers with its gradient's norm times that.
        const double norm = number(reference["norms_fp64"][step]);
        const double moved = static_cast<double>(step) * static_cast<double>(o.learningRate) *
                             std::sqrt(static_cast<double>(model->parameterCount()));
        const double expected = number(reference["losses_fp64"][step]);
        const double tolerance = kEps * (roundings() * expected + 3 * roundings() * moved * norm);
        EXPECT_NEAR(loss, expected, tolerance) << "step " << step;
        EXPECT_NEAR(gradients.norm, norm, kEps * 3 * roundings() * norm * (1 + 10 * moved)) << "step " << step;
        // PyTorch's own FP32 lies within the same tolerance: it is not vacuous and not too tight.
        EXPECT_NEAR(number(reference["losses_fp32"][step]), expected, tolerance) << "step " << step;
        EXPECT_LT(tolerance, 1e-3) << "a tolerance that could hide a mistake";
        optimizer.update(o, o.learningRate, gradients.norm);
    }
    const auto& losses = reference["losses_fp64"];
    EXPECT_NE(number(losses.front()), number(losses.back()));
}

INSTANTIATE_TEST_SUITE_P(Models, PyTorchParity, testing::Values("pre_norm_gelu", "post_norm_relu", "tied_head"));
INSTANTIATE_TEST_SUITE_P(Encoders, PyTorchParity,
                         testing::Values("image_post_norm_relu", "text_pre_norm_gelu", "image_and_text"));

} // namespace
} // namespace halfscope
