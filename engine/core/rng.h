// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers that are the same on every machine, compiler and library: runs must be reproducible from their seed.
#pragma once

#include <cstdint>

namespace halfscope {

// A strong 64-bit mix: the `index`-th number of the stream `seed`, with no state in between (for dropout masks).
constexpr std::uint64_t hash64(std::uint64_t seed, std::uint64_t index)
{
    std::uint64_t z = seed + 0x9E3779B97F4A7C15ULL * (index + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// The same as a stream. The state is one number, so it can be saved and restored with a run.
class Rng {
public:
    explicit Rng(std::uint64_t seed) : m_seed(hash64(seed, 0x5EEDULL)) {}

    std::uint64_t next() { return hash64(m_seed, m_index++); }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; } // [0, 1)
    // Uniform in [0, bound); the bias is below 2^-32 for the bounds used here.
    std::uint64_t below(std::uint64_t bound)
    {
        return static_cast<std::uint64_t>((static_cast<__uint128_t>(next()) * bound) >> 64);
    }
    double normal(); // mean 0, deviation 1, by the inverse distribution: one number drawn each

    std::uint64_t seed() const { return m_seed; }
    std::uint64_t index() const { return m_index; }

private:
    std::uint64_t m_seed;
    std::uint64_t m_index = 0;
};

} // namespace halfscope
