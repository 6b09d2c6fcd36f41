// SPDX-License-Identifier: GPL-3.0-or-later
// A comparison as tables: text, Markdown and CSV.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/compare/comparison_summary.h"

namespace halfscope {

inline constexpr std::string_view kNoSpeedClaim = "emulated: no speed claim";

// The table that people read: a header, then a row a format. Columns that nothing has a value for are left out.
std::vector<std::vector<std::string>> comparisonRows(const Comparison& comparison);
// What the numbers mean, and what went wrong: one sentence a line.
std::vector<std::string> comparisonNotes(const Comparison& comparison);
std::string comparisonText(const Comparison& comparison);
std::string comparisonMarkdown(const Comparison& comparison);

std::string runsCsv(const Comparison& comparison);    // a row a run
std::string summaryCsv(const Comparison& comparison); // a row a format
std::string curvesCsv(const Comparison& comparison);  // a row a run and step

// compare.csv, summary.csv and curves.csv; the folder is made. All of them are complete before the first appears.
// Throws std::runtime_error with one sentence that names the file.
void writeComparisonCsv(const std::filesystem::path& folder, const Comparison& comparison);

} // namespace halfscope
