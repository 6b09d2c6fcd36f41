// SPDX-License-Identifier: GPL-3.0-or-later
#include "format_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace halfscope::test {

FormatOracle::FormatOracle(const Layout& layout) : m_layout(layout)
{
    const int bias = (1 << (layout.exponentBits - 1)) - 1;
    const int fraction = 1 << layout.mantissaBits;
    const int patterns = 1 << (layout.exponentBits + layout.mantissaBits);
    const int finite = layout.ieee ? patterns - fraction : patterns - 1;
    for (int p = 0; p <= finite; ++p) {
        const int exponent = p / fraction;
        const int mantissa = p % fraction;
        m_magnitudes.push_back(exponent == 0
                                   ? std::ldexp(static_cast<double>(mantissa) / fraction, 1 - bias)
                                   : std::ldexp(1.0 + static_cast<double>(mantissa) / fraction, exponent - bias));
    }
}

std::uint32_t FormatOracle::encode(float value) const
{
    const std::uint32_t sign = std::signbit(value) ? signBit() : 0U;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) {
        if (!m_layout.ieee)
            return sign | (signBit() - 1U);
        const std::uint32_t payload = (bits & 0x7FFFFFU) >> (23 - m_layout.mantissaBits);
        return sign | (largestPattern() + 1U) | (1U << (m_layout.mantissaBits - 1)) | payload;
    }
    const double x = std::fabs(static_cast<double>(value));
    const auto above = std::lower_bound(m_magnitudes.begin(), m_magnitudes.end(), x);
    if (above == m_magnitudes.end())
        return sign | (largestPattern() + 1U);
    auto index = static_cast<std::uint32_t>(above - m_magnitudes.begin());
    if (*above != x) {
        // Both differences are exact: the three numbers are close and have at most 24 significant bits.
        const double up = *above - x;
        const double down = x - *(above - 1);
        if (down < up || (down == up && (index - 1) % 2 == 0))
            --index;
    }
    return sign | index;
}

float FormatOracle::decode(std::uint32_t pattern) const
{
    const std::uint32_t magnitude = pattern & (signBit() - 1U);
    const bool negative = (pattern & signBit()) != 0;
    if (magnitude <= largestPattern()) {
        const auto value = static_cast<float>(m_magnitudes[magnitude]);
        return negative ? -value : value;
    }
    std::uint32_t bits = negative ? 0xFF800000U : 0x7F800000U;
    const std::uint32_t mantissa = magnitude & ((1U << m_layout.mantissaBits) - 1U);
    if (!m_layout.ieee)
        bits |= 0x00400000U;
    else if (mantissa != 0)
        // BF16 and TF32 are read as they are, the others become quiet.
        bits |= mantissa << (23 - m_layout.mantissaBits) | (m_layout.exponentBits == 8 ? 0U : 0x00400000U);
    return std::bit_cast<float>(bits);
}

std::vector<float> boundaryValues(const FormatOracle& oracle)
{
    std::vector<float> values;
    const auto both = [&](float x) {
        values.push_back(x);
        values.push_back(-x);
    };
    const std::vector<double>& m = oracle.magnitudes();
    for (std::size_t i = 0; i + 1 < m.size(); ++i) {
        const auto middle = static_cast<float>((m[i] + m[i + 1]) / 2); // exact: at most one bit more than the format
        both(static_cast<float>(m[i]));
        both(std::nextafter(middle, 0.0F));
        both(middle);
        both(std::nextafter(middle, HUGE_VALF));
    }
    both(3.4028234663852886e38F);
    both(HUGE_VALF);
    for (const std::uint32_t payload : {1U, 0x400000U, 0x400001U, 0x7FFFFFU, 0x3FFFFFU, 0x200000U, 0x002000U, 0x1FFFU,
                                        0x555555U, 0x2AAAAAU, 0x010000U, 0x00FFFFU})
        for (const std::uint32_t sign : {0U, 0x80000000U})
            values.push_back(std::bit_cast<float>(sign | 0x7F800000U | payload));
    return values;
}

std::vector<SimdLevel> availableLevels()
{
    std::vector<SimdLevel> levels;
    for (const SimdLevel level : {SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512})
        if (level <= bestSimdLevel())
            levels.push_back(level);
    return levels;
}

std::uint32_t storedBits(FormatId format, const void* data, std::size_t i)
{
    const FloatFormat& f = floatFormat(format);
    const auto* at = static_cast<const unsigned char*>(data) + i * static_cast<std::size_t>(f.storageBytes);
    std::uint32_t bits = 0;
    if (f.storageBytes == 1) {
        bits = *at;
    } else if (f.storageBytes == 2) {
        std::uint16_t half;
        std::memcpy(&half, at, 2);
        bits = half;
    } else {
        std::memcpy(&bits, at, 4);
        bits >>= 32 - f.encodingBits;
    }
    return bits;
}

} // namespace halfscope::test
