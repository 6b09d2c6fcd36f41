// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as text, the same whatever the locale: shortest text that reads back as the same number, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halfscope {

// The shortest text that reads back as the same number; "nan", "inf", "-inf".
std::string numberText(double value);
std::string numberText(float value);
std::string numberText(std::int64_t value);
std::string numberText(std::uint64_t value);

// A decimal ("65536", "6.5e4", ".5"), a C hexadecimal float ("0x1p16"), a power of two ("2^16", "-2^-24"), or
// inf / nan; one sign may lead. Rounded once, to nearest, ties to even; beyond the type's range: infinity or zero.
// nullopt when the whole text is not one number.
std::optional<float> parseFloat(std::string_view text);
std::optional<double> parseDouble(std::string_view text);

// A whole number in any of the forms above ("2000", "2e3", "2^11"). nullopt when it is not whole or does not fit.
std::optional<std::int64_t> parseInteger(std::string_view text);
std::optional<std::uint64_t> parseUnsigned(std::string_view text);

// "2^16" when the value is a power of two, otherwise the shortest text.
std::string powerText(double value);
// Rounded to this many decimals, not the shortest; "nan", "inf" as such.
std::string fixedText(double value, int decimals);

} // namespace halfscope
