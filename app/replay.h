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
    std::string backend;    // that began it, as RunInfo::backend
    struct Continuation {
        std::int64_t step = 0;
        std::string backend;
    };
    std::vector<Continuation> continuations; // where it went on after a failure
};

// Throws UsageError with one sentence that names the file.
RecordedRun loadRecordedRun(const std::filesystem::path& file);

// Why a replay on `backend` may differ from the recorded steps, one sentence that names the file; empty: it may not.
// Every CPU gives the same bits, whatever its instructions and threads.
std::string replayDiffers(const RecordedRun& run, const std::string& backend, const std::string& file);

} // namespace halfscope
