// SPDX-License-Identifier: GPL-3.0-or-later
// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfscope {

// Single-character insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int editDistance(std::string_view a, std::string_view b);

// What `given` was probably meant to be: the word with the smallest distance (the first of equals) if that is at most a
// third of its letters, and at least one; else a word that contains it, or that it contains. Empty: none.
std::string_view nearestWord(std::string_view given, std::span<const std::string_view> words);

// The end of a sentence that says there is no such thing: "; the nearest is pytorch.", or, where none is near, the
// choices, "; choose apex, flax or jax.", or, where they are too many to read, ".".
std::string nearestHint(std::string_view given, std::span<const std::string_view> words);

} // namespace halfscope
