// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope compare`: the same task in several formats, without a window.
#pragma once

#include <optional>
#include <string>

#include "app/run_setup.h"

namespace halfscope {

struct CompareOptions {
    ConfigOptions config;
    std::string formats; // "fp32,mixed-fp16"; empty: kDefaultFormats
    std::string seeds;
    std::string steps;
    std::string csvFolder; // empty: no files, and nothing to go on from
    bool resume = false;
    bool quiet = false;
};
inline constexpr const char* kDefaultFormats = "fp32,mixed-fp16,mixed-bf16";

int runCompare(const CompareOptions& options);

} // namespace halfscope
