// SPDX-License-Identifier: GPL-3.0-or-later
// FNV-1a, the hash that says whether two runs were trained on the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halfscope {

inline constexpr std::uint64_t kFnvStart = 0xCBF29CE484222325ULL;

// Bytes that come in pieces: hand the hash so far over as `start`.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t start = kFnvStart)
{
    std::uint64_t hash = start;
    for (const char c : bytes) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001B3ULL;
    }
    return hash;
}

inline std::uint64_t fnv1aBytes(const void* data, std::size_t size, std::uint64_t start = kFnvStart)
{
    return fnv1a({static_cast<const char*>(data), size}, start);
}

} // namespace halfscope
