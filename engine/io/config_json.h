// SPDX-License-Identifier: GPL-3.0-or-later
// A RunConfig as JSON and back. The keys are those of settings_registry.h, always in its order:
//   { "format": "halfscope-config", "version": 1, "settings": { "seed": 1, "width": 128, ..., "precision.lm_head": ...
//   } }
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/train/run_config.h"

namespace halfscope {

inline constexpr int kConfigVersion = 1;

// Every setting, indented by two spaces, '\n' at the end.
std::string configToJson(const RunConfig& config);
// The "settings" object alone, `indent` spaces before each of its lines but the first: for files that hold more.
std::string settingsToJson(const RunConfig& config, int indent = 0);
// The settings of one group, as an object on one line.
std::string settingsToJson(const RunConfig& config, std::string_view group);

// Reads configToJson()'s text, or a run.json that has the same object as its member "configuration". Keys that are
// missing keep the value they have in `base`. Values may be numbers, booleans or the text that --set takes. Throws
// std::runtime_error with one sentence that says what and where; the configuration as a whole is not validated.
RunConfig configFromJson(std::string_view json, const RunConfig& base = defaultExperiment());
// The same from a file; the sentence names the file.
RunConfig loadConfigFile(const std::filesystem::path& file, const RunConfig& base = defaultExperiment());

} // namespace halfscope
