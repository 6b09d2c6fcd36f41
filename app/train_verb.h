// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope train`: a run without a window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/run_setup.h"

namespace halfscope {

struct TrainOptions {
    ConfigOptions config;
    std::optional<std::int64_t> steps; // none: kDefaultSteps, or those of the replayed run
    std::string csvFolder;             // empty: no files
    std::string replay;                // run.json of an earlier run: its configuration and its commands
    std::vector<std::string> at;
    std::vector<std::string> injections;
    bool quiet = false;
    bool listSettings = false;
};
inline constexpr std::int64_t kDefaultSteps = 500;

int runTrain(const TrainOptions& options);

} // namespace halfscope
