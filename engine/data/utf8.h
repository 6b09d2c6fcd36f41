// SPDX-License-Identifier: GPL-3.0-or-later
// The little of UTF-8 that a text file needs: checking it, taking it apart, putting it together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halfscope {

// Offset of the first byte that does not begin a well-formed sequence (overlong forms, surrogates and code points above
// U+10FFFF are not well-formed); nullopt when the whole text is UTF-8.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

// `text` must be well-formed. The code points in order.
std::u32string decodeUtf8(std::string_view text);

void appendUtf8(std::string& to, char32_t character);

// `text` must be well-formed.
std::size_t countUtf8Characters(std::string_view text);

} // namespace halfscope
