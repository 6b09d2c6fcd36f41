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
    std::optional<std::int64_t> steps;  // none: as many as the experiment says, or the replayed run had
    std::optional<std::int64_t> epochs; // instead of steps
    std::string csvFolder;              // empty: no files
    std::string replay;                 // run.json of an earlier run: its configuration and its commands
    std::vector<std::string> at;
    std::vector<std::string> injections;
    bool continueOnCpu = false; // where the backend fails
    bool quiet = false;
    bool listSettings = false;
};

int runTrain(const TrainOptions& options);

} // namespace halfscope
