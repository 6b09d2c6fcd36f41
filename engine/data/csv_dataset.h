// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace halfscope {

inline constexpr std::size_t kMaxCsvClasses = 100;
inline constexpr std::size_t kMinCsvRows = 20;
inline constexpr std::size_t kMaxCsvLabel = 200; // characters: a label is a name in tables

// The two columns of a table of labels and texts.
struct LabelledTexts {
    std::vector<std::string> labels;
    std::vector<std::string> texts;  // not empty
    std::size_t rowsWithoutText = 0; // left out
};

// Reads label,text. A first row that names its columns ("label", "class", "category", "target", "sentiment" and "text",
// "sentence", "content", "message", "review", in either order) is a header; so is one whose label no other row has.
// Throws std::runtime_error with one sentence that names the line: what readTextFile() and parseCsv() refuse, a row
// without two columns, an empty label, one of more than kMaxCsvLabel characters.
LabelledTexts readLabelledTexts(const std::string& path);

// Characters as tokens, `context` of them: longer texts are cut, shorter ones filled up with a token of its own. A
// tenth of each label's texts is held out; a text that occurs more than once is on one side only. Throws
// std::runtime_error also for fewer than kMinCsvRows rows, fewer than 2 or more than kMaxCsvClasses labels.
std::unique_ptr<Dataset> makeCsv(const std::string& path, int context);

} // namespace halfscope
