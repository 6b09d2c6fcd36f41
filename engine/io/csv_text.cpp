// SPDX-License-Identifier: GPL-3.0-or-later
// Fields of CSV files as text: numbers that read back as themselves, strings quoted where they have to be.
#include <array>
#include <charconv>
#include <cmath>

#include "engine/io/csv_export.h"

namespace halfscope {
namespace {

// std::to_chars knows no locale and writes the shortest text that reads back as the same value.
template <typename T>
std::string shortest(T value)
{
    if (std::isnan(value))
        return "nan"; // whatever its sign and payload
    std::array<char, 32> text{};
    const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), result.ptr};
}

} // namespace

std::string csvNumber(double value) { return shortest(value); }

std::string csvNumber(float value) { return shortest(value); }

std::string csvField(std::string_view text)
{
    // A space at either end is quoted too: some readers strip it otherwise.
    const bool plain =
        text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' ');
    if (plain)
        return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"')
            quoted.push_back('"');
        quoted.push_back(c);
    }
    quoted.push_back('"');
    return quoted;
}

} // namespace halfscope
