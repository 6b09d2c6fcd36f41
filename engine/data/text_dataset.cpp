// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_dataset.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

#include "engine/data/text_file.h"
#include "engine/data/utf8.h"

namespace halfscope {
namespace {

constexpr char32_t kReplacement = U'\uFFFD';

std::uint64_t fnv1a(std::string_view text)
{
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001B3ULL;
    }
    return hash;
}

// The characters of the vocabulary in code point order. When there are too many, one place is kept for U+FFFD, which
// stands for all that are left out; among equally frequent characters the lower code point stays.
std::vector<char32_t> chooseVocabulary(const std::u32string& text, std::size_t limit)
{
    std::map<char32_t, std::size_t> frequency;
    for (const char32_t c : text)
        ++frequency[c];
    std::vector<char32_t> chosen;
    if (frequency.size() <= limit) {
        for (const auto& [character, count] : frequency)
            chosen.push_back(character);
        return chosen;
    }
    frequency.erase(kReplacement); // it is the shared token anyway
    std::vector<std::pair<char32_t, std::size_t>> byFrequency(frequency.begin(), frequency.end());
    std::ranges::stable_sort(byFrequency, [](const auto& a, const auto& b) { return a.second > b.second; });
    byFrequency.resize(std::min(byFrequency.size(), limit - 1));
    for (const auto& [character, count] : byFrequency)
        chosen.push_back(character);
    chosen.push_back(kReplacement);
    std::ranges::sort(chosen);
    return chosen;
}

} // namespace

TextSource loadTextFile(const std::string& path)
{
    TextSource source;
    source.text = stripPublisherText(readTextFile(path));
    const std::size_t characters = countUtf8Characters(source.text);
    if (characters < kMinTextCharacters) {
        throw std::runtime_error("\"" + path + "\" has only " + std::to_string(characters) +
                                 " characters of text; training needs at least " + std::to_string(kMinTextCharacters) +
                                 ".");
    }
    // A book may be one line end away from this: the closing one that stripPublisherText() adds is not counted.
    if (std::all_of(source.text.begin(), source.text.end() - 1, [&](char c) { return c == source.text.front(); })) {
        throw std::runtime_error("\"" + path +
                                 "\" repeats a single character; choose a text with something to learn in it.");
    }
    source.title = std::filesystem::path(path).filename().string();
    return source;
}

TextDataset::TextDataset(TextSource source, int maxVocabulary) : m_source(std::move(source))
{
    if (maxVocabulary < 2)
        throw std::invalid_argument("A vocabulary needs at least 2 tokens.");
    const std::u32string text = decodeUtf8(m_source.text);
    if (text.empty())
        throw std::invalid_argument("The text to train on is empty.");
    m_characters = chooseVocabulary(text, static_cast<std::size_t>(maxVocabulary));

    const auto indexOf = [this](char32_t c) -> std::int32_t {
        const auto at = std::ranges::lower_bound(m_characters, c);
        return at != m_characters.end() && *at == c ? static_cast<std::int32_t>(at - m_characters.begin()) : -1;
    };
    const std::int32_t shared = indexOf(kReplacement);
    m_tokens.reserve(text.size());
    for (const char32_t c : text) {
        const std::int32_t index = indexOf(c);
        m_tokens.push_back(index >= 0 ? index : shared);
    }
    m_trainSize = m_tokens.size() - m_tokens.size() / 10;
    m_hash = fnv1a(m_source.text);
}

std::string TextDataset::decode(std::span<const std::int32_t> tokens) const
{
    std::string text;
    for (const std::int32_t token : tokens)
        appendUtf8(text, m_characters.at(static_cast<std::size_t>(token)));
    return text;
}

void TextDataset::sample(Rng& rng, int batch, int context, std::span<std::int32_t> inputs,
                         std::span<std::int32_t> targets) const
{
    const auto length = static_cast<std::size_t>(context);
    const std::size_t needed = static_cast<std::size_t>(batch) * length;
    if (batch < 1 || context < 1 || inputs.size() != needed || targets.size() != needed)
        throw std::invalid_argument("A batch holds batch * context inputs and as many targets.");
    if (m_trainSize <= length) {
        throw std::runtime_error("The text has " + std::to_string(m_trainSize) +
                                 " characters for training, too few for a context of " + std::to_string(context) +
                                 "; use a longer text or a shorter context.");
    }
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
        // A window takes context + 1 characters, so the last place it may start at is trainSize - context - 1.
        const std::size_t start = rng.below(m_trainSize - length);
        const auto from = m_tokens.begin() + static_cast<std::ptrdiff_t>(start);
        std::copy_n(from, length, inputs.begin() + static_cast<std::ptrdiff_t>(b * length));
        std::copy_n(from + 1, length, targets.begin() + static_cast<std::ptrdiff_t>(b * length));
    }
}

} // namespace halfscope
