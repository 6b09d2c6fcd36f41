// SPDX-License-Identifier: GPL-3.0-or-later
// "Did you mean ...?"
#pragma once

#include <span>
#include <string_view>

namespace halfscope {

// Single-character insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int editDistance(std::string_view a, std::string_view b);

// The word with the smallest distance (the first of equals); empty when there are no words.
std::string_view nearestWord(std::string_view given, std::span<const std::string_view> words);

} // namespace halfscope
