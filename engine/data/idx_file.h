// SPDX-License-Identifier: GPL-3.0-or-later
// IDX, the format of MNIST and its relatives: a magic number, sizes, then bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halfscope {

struct IdxArray {
    std::vector<std::size_t> sizes; // one a dimension, the outermost first
    std::vector<std::uint8_t> bytes;
};

// More than any set of images that this is meant for; a header that says more is damaged.
inline constexpr std::size_t kMaxIdxBytes = std::size_t{1} << 30U;

// Reads a whole file, packed with gzip or not, of unsigned bytes with `lowest` to `highest` dimensions. Throws
// std::runtime_error with one sentence: missing, unreadable, not IDX, another type of number, another number of
// dimensions, a dimension of 0, larger than kMaxIdxBytes, shorter or longer than its header says, damaged.
IdxArray readIdx(const std::string& path, std::size_t lowest, std::size_t highest);

} // namespace halfscope
