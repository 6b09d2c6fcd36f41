// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/character_vocabulary.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "engine/data/utf8.h"

namespace halfscope {
namespace {

constexpr char32_t kReplacement = U'\uFFFD';

} // namespace

CharacterVocabulary::CharacterVocabulary(std::u32string_view text, std::size_t limit)
{
    if (limit < 2)
        throw std::invalid_argument("A vocabulary needs at least 2 tokens.");
    std::map<char32_t, std::size_t> frequency;
    for (const char32_t c : text)
        ++frequency[c];
    if (frequency.size() <= limit) {
        for (const auto& [character, count] : frequency)
            m_characters.push_back(character);
        return;
    }
    frequency.erase(kReplacement); // it is the shared token anyway
    std::vector<std::pair<char32_t, std::size_t>> byFrequency(frequency.begin(), frequency.end());
    std::ranges::stable_sort(byFrequency, [](const auto& a, const auto& b) { return a.second > b.second; });
    byFrequency.resize(std::min(byFrequency.size(), limit - 1));
    for (const auto& [character, count] : byFrequency)
        m_characters.push_back(character);
    m_characters.push_back(kReplacement);
    std::ranges::sort(m_characters);
}

std::int32_t CharacterVocabulary::token(char32_t character) const
{
    const auto find = [this](char32_t c) -> std::int32_t {
        const auto at = std::ranges::lower_bound(m_characters, c);
        return at != m_characters.end() && *at == c ? static_cast<std::int32_t>(at - m_characters.begin()) : -1;
    };
    const std::int32_t index = find(character);
    return index >= 0 ? index : find(kReplacement);
}

std::vector<std::int32_t> CharacterVocabulary::encode(std::u32string_view text) const
{
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char32_t c : text)
        tokens.push_back(token(c));
    return tokens;
}

std::vector<std::int32_t> CharacterVocabulary::encodeKnown(std::string_view text) const
{
    std::vector<std::int32_t> tokens = encode(decodeUtf8(text));
    std::erase(tokens, -1);
    return tokens;
}

std::string CharacterVocabulary::decode(const std::int32_t* tokens, std::size_t count) const
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        appendUtf8(text, character(tokens[i]));
    return text;
}

} // namespace halfscope
