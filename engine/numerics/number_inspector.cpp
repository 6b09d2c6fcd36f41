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

// Of hexadecimal or binary digits; binary ones may be set apart by '_', as sign_exponent_mantissa.
std::optional<std::uint32_t> parseDigits(std::string_view text)
{
    const bool binary = text.starts_with("0b") || text.starts_with("0B");
    if (binary || text.starts_with("0x") || text.starts_with("0X"))
        text.remove_prefix(2);
    std::string digits(text);
    if (binary)
        std::erase(digits, '_');
    std::uint32_t bits = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, bits, binary ? 2 : 16);
    if (digits.empty() || stop != end || error != std::errc())
        return std::nullopt;
    return bits;
}

std::string hexText(std::uint32_t bits, int width)
{
    const int digits = (width + 3) / 4;
    std::string text = "0x";
    for (int i = digits - 1; i >= 0; --i)
        text += "0123456789abcdef"[(bits >> (4 * i)) & 0xFU];
    return text;
}

std::string fieldsText(const FloatFormat& f, std::uint32_t bits)
{
    std::string text;
    for (int i = f.encodingBits - 1; i >= 0; --i) {
        text += (bits >> i & 1U) != 0 ? '1' : '0';
        if (i == f.encodingBits - 1 || i == f.mantissaBits)
            text += '_';
    }
    return text;
}

// |value - x|, exact to double's rounding; nan when there is no value.
double absoluteErrorOf(float value, float x)
{
    if (value == x)
        return 0.0;
    if (std::isnan(value) || std::isnan(x))
        return std::numeric_limits<double>::quiet_NaN();
    return std::abs(static_cast<double>(value) - static_cast<double>(x));
}

double relativeErrorOf(float value, float x)
{
    return value == x ? 0.0 : absoluteErrorOf(value, x) / std::abs(static_cast<double>(x));
}

// The pattern, without its sign, after which there are no finite numbers.
std::uint32_t largestPattern(const FloatFormat& f) { return encode(f.id, static_cast<float>(f.largest)); }

// The next number in the direction of larger magnitudes (1) or of zero (-1), as its pattern without the sign. Beyond
// infinity that is infinity, as IEEE 754's nextUp has it; nullopt of NaN, or beyond the largest number where there is
// no infinity.
std::optional<std::uint32_t> neighbour(const FloatFormat& f, std::uint32_t pattern, int direction)
{
    const std::uint32_t end = largestPattern(f) + (f.hasInfinity ? 1 : 0);
    if (pattern > end)
        return std::nullopt;
    if (direction > 0 && pattern == end)
        return f.hasInfinity ? std::optional(end) : std::nullopt;
    return direction > 0 ? pattern + 1 : pattern - 1;
}

// The number of the format after `bits` on the number line, upwards or downwards.
float nextNumber(const FloatFormat& f, std::uint32_t bits, bool upwards)
{
    const std::uint32_t signBit = 1U << (f.encodingBits - 1);
    const std::uint32_t pattern = bits & (signBit - 1);
    const bool negative = (bits & signBit) != 0;
    if (pattern == 0) // both zeros have the same neighbours
        return decode(f.id, upwards ? 1U : signBit | 1U);
    const auto next = neighbour(f, pattern, upwards == negative ? -1 : 1);
    return next ? decode(f.id, (bits & signBit) | *next) : std::numeric_limits<float>::quiet_NaN();
}

double ulpErrorOf(const FloatFormat& f, float value, float x)
{
    const double error = absoluteErrorOf(value, x);
    if (!std::isfinite(error) || error == 0.0)
        return error;
    // The grid around x: that of its octave, or of the subnormals.
    const int octave = std::max(std::ilogb(x), 1 - f.exponentBias);
    return std::ldexp(error, f.mantissaBits - octave);
}

ScaledNumber scaledNumber(FormatId format, float x, double scale)
{
    const auto factor = static_cast<float>(scale);
    const float product = x * factor;
    ScaledNumber n;
    n.valueClass = classify(format, product);
    if (x != 0.0F && product == 0.0F)
        n.valueClass = ValueClass::Flushed; // FP32 itself cannot hold the product
    if (std::isfinite(x) && std::isinf(product))
        n.valueClass = ValueClass::Saturating;
    n.value = roundTo(format, product) * static_cast<float>(1.0 / static_cast<double>(factor));
    n.relativeError = relativeErrorOf(n.value, x);
    return n;
}

} // namespace

std::optional<std::uint32_t> parsePattern(FormatId format, std::string_view text)
{
    const std::optional<std::uint32_t> bits = parseDigits(text);
    const int width = floatFormat(format).encodingBits;
    return bits && (width == 32 || *bits < 1U << width) ? bits : std::nullopt;
}

std::optional<float> parseInspected(std::string_view text)
{
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return parseFloat(text);
    const std::string_view key = text.substr(0, colon);
    const std::optional<FormatId> format = key == "bits" ? FormatId::Fp32 : parseFormat(key);
    const std::optional<std::uint32_t> bits =
        format ? parsePattern(*format, text.substr(colon + 1)) : std::optional<std::uint32_t>();
    return bits ? std::optional<float>(decode(*format, *bits)) : std::nullopt;
}

InspectedNumber inspect(FormatId format, float x, double scale)
{
    const FloatFormat& f = floatFormat(format);
    InspectedNumber n;
    n.format = format;
    n.bits = encode(format, x);
    n.bitsText = hexText(n.bits, f.encodingBits);
    n.fieldsText = fieldsText(f, n.bits);
    n.value = decode(format, n.bits);
    n.valueClass = classify(format, x);
    n.absoluteError = absoluteErrorOf(n.value, x);
    n.relativeError = relativeErrorOf(n.value, x);
    n.ulpError = ulpErrorOf(f, n.value, x);
    n.below = nextNumber(f, n.bits, false);
    n.above = nextNumber(f, n.bits, true);
    n.scaled = scaledNumber(format, x, scale);
    return n;
}

std::vector<InspectedNumber> inspectAll(float x, double scale)
{
    constexpr std::array kOrder = {FormatId::Fp16,    FormatId::Bf16,    FormatId::Tf32,
                                   FormatId::Fp8E4M3, FormatId::Fp8E5M2, FormatId::Fp32};
    std::vector<InspectedNumber> all;
    for (const FormatId format : kOrder)
        all.push_back(inspect(format, x, scale));
    return all;
}

} // namespace halfscope
