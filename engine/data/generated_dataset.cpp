// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/generated_dataset.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "engine/data/fnv.h"
#include "engine/data/patches.h"

namespace halfscope {
namespace {

constexpr std::uint64_t kValidationStream = 0x7E57ULL;
constexpr std::uint64_t kHeldOut = 10; // one in ten

std::uint64_t identity(const GeneratedExample& example)
{
    const std::uint64_t hash =
        example.pixels.empty()
            ? fnv1aBytes(example.tokens.data(), example.tokens.size() * sizeof(example.tokens.front()))
            : fnv1aBytes(example.pixels.data(), example.pixels.size());
    return hash64(hash, 0); // FNV's low bits are not mixed well enough to be counted by
}

bool isHeldOut(std::uint64_t identity) { return identity % kHeldOut == 0; }

GeneratedExample emptyExample(const DatasetInfo& info)
{
    GeneratedExample example;
    example.tokens.resize(static_cast<std::size_t>(info.tokens));
    example.pixels.resize(static_cast<std::size_t>(info.patches) * static_cast<std::size_t>(info.patchWidth));
    return example;
}

} // namespace

void resizeExamples(const DatasetInfo& info, int batch, Examples& examples)
{
    const auto count = static_cast<std::size_t>(batch);
    examples.tokens.resize(count * static_cast<std::size_t>(info.tokens));
    examples.patches.resize(count * static_cast<std::size_t>(info.patches) * static_cast<std::size_t>(info.patchWidth));
    examples.targets.resize(count);
}

GeneratedDataset::GeneratedDataset(DatasetInfo info, std::unique_ptr<ExampleGenerator> generator,
                                   const std::string& parameters, std::size_t validation)
    : m_info(std::move(info)), m_generator(std::move(generator))
{
    m_info.generated = true;
    m_info.hash = fnv1a(parameters);
    findValidation(validation);
}

void GeneratedDataset::findValidation(std::size_t count)
{
    // With small examples (short brackets) there may not be enough; then a long row of draws brings nothing new.
    constexpr int kDrawsInVain = 2000;
    const auto classes = static_cast<std::size_t>(m_info.classes);
    std::vector<std::vector<std::uint64_t>> found(classes);
    GeneratedExample example = emptyExample(m_info);
    std::size_t each = (count + classes - 1) / classes;
    for (std::size_t label = 0; label < classes; ++label) {
        std::unordered_set<std::uint64_t> seen;
        std::uint64_t draw = 0;
        for (int vain = 0; found[label].size() < each && vain < kDrawsInVain; ++vain) {
            const std::uint64_t seed = hash64(kValidationStream + label, draw++);
            Rng rng(seed);
            m_generator->make(rng, static_cast<int>(label), example);
            const std::uint64_t id = identity(example);
            if (isHeldOut(id) && seen.insert(id).second) {
                found[label].push_back(seed);
                vain = 0;
            }
        }
        each = std::min(each, found[label].size());
    }
    for (std::size_t i = 0; i < each; ++i) {
        for (const std::vector<std::uint64_t>& seeds : found)
            m_validation.push_back(seeds[i]);
    }
}

void GeneratedDataset::store(const GeneratedExample& example, std::size_t at, int label, Examples& to) const
{
    std::ranges::copy(example.tokens, to.tokens.begin() + static_cast<std::ptrdiff_t>(at * example.tokens.size()));
    if (!example.pixels.empty())
        cutPatches(m_info, example.pixels.data(), to.patches.data() + at * example.pixels.size());
    to.targets[at] = label;
}

void GeneratedDataset::sample(Rng& rng, int batch, Examples& to) const
{
    resizeExamples(m_info, batch, to);
    GeneratedExample example = emptyExample(m_info);
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
        const int label = static_cast<int>(rng.below(static_cast<std::uint64_t>(m_info.classes)));
        do
            m_generator->make(rng, label, example);
        while (isHeldOut(identity(example)));
        store(example, b, label, to);
    }
}

void GeneratedDataset::validationExamples(std::size_t first, int count, Examples& to) const
{
    if (count < 0 || first > m_validation.size() || static_cast<std::size_t>(count) > m_validation.size() - first)
        throw std::out_of_range("There are only " + std::to_string(m_validation.size()) + " held-out examples.");
    resizeExamples(m_info, count, to);
    GeneratedExample example = emptyExample(m_info);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const int label = static_cast<int>((first + i) % static_cast<std::size_t>(m_info.classes));
        Rng rng(m_validation[first + i]);
        m_generator->make(rng, label, example);
        store(example, i, label, to);
    }
}

std::string GeneratedDataset::decode(const std::int32_t* tokens, std::size_t count) const
{
    return m_generator->decode(tokens, count);
}

} // namespace halfscope
