// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/numerics/number_inspector.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/core/number_text.h"

namespace halfscope {

namespace {

std::optional<float> parseBits(std::string_view text)
{
    if (text.starts_with("0x") || text.starts_with("0X"))
        text.remove_prefix(2);
    std::uint32_t bits = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, bits, 16);
    if (text.empty() || stop != end || error != std::errc())
        return std::nullopt;
    return std::bit_cast<float>(bits);
}

std::string hexText(std::uint32_t bits, int width)
{
    const int digits = (width + 3) / 4;
    std::string text = "0x";
    for (int i = digits - 1; i >= 0; --i)
        text += "0123456789abcdef"[(bits >> (4 * i)) & 0xFU];
    return text;
}

double relativeErrorOf(float value, float x)
{
    if (value == x)
        return 0.0;
    if (std::isnan(value) || std::isnan(x))
        return std::numeric_limits<double>::quiet_NaN();
    const auto exact = static_cast<double>(x);
    return std::abs(static_cast<double>(value) - exact) / std::abs(exact);
}

} // namespace

std::optional<float> parseInspected(std::string_view text)
{
    constexpr std::string_view prefix = "bits:";
    if (text.starts_with(prefix))
        return parseBits(text.substr(prefix.size()));
    return parseFloat(text);
}

InspectedNumber inspect(FormatId format, float x)
{
    InspectedNumber n;
    n.format = format;
    n.bits = encode(format, x);
    n.bitsText = hexText(n.bits, floatFormat(format).encodingBits);
    n.value = decode(format, n.bits);
    n.valueClass = classify(format, x);
    n.relativeError = relativeErrorOf(n.value, x);
    return n;
}

std::vector<InspectedNumber> inspectAll(float x)
{
    constexpr std::array kOrder = {FormatId::Fp16,    FormatId::Bf16,    FormatId::Tf32,
                                   FormatId::Fp8E4M3, FormatId::Fp8E5M2, FormatId::Fp32};
    std::vector<InspectedNumber> all;
    for (const FormatId format : kOrder)
        all.push_back(inspect(format, x));
    return all;
}

} // namespace halfscope
