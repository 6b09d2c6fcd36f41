// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope simulate`: a scaler's rule on a sequence of clean and overflowed steps.
#pragma once

#include <string>
#include <vector>

namespace halfscope {

struct SimulateOptions {
    std::string preset;                // empty: pytorch, or what the state file has
    std::string overflows;             // the sequence itself, or
    std::string overflowsFile;         // where it is; "-": the standard input; or
    std::string limit;                 // the scale above which steps overflow, and
    std::string steps;                 // how many
    std::string stateFile;             // to start from
    std::string saveStateFile;         // to leave behind
    std::vector<std::string> settings; // "key=value"
    std::vector<std::string> at;       // "STEP:key=value"
};

int runSimulate(const SimulateOptions& options);

} // namespace halfscope
