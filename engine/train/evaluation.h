// SPDX-License-Identifier: GPL-3.0-or-later
// What a model does with what it was not trained on. Made between two steps, immutable once published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace halfscope {

struct Validation {
    std::int64_t examples = 0; // held-out ones, from the first on
    double loss = 0.0;         // mean over the predictions, nats
    double accuracy = 0.0;     // share of the predictions that are right
    // classes * classes: examples of class t taken for class p, at [t * classes + p]. Empty for a language model.
    std::vector<std::int64_t> confusion;
};

// One held-out example as the model sees it.
struct Prediction {
    std::size_t index = 0;
    int target = -1;                  // class
    int predicted = -1;               // the likeliest class; -1: not finite
    std::vector<float> probabilities; // a class
    std::string text;                 // UTF-8; empty: the example has no tokens
    std::vector<float> patches;       // DatasetInfo::patches * patchWidth numbers; empty: no image
};

struct TextSample {
    std::string prompt; // as the model read it: UTF-8, without characters that it does not know
    std::string text;   // what it added
    double temperature = 1.0;
    std::uint64_t seed = 0;
};

struct Evaluation {
    std::int64_t step = 0;       // the weights are those after it
    std::uint64_t commandId = 0; // of the command that asked; 0: a validation whose time had come
    std::optional<Validation> validation;
    std::vector<Prediction> predictions;
    std::optional<TextSample> sample;
};
using EvaluationPtr = std::shared_ptr<const Evaluation>;

} // namespace halfscope
