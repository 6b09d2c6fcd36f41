// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/data/support.h"

#include <stdexcept>

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
