// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/experiments.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/data/image_dataset.h"

namespace halfscope {

namespace {

constexpr std::int64_t kShapesSteps = 2500;
constexpr std::int64_t kAuthorsPretraining = 5000;
constexpr std::int64_t kAuthorsSteps = 10000;
constexpr std::int64_t kFineTuningPretraining = 1200;
constexpr std::int64_t kFineTuningSteps = 2000;
constexpr std::int64_t kAllPassages = 2000; // more than are held out: what counting gets is counted on all of them
constexpr std::int64_t kBracketsPretraining = 1000;
constexpr std::int64_t kBracketsSteps = 5000;
constexpr std::int64_t kSortednessPretraining = 800;
constexpr std::int64_t kSortednessSteps = 2500;

// A small encoder that learns fast: the learning rate rises, then falls until the last step. The scaler starts where
// PyTorch's does and grows often enough to be seen.
RunConfig classifier(const char* task, std::int64_t steps)
{
    RunConfig config;
    config.task = task;
    config.model.width = 64;
    config.model.depth = 2;
    config.model.batch = 64;
    config.optimizer.learningRate = 3e-3F;
    config.optimizer.schedule = LearningRateSchedule::WarmupCosine;
    config.optimizer.warmupSteps = 50;
    config.optimizer.decaySteps = steps;
    config.scaler.growthInterval = 200;
    config.validationExamples = 1000;
    return config;
}

bool hasFashionMnist()
{
    std::error_code ignored;
    return std::filesystem::exists(kFashionMnistFolder, ignored);
}

// The encoder of the PyTorch examples of transformers for classification, which most articles on mixed precision take.
RunConfig article()
{
    RunConfig config;
    config.task = hasFashionMnist() ? "fashion-mnist" : "digits";
    config.model.width = 256;
    config.model.depth = 2;
    config.model.heads = 4;
    config.model.batch = 64;
    config.model.preNorm = false;
    config.model.activation = Activation::Relu;
    config.optimizer.weightDecay = 0.0F; // Adam
    config.optimizer.clipNorm = 0.0F;
    config.validationInterval = 500;
    config.validationExamples = 1000;
    return config;
}

// Image and text in one sequence ask for more depth; a patch is a quarter of the image.
RunConfig shapes()
{
    RunConfig config = classifier("shapes", kShapesSteps);
    config.patchSize = 16;
    config.model.width = 128;
    config.model.depth = 4;
    config.model.heads = 8;
    config.optimizer.learningRate = 1e-3F;
    config.optimizer.warmupSteps = 100;
    return config;
}

// Few characters say little at once about who wrote them: what a language model learns from each of them comes first,
// and the classifier goes on looking back only, as what it learnt does.
RunConfig authors()
{
    RunConfig config = classifier("authors", kAuthorsSteps);
    config.pretrainSteps = kAuthorsPretraining;
    config.model.causal = true;
    config.model.dropout = 0.1F;
    config.model.width = 128;
    config.model.batch = 32;
    config.optimizer.learningRate = 2e-3F;
    config.optimizer.warmupSteps = 100;
    config.validationExamples = kAllPassages;
    return config;
}

// What brackets and numbers mean to each other is learnt sooner from every next character than from one answer a
// sequence; docs/tasks.md has what that reached and what other settings did.
RunConfig sequences(const char* task, std::int64_t pretraining, std::int64_t steps)
{
    RunConfig config = classifier(task, steps);
    config.pretrainSteps = pretraining;
    config.model.context = 16;
    config.model.depth = 3;
    config.optimizer.learningRate = 2e-3F;
    config.optimizer.warmupSteps = 100;
    config.optimizer.beta2 = 0.98;
    return config;
}

// The swap within a minute or two, and the gradients before and after it. Without the pretraining the same steps reach
// less.
RunConfig fineTuning()
{
    RunConfig config = classifier("authors", kFineTuningSteps);
    config.pretrainSteps = kFineTuningPretraining;
    config.model.causal = true; // as it is pretrained
    config.model.batch = 32;
    config.validationExamples = kAllPassages;
    return config;
}

Experiment withSteps(std::string_view key, std::string_view name, std::string_view description, RunConfig config)
{
    const std::int64_t steps = config.optimizer.decaySteps;
    return {key, name, description, std::move(config), steps, 0};
}

std::vector<Experiment> makeExperiments()
{
    return {
        {"default", "Language model", "A small language model of characters; the scale grows until it overflows.",
         defaultExperiment(), 500, 0},
        {"article", "The article's encoder",
         "The encoder of the well-known PyTorch example, width 256, post-norm, on images, for ten epochs.", article(),
         0, 10},
        withSteps("authors", "Who wrote this?",
                  "Tells Conan Doyle from Mark Twain by 64 characters, after learning to write like both.", authors()),
        withSteps("fine-tune", "Fine-tuning",
                  "Pretrains a small language model, swaps its head and goes on as a classifier.", fineTuning()),
        withSteps("brackets", "Balanced brackets",
                  "Tells whether brackets close in order, after learning which may come next.",
                  sequences("brackets", kBracketsPretraining, kBracketsSteps)),
        withSteps("sortedness", "Sorted numbers", "Tells whether numbers ascend, after learning which may come next.",
                  sequences("sortedness", kSortednessPretraining, kSortednessSteps)),
        withSteps("digits", "Digits", "Recognises generated digits; needs no files.", classifier("digits", 600)),
        withSteps("fashion-mnist", "Fashion-MNIST", "A small encoder that recognises clothing.",
                  classifier("fashion-mnist", 1500)),
        withSteps("shapes", "Shapes and questions",
                  "Image and text in one sequence: answers questions about coloured shapes.", shapes()),
    };
}

} // namespace

std::span<const Experiment> experiments()
{
    static const std::vector<Experiment> all = makeExperiments();
    return all;
}

const Experiment* findExperiment(std::string_view key)
{
    const std::span<const Experiment> all = experiments();
    const auto at = std::ranges::find(all, key, &Experiment::key);
    return at == all.end() ? nullptr : &*at;
}

} // namespace halfscope
