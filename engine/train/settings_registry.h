// SPDX-License-Identifier: GPL-3.0-or-later
// Every setting by its key: the command line, configuration files, live edits and --list-settings all go through here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/run_config.h"

namespace halfscope {

struct SettingInfo {
    std::string_view key;     // "growth-interval"
    std::string_view group;   // "scaler", "model", "optimizer", "precision", "data", "statistics"
    std::string_view range;   // "integer 1 to 10^12"
    std::string_view meaning; // one line
    bool live = false;        // may change while the run goes on
};

const std::vector<SettingInfo>& settings(); // "precision.MODULE" is listed as such
const SettingInfo* findSetting(std::string_view key);
std::string nearestSetting(std::string_view key); // by edit distance

// Sets one value. Returns the problem, one sentence that names key, value and what is allowed (for an unknown key the
// nearest one), and then leaves config unchanged. Checks this value alone; validate() checks the whole.
std::optional<std::string> applySetting(RunConfig& config, std::string_view key, std::string_view value);
// A live edit: one setting, with what follows from it, and the whole checked as validate() does. Returns the problem
// and then leaves config unchanged.
std::optional<std::string> editSetting(RunConfig& config, std::string_view key, std::string_view value);
std::string settingNumber(double value); // shortest round trip; values that are FP32 as FP32
std::string settingValue(const RunConfig& config, std::string_view key); // as applySetting() would take it
// Sentences for everything that does not fit together (width and heads, min and max scale, module names, ...).
std::vector<std::string> validate(const RunConfig& config);

} // namespace halfscope
