// SPDX-License-Identifier: GPL-3.0-or-later
// From command-line texts to a run: its configuration and its commands at steps. All throw UsageError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/command.h"
#include "engine/train/experiments.h"
#include "engine/train/run_config.h"

namespace halfscope {

// The options that train and the window share.
struct ConfigOptions {
    std::string experiment; // a key of experiments(); empty: the default one
    std::string configFile;
    std::optional<std::string> text;
    std::optional<std::string> seed;
    std::vector<std::string> settings; // "key=value"
};

inline constexpr std::int64_t kMostSteps = 1'000'000'000'000; // of a run

struct TimedCommand {
    std::int64_t step = 1; // it counts from this step on
    Command command;
    bool recorded = false; // of an earlier run: a setting that only counts after a restart may be among them
};

const Experiment& chosenExperiment(const ConfigOptions& options);

// The experiment, then --config, then each --set in order, then --text and --seed; validated as a whole. `base` is
// where it starts instead of the experiment.
RunConfig buildConfig(const ConfigOptions& options, const std::optional<RunConfig>& base = std::nullopt);

// "STEP:key=value", the key a live setting or "scale".
TimedCommand parseAt(const std::string& text);
// "STEP:MODULE:FACTOR" (of the module's activation gradient), "STEP:MODULE/weight_grad:FACTOR", "STEP:bad-batch",
// "STEP:learning-rate:FACTOR".
TimedCommand parseInjection(const std::string& text);

// Sorts by step, keeping the order of equals, and checks every command against the configuration as it will then be.
void prepareCommands(std::vector<TimedCommand>& commands, const RunConfig& config, std::int64_t steps);

// The "key=value" of --set and --at, cut at the first '='.
std::pair<std::string, std::string> parseAssignment(const std::string& option, const std::string& text);

} // namespace halfscope
