// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a run.json back: seed, configuration and commands are the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/run_setup.h"

namespace halfscope {

struct RecordedRun {
    RunConfig config;
    std::vector<TimedCommand> commands;
    std::int64_t steps = 0; // how many were recorded
    std::string textHash;   // of what it trained on, as textHashText() writes it
};

// Throws UsageError with one sentence that names the file.
RecordedRun loadRecordedRun(const std::filesystem::path& file);

} // namespace halfscope
