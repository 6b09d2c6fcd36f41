// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/data/support.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "engine/data/patches.h"

namespace halfscope::test {

std::string problemOf(const std::function<void()>& make)
{
    try {
        make();
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "(no problem)";
}

Examples heldOut(const Dataset& dataset)
{
    Examples examples;
    dataset.validationExamples(0, static_cast<int>(dataset.validationSize()), examples);
    return examples;
}

Examples trainingExamples(const Dataset& dataset, int count, std::uint64_t seed)
{
    Examples examples;
    Rng rng(seed);
    dataset.sample(rng, count, examples);
    return examples;
}

double runsAccuracy(const Dataset& dataset, std::size_t length, int training)
{
    using Counts = std::array<double, 2>; // by class
    std::unordered_map<std::string, Counts> runs;
    Counts all{};
    // Where a text begins and ends can tell as much as what is in it.
    const auto eachRun = [length](const std::string& text, const auto& visit) {
        const std::string whole = '^' + text + '$';
        for (std::size_t i = 0; i + length <= whole.size(); ++i)
            visit(whole.substr(i, length));
    };
    const Examples known = trainingExamples(dataset, training);
    const std::vector<std::string> learnt = textsOf(dataset, known);
    for (std::size_t i = 0; i < learnt.size(); ++i) {
        const auto label = static_cast<std::size_t>(known.targets[i]);
        eachRun(learnt[i], [&](const std::string& run) {
            ++runs[run][label];
            ++all[label];
        });
    }
    const auto kinds = static_cast<double>(runs.size());
    const Examples held = heldOut(dataset);
    const std::vector<std::string> asked = textsOf(dataset, held);
    int right = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        double evidence = 0; // for the second class
        eachRun(asked[i], [&](const std::string& run) {
            const auto found = runs.find(run);
            const Counts n = found == runs.end() ? Counts{} : found->second;
            evidence += std::log((n[1] + 1) / (all[1] + kinds)) - std::log((n[0] + 1) / (all[0] + kinds));
        });
        right += (evidence > 0 ? 1 : 0) == held.targets[i];
    }
    return right / static_cast<double>(asked.size());
}

std::vector<std::string> textsOf(const Dataset& dataset, const Examples& examples)
{
    const auto length = static_cast<std::size_t>(dataset.info().tokens);
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < examples.tokens.size(); at += length)
        texts.push_back(dataset.decode(examples.tokens.data() + at, length));
    return texts;
}

std::vector<std::uint8_t> imageOf(const Dataset& dataset, const Examples& examples, std::size_t index)
{
    const DatasetInfo& info = dataset.info();
    const auto size = static_cast<std::size_t>(info.patches) * static_cast<std::size_t>(info.patchWidth);
    return pixelsOf(info, examples.patches.data() + index * size);
}

} // namespace halfscope::test
