// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/core/rng.h"
#include "engine/data/utf8.h"
#include "engine/train/task.h"

namespace halfscope {

namespace {

constexpr int kMostPredictions = 1024;
constexpr int kMostCharacters = 4096;

// exp(x / temperature) / sum, in double; shifted by the largest so that nothing overflows.
std::vector<double> softmax(std::span<const float> logits, double temperature)
{
    const double most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    std::vector<double> p;
    double sum = 0.0;
    for (const float x : logits) {
        p.push_back(std::exp((static_cast<double>(x) - most) / temperature));
        sum += p.back();
    }
    for (double& x : p)
        x /= sum;
    return p;
}

std::int32_t draw(std::span<const float> logits, double temperature, Rng& rng)
{
    const auto finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(logits.begin(), logits.end(), finite))
        throw std::runtime_error("The model's outputs are not finite, so no text can be drawn from them.");
    if (temperature == 0.0)
        return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    double left = rng.uniform();
    const std::vector<double> p = softmax(logits, temperature);
    for (std::size_t i = 0; i + 1 < p.size(); ++i) {
        left -= p[i];
        if (left < 0)
            return static_cast<std::int32_t>(i);
    }
    return static_cast<std::int32_t>(p.size()) - 1;
}

} // namespace

Transformer::Batch Evaluator::load(const Transformer& reader, std::size_t first, int count, Examples& to) const
{
    const TransformerConfig& model = reader.config();
    m_data.validationExamples(first, count, to);
    const auto batch = static_cast<std::size_t>(model.batch);
    to.tokens.resize(batch * static_cast<std::size_t>(model.context - model.patches), 0);
    to.patches.resize(batch * static_cast<std::size_t>(model.patches) * static_cast<std::size_t>(model.patchWidth));
    const Transformer::Batch filled = batchOf(model, to);
    const auto predictions = static_cast<std::size_t>(model.predictions());
    const std::size_t real = static_cast<std::size_t>(count) * predictions / batch;
    to.targets.resize(predictions);
    std::fill(to.targets.begin() + static_cast<std::ptrdiff_t>(real), to.targets.end(), -1);
    return {filled.inputs, to.targets, filled.patches};
}

std::vector<float> Evaluator::logitsOf(const Transformer& reader) const
{
    std::vector<float> logits(static_cast<std::size_t>(reader.logits().size()));
    m_backend.download(reader.logits(), logits);
    return logits;
}

Validation Evaluator::validate(std::int64_t most) const
{
    Transformer reader(m_model, m_model.config().batch);
    const TransformerConfig& model = reader.config();
    const std::size_t total = std::min(m_data.validationSize(), static_cast<std::size_t>(most));
    const std::size_t classes = model.predictsNext() ? 0 : static_cast<std::size_t>(model.classes);
    Validation result;
    result.examples = static_cast<std::int64_t>(total);
    result.confusion.assign(classes * classes, 0);
    std::vector<std::int32_t> columns(static_cast<std::size_t>(model.predictions()));
    Examples examples;
    Hits all;
    for (std::size_t first = 0; first < total; first += static_cast<std::size_t>(model.batch)) {
        const int count = static_cast<int>(std::min(total - first, static_cast<std::size_t>(model.batch)));
        const Transformer::Batch batch = load(reader, first, count, examples);
        const double loss = reader.evaluate(batch);
        m_backend.argmax(reader.logits(), columns);
        const Hits hits = countHits(columns, batch.targets);
        result.loss += loss * static_cast<double>(hits.of);
        all.right += hits.right;
        all.of += hits.of;
        for (std::size_t i = 0; classes > 0 && i < static_cast<std::size_t>(count); ++i) {
            if (columns[i] >= 0)
                ++result.confusion[static_cast<std::size_t>(batch.targets[i]) * classes +
                                   static_cast<std::size_t>(columns[i])];
        }
    }
    result.loss /= static_cast<double>(all.of);
    result.accuracy = all.share();
    return result;
}

std::vector<Prediction> Evaluator::predict(const RequestPredictions& request) const
{
    if (m_model.config().predictsNext())
        throw std::runtime_error("This model predicts the next character for now; only a classifier has predictions "
                                 "for whole examples.");
    if (request.count < 1 || request.count > kMostPredictions)
        throw std::runtime_error("Ask for 1 to " + std::to_string(kMostPredictions) + " predictions.");
    if (request.first >= m_data.validationSize())
        throw std::runtime_error("There are only " + std::to_string(m_data.validationSize()) + " held-out examples.");
    const std::size_t last = std::min(m_data.validationSize(), request.first + static_cast<std::size_t>(request.count));
    Transformer reader(m_model, m_model.config().batch);
    const TransformerConfig& model = reader.config();
    const auto tokens = static_cast<std::size_t>(model.context - model.patches);
    const std::size_t pixels = static_cast<std::size_t>(model.patches) * static_cast<std::size_t>(model.patchWidth);
    const auto classes = static_cast<std::size_t>(model.classes);
    std::vector<std::int32_t> columns(static_cast<std::size_t>(model.batch));
    std::vector<Prediction> all;
    Examples examples;
    for (std::size_t first = request.first; first < last; first += static_cast<std::size_t>(model.batch)) {
        const std::size_t count = std::min(last - first, static_cast<std::size_t>(model.batch));
        reader.evaluate(load(reader, first, static_cast<int>(count), examples));
        m_backend.argmax(reader.logits(), columns);
        const std::vector<float> logits = logitsOf(reader);
        for (std::size_t i = 0; i < count; ++i) {
            Prediction& p = all.emplace_back();
            p.index = first + i;
            p.target = examples.targets[i];
            p.predicted = columns[i];
            const std::vector<double> shares = softmax({logits.data() + i * classes, classes}, 1.0);
            p.probabilities.assign(shares.begin(), shares.end());
            p.text = m_data.decode(examples.tokens.data() + i * tokens, tokens);
            p.patches.assign(examples.patches.begin() + static_cast<std::ptrdiff_t>(i * pixels),
                             examples.patches.begin() + static_cast<std::ptrdiff_t>((i + 1) * pixels));
        }
    }
    return all;
}

std::vector<std::int32_t> Evaluator::promptTokens(const RequestSample& request) const
{
    if (firstInvalidUtf8(request.prompt))
        throw std::runtime_error("The prompt is not UTF-8.");
    std::vector<std::int32_t> tokens = m_data.encode(request.prompt);
    if (!request.prompt.empty() && tokens.empty())
        throw std::runtime_error("No character of the prompt is in what the model was trained on.");
    if (tokens.empty()) {
        Examples example;
        if (m_data.validationSize() > 0) {
            m_data.validationExamples(request.seed % m_data.validationSize(), 1, example);
        } else {
            Rng rng(request.seed);
            m_data.sample(rng, 1, example);
        }
        tokens = std::move(example.tokens);
        tokens.resize((tokens.size() + 3) / 4);
    }
    return tokens;
}

TextSample Evaluator::sample(const RequestSample& request) const
{
    if (!m_model.config().predictsNext())
        throw std::runtime_error("This model classifies; only a language model writes text.");
    if (request.length < 1 || request.length > kMostCharacters)
        throw std::runtime_error("The length of a sample must be 1 to " + std::to_string(kMostCharacters) +
                                 " characters.");
    if (!std::isfinite(request.temperature) || request.temperature < 0)
        throw std::runtime_error("The temperature must be a finite number, at least 0.");
    std::vector<std::int32_t> text = promptTokens(request);
    const std::size_t prompt = text.size();

    Transformer reader(m_model, 1);
    const auto context = static_cast<std::size_t>(reader.config().context);
    const auto vocabulary = static_cast<std::size_t>(reader.config().vocabulary);
    std::vector<std::int32_t> inputs(context);
    std::vector<std::int32_t> targets(context);
    Rng rng(request.seed);
    for (int i = 0; i < request.length; ++i) {
        // The latest characters, from the first position on; what stands behind them cannot be seen.
        const std::size_t seen = std::min(text.size(), context);
        std::fill(inputs.begin(), inputs.end(), 0);
        std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), inputs.begin());
        reader.evaluate({inputs, targets});
        const std::vector<float> logits = logitsOf(reader);
        text.push_back(draw({logits.data() + (seen - 1) * vocabulary, vocabulary}, request.temperature, rng));
    }
    TextSample result;
    result.prompt = m_data.decode(text.data(), prompt);
    result.text = m_data.decode(text.data() + prompt, text.size() - prompt);
    result.temperature = request.temperature;
    result.seed = request.seed;
    return result;
}

} // namespace halfscope
