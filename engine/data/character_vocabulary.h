// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halfscope {

// The distinct characters of a text in code point order, numbered from 0. When there are more than `limit` the most
// frequent are kept (of equally frequent ones the lower code points) and the others share one token shown as U+FFFD.
class CharacterVocabulary {
public:
    CharacterVocabulary() = default;
    explicit CharacterVocabulary(std::u32string_view text, std::size_t limit = 256); // limit >= 2

    std::size_t size() const { return m_characters.size(); }
    // Of a character that was not in the text: the shared token, or -1 where there is none.
    std::int32_t token(char32_t character) const;
    char32_t character(std::int32_t token) const { return m_characters.at(static_cast<std::size_t>(token)); }
    std::vector<std::int32_t> encode(std::u32string_view text) const;
    std::vector<std::int32_t> encodeKnown(std::string_view text) const;      // of UTF-8; leaves out what has no token
    std::string decode(const std::int32_t* tokens, std::size_t count) const; // UTF-8

private:
    std::vector<char32_t> m_characters;
};

} // namespace halfscope
