// SPDX-License-Identifier: GPL-3.0-or-later
// What a conversion must give, found without the code under test: the list of all numbers of a format, straight from
// the definition of its layout, and a search for the nearest one in exact arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/cpu_features.h"
#include "engine/numerics/float_format.h"

namespace halfscope::test {

struct Layout {
    FormatId id;
    int exponentBits;
    int mantissaBits;
    bool ieee; // the top exponent is infinity and NaN; else (E4M3) only the pattern of all ones is NaN
};
inline constexpr Layout kFp16{FormatId::Fp16, 5, 10, true};
inline constexpr Layout kBf16{FormatId::Bf16, 8, 7, true};
inline constexpr Layout kTf32{FormatId::Tf32, 8, 10, true};
inline constexpr Layout kE4M3{FormatId::Fp8E4M3, 4, 3, false};
inline constexpr Layout kE5M2{FormatId::Fp8E5M2, 5, 2, true};

class FormatOracle {
public:
    explicit FormatOracle(const Layout& layout);

    const Layout& layout() const { return m_layout; }
    // Values of the patterns 0 .. largest finite, ascending; then one more: the number that would follow if the
    // exponent had no upper end. Rounding to that one is overflow.
    const std::vector<double>& magnitudes() const { return m_magnitudes; }
    std::uint32_t largestPattern() const { return static_cast<std::uint32_t>(m_magnitudes.size()) - 2; }
    std::uint32_t signBit() const { return 1U << (m_layout.exponentBits + m_layout.mantissaBits); }

    std::uint32_t encode(float value) const;
    float decode(std::uint32_t pattern) const;

private:
    Layout m_layout;
    std::vector<double> m_magnitudes;
};

// Every finite number and, around every boundary between two neighbours (the one to overflow included), the boundary
// and the two FP32 numbers next to it; both signs; then infinities and NaNs with various payloads.
std::vector<float> boundaryValues(const FormatOracle& oracle);

// The instruction sets this CPU can run, lowest first.
std::vector<SimdLevel> availableLevels();

// Sets the level for the lifetime of the object.
class LevelGuard {
public:
    explicit LevelGuard(SimdLevel level) : m_before(activeSimdLevel()) { setSimdLevel(level); }
    ~LevelGuard() { setSimdLevel(m_before); }
    LevelGuard(const LevelGuard&) = delete;
    LevelGuard& operator=(const LevelGuard&) = delete;

private:
    SimdLevel m_before;
};

// Element i of an array in `format`'s storage, as the bits of encode().
std::uint32_t storedBits(FormatId format, const void* data, std::size_t i);

} // namespace halfscope::test
