// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace halfscope {

namespace {

template <typename T>
std::string shortest(T value)
{
    std::array<char, 64> buffer; // a double's shortest text has at most 24 characters
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return std::string(buffer.data(), end);
}

template <typename T>
std::string shortestFloat(T value)
{
    if (std::isnan(value)) // to_chars would write a NaN's sign
        return "nan";
    return shortest(value);
}

bool equalsIgnoringCase(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
        return lower(x) == lower(y);
    });
}

int digitValue(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// from_chars says "out of range" for too large and too small alike. A well-formed number is too large when its leading
// digit stands above the point. `digitWeight` is what a digit adds to the exponent: 1 decimal, 4 hexadecimal.
bool isHuge(std::string_view text, char exponentMark, int digitWeight)
{
    constexpr std::int64_t kFar = 1'000'000'000'000;
    std::int64_t leading = 0; // exponent of the first nonzero digit
    bool found = false;
    bool afterPoint = false;
    std::size_t i = 0;
    for (; i < text.size() && (text[i] | 0x20) != exponentMark; ++i) {
        if (text[i] == '.') {
            afterPoint = true;
            continue;
        }
        if (digitValue(text[i]) != 0)
            found = true;
        if (found && !afterPoint)
            leading += digitWeight;
        if (!found && afterPoint)
            leading -= digitWeight;
    }
    std::int64_t exponent = 0;
    if (i < text.size()) {
        std::string_view digits = text.substr(i + 1);
        if (digits.starts_with('+'))
            digits.remove_prefix(1);
        if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
            exponent = digits.starts_with('-') ? -kFar : kFar;
    }
    return leading + exponent > 0;
}

template <typename T>
std::optional<T> parseMagnitude(std::string_view text)
{
    if (equalsIgnoringCase(text, "inf") || equalsIgnoringCase(text, "infinity"))
        return std::numeric_limits<T>::infinity();
    if (equalsIgnoringCase(text, "nan"))
        return std::numeric_limits<T>::quiet_NaN();
    if (text.starts_with("2^")) {
        int exponent = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + 2, end, exponent);
        if (stop != end || error == std::errc::invalid_argument)
            return std::nullopt;
        if (error == std::errc::result_out_of_range)
            return text.starts_with("2^-") ? T(0) : std::numeric_limits<T>::infinity();
        return std::ldexp(T(1), exponent);
    }
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex)
        text.remove_prefix(2);
    // The first character has to belong to a number: from_chars would also take a second sign, "inf" or "nan(...)".
    if (text.empty() || (text.front() != '.' && digitValue(text.front()) < 0) || (!hex && digitValue(text.front()) > 9))
        return std::nullopt;
    T value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] =
        std::from_chars(text.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
    if (stop != end || error == std::errc::invalid_argument)
        return std::nullopt;
    if (error == std::errc::result_out_of_range)
        return isHuge(text, hex ? 'p' : 'e', hex ? 4 : 1) ? std::numeric_limits<T>::infinity() : T(0);
    return value;
}

template <typename T>
std::optional<T> parseReal(std::string_view text)
{
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+'))
        text.remove_prefix(1);
    const std::optional<T> magnitude = parseMagnitude<T>(text);
    if (!magnitude)
        return std::nullopt;
    return negative ? -*magnitude : *magnitude;
}

template <typename T>
std::optional<T> parseWhole(std::string_view text)
{
    if (text.starts_with('+'))
        text.remove_prefix(1);
    T value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (stop == end && error == std::errc())
        return value;
    // Other forms, as far as a double holds every whole number.
    const std::optional<double> real = parseReal<double>(text);
    constexpr double kExact = 9007199254740992.0; // 2^53
    if (!real || !(std::abs(*real) <= kExact) || *real != std::trunc(*real))
        return std::nullopt;
    if (std::is_unsigned_v<T> && *real < 0)
        return std::nullopt;
    return static_cast<T>(*real);
}

} // namespace

std::string numberText(double value) { return shortestFloat(value); }
std::string numberText(float value) { return shortestFloat(value); }
std::string numberText(std::int64_t value) { return shortest(value); }
std::string numberText(std::uint64_t value) { return shortest(value); }

std::optional<float> parseFloat(std::string_view text) { return parseReal<float>(text); }
std::optional<double> parseDouble(std::string_view text) { return parseReal<double>(text); }
std::optional<std::int64_t> parseInteger(std::string_view text) { return parseWhole<std::int64_t>(text); }
std::optional<std::uint64_t> parseUnsigned(std::string_view text) { return parseWhole<std::uint64_t>(text); }

std::string powerText(double value)
{
    if (std::isfinite(value) && value > 0) {
        int exponent = 0;
        if (std::frexp(value, &exponent) == 0.5) // frexp's mantissa is in [0.5, 1)
            return "2^" + numberText(static_cast<std::int64_t>(exponent - 1));
    }
    return numberText(value);
}

std::string fixedText(double value, int decimals)
{
    if (!std::isfinite(value))
        return numberText(value);
    std::array<char, 400> buffer; // a double has at most 309 digits before the point
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return std::string(buffer.data(), end);
}

} // namespace halfscope
