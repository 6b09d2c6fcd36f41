// SPDX-License-Identifier: GPL-3.0-or-later
// The rules that keep the tree in order, as functions of a file's path and text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halfscope::test {

struct SourceFile {
    std::string path; // relative to the root: "engine/numerics/cast.h"
    std::string text;
};

// Sources, build files and scripts of ours below `root`; not what a build made.
std::vector<SourceFile> readTree(const std::filesystem::path& root);

// One sentence for each rule that the file breaks:
// - nothing under engine/ includes Qt, the window or the program; nothing under ui/ includes the program;
// - CUDA's headers are included below engine/backend/cuda/ and by its tests alone;
// - nothing switches on arithmetic that drops NaN, infinities, subnormals or the order of operations;
// - no file is longer than 700 lines;
// - the licence is named in the first line (the second, after a script's interpreter).
std::vector<std::string> brokenRules(const SourceFile& file);

} // namespace halfscope::test
