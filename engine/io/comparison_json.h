// SPDX-License-Identifier: GPL-3.0-or-later
// A comparison as a file, so that it can go on later: all that was asked for and all that is known, to the bit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/compare/comparison.h"

namespace halfscope {

inline constexpr const char* kComparisonFile = "comparison.json";

std::string comparisonToJson(const Comparison& comparison);
// Throws std::runtime_error with one sentence that says what is wrong.
Comparison comparisonFromJson(std::string_view json);

// The file appears whole or not at all. Both throw std::runtime_error with one sentence that names it.
void saveComparison(const std::filesystem::path& file, const Comparison& comparison);
Comparison loadComparison(const std::filesystem::path& file);

} // namespace halfscope
