// SPDX-License-Identifier: GPL-3.0-or-later
// Looks at held-out data with the weights of a model, between two steps. Nothing of the training changes by it: not a
// weight, a probe or a random number.
#pragma once

#include "engine/data/dataset.h"
#include "engine/model/transformer.h"
#include "engine/train/command.h"
#include "engine/train/evaluation.h"

namespace halfscope {

class Evaluator {
public:
    Evaluator(Backend& backend, const Dataset& data, const Transformer& model)
        : m_backend(backend), m_data(data), m_model(model)
    {
    }

    // Of the first `most` held-out examples, or of all; at least one must be held out.
    Validation validate(std::int64_t most) const;
    // The next two throw std::runtime_error with one sentence when this model or data set has no answer.
    std::vector<Prediction> predict(const RequestPredictions& request) const;
    TextSample sample(const RequestSample& request) const;

private:
    // Held-out examples as a whole batch of `reader`; targets beyond the last one are -1.
    Transformer::Batch load(const Transformer& reader, std::size_t first, int count, Examples& to) const;
    std::vector<float> logitsOf(const Transformer& reader) const; // predictions * outputs
    std::vector<std::int32_t> promptTokens(const RequestSample& request) const;

    Backend& m_backend;
    const Dataset& m_data;
    const Transformer& m_model;
};

} // namespace halfscope
