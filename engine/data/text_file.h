// SPDX-License-Identifier: GPL-3.0-or-later
// Reading text from disk and cleaning it, below loadTextFile() and the novels.
#pragma once

#include <cstddef>
#include <string>

namespace halfscope {

// A text of this size becomes a quarter of a gigabyte of tokens; beyond it a file is most likely not meant for this.
inline constexpr std::size_t kMaxTextBytes = 64U << 20U;

// The file's bytes as clean UTF-8: checked, byte-order mark removed, '\r\n' and '\r' made '\n'. Throws
// std::runtime_error with one sentence when the file is missing, no regular file, unreadable, empty, larger than
// kMaxTextBytes, binary or not UTF-8.
std::string readTextFile(const std::string& path);

// Removes a publisher's header and licence when the text carries Project Gutenberg's markers, and the credit line of
// its producers; then blank lines at both ends. Ends with one '\n'.
std::string stripPublisherText(const std::string& text);

} // namespace halfscope
