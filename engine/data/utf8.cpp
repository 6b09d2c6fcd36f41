// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/utf8.h"

#include <algorithm>

namespace halfscope {
namespace {

unsigned byteAt(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool isContinuation(unsigned byte) { return (byte & 0xC0U) == 0x80U; }

// Length of the well-formed sequence at `i`, 0 if there is none. The second byte's range excludes overlong forms
// (E0 80.., F0 80..), surrogates (ED A0..) and what lies above U+10FFFF (F4 90..); C0, C1 and F5.. never occur.
std::size_t sequenceLength(std::string_view text, std::size_t i)
{
    const unsigned lead = byteAt(text, i);
    if (lead < 0x80U)
        return 1;
    std::size_t length = 0;
    unsigned low = 0x80U;
    unsigned high = 0xBFU;
    if (lead >= 0xC2U && lead <= 0xDFU) {
        length = 2;
    } else if (lead >= 0xE0U && lead <= 0xEFU) {
        length = 3;
        low = lead == 0xE0U ? 0xA0U : low;
        high = lead == 0xEDU ? 0x9FU : high;
    } else if (lead >= 0xF0U && lead <= 0xF4U) {
        length = 4;
        low = lead == 0xF0U ? 0x90U : low;
        high = lead == 0xF4U ? 0x8FU : high;
    } else {
        return 0;
    }
    if (text.size() - i < length)
        return 0;
    const unsigned second = byteAt(text, i + 1);
    if (second < low || second > high)
        return 0;
    for (std::size_t k = 2; k < length; ++k) {
        if (!isContinuation(byteAt(text, i + k)))
            return 0;
    }
    return length;
}

} // namespace

std::optional<std::size_t> firstInvalidUtf8(std::string_view text)
{
    std::size_t i = 0;
    while (i < text.size()) {
        const std::size_t length = sequenceLength(text, i);
        if (length == 0)
            return i;
        i += length;
    }
    return std::nullopt;
}

std::u32string decodeUtf8(std::string_view text)
{
    std::u32string characters;
    characters.reserve(text.size());
    std::size_t i = 0;
    while (i < text.size()) {
        const unsigned lead = byteAt(text, i);
        const std::size_t length = lead < 0x80U ? 1 : lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
        // The lead byte of a sequence of length 2, 3, 4 carries 5, 4, 3 bits.
        unsigned value = length == 1 ? lead : lead & (0x7FU >> length);
        for (std::size_t k = 1; k < length; ++k)
            value = (value << 6U) | (byteAt(text, i + k) & 0x3FU);
        characters.push_back(static_cast<char32_t>(value));
        i += length;
    }
    return characters;
}

void appendUtf8(std::string& to, char32_t character)
{
    const auto value = static_cast<unsigned>(character);
    const auto put = [&to](unsigned byte) { to.push_back(static_cast<char>(byte)); };
    if (value < 0x80U) {
        put(value);
    } else if (value < 0x800U) {
        put(0xC0U | (value >> 6U));
        put(0x80U | (value & 0x3FU));
    } else if (value < 0x10000U) {
        put(0xE0U | (value >> 12U));
        put(0x80U | ((value >> 6U) & 0x3FU));
        put(0x80U | (value & 0x3FU));
    } else {
        put(0xF0U | (value >> 18U));
        put(0x80U | ((value >> 12U) & 0x3FU));
        put(0x80U | ((value >> 6U) & 0x3FU));
        put(0x80U | (value & 0x3FU));
    }
}

std::size_t countUtf8Characters(std::string_view text)
{
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(static_cast<unsigned char>(c)); }));
}

} // namespace halfscope
