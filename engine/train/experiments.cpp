// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/experiments.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "engine/data/image_dataset.h"

namespace halfscope {

namespace {

// A small encoder that learns fast; the scaler starts where PyTorch's does and grows often enough to be seen.
RunConfig classifier(const char* task)
{
    RunConfig config;
    config.task = task;
    config.model.width = 64;
    config.model.depth = 2;
    config.model.heads = 4;
    config.model.batch = 64;
    config.scaler.growthInterval = 200;
    config.optimizer.schedule = LearningRateSchedule::WarmupCosine;
    config.optimizer.warmupSteps = 50;
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

RunConfig authors(int context)
{
    RunConfig config = classifier("authors");
    config.model.context = context;
    return config;
}

RunConfig fineTuning()
{
    RunConfig config = authors(64);
    config.pretrainSteps = 600;
    return config;
}

std::vector<Experiment> makeExperiments()
{
    return {
        {"default", "Language model", "A small language model of characters; the scale grows until it overflows.",
         defaultExperiment(), 500, 0},
        {"article", "The article's encoder",
         "The encoder of the well-known PyTorch example, width 256, post-norm, on Fashion-MNIST, for ten epochs.",
         article(), 0, 10},
        {"authors", "Who wrote this?", "Tells Conan Doyle from Mark Twain by 64 characters.", authors(64), 2000, 0},
        {"fine-tune", "Fine-tuning",
         "Pretrains a language model on two authors, swaps its head and goes on as a classifier.", fineTuning(), 1500,
         0},
        {"digits", "Digits", "Recognises generated digits; needs no files.", classifier("digits"), 500, 0},
        {"fashion-mnist", "Fashion-MNIST", "A small encoder that recognises clothing.", classifier("fashion-mnist"),
         2000, 0},
        {"shapes", "Shapes and questions", "Image and text in one sequence: answers questions about coloured shapes.",
         classifier("shapes"), 1500, 0},
        {"brackets", "Brackets", "Learns whether brackets are balanced; needs no files.", classifier("brackets"), 1000,
         0},
        {"sortedness", "Sorted numbers", "Learns whether numbers ascend; needs no files.", classifier("sortedness"),
         1000, 0},
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
