// SPDX-License-Identifier: GPL-3.0-or-later
// The table behind settings_registry.h: how each key is read from and written into a RunConfig.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/settings_registry.h"

namespace halfscope {

struct SettingEntry {
    SettingInfo info;
    // False when the text is no allowed value; the configuration is then unchanged.
    std::function<bool(RunConfig&, std::string_view)> set;
    std::function<std::string(const RunConfig&)> get;
};

// In the order in which files and lists have them: `scaler` before its knobs, `precision` before its exceptions, so
// that setting all of them one after the other gives the configuration they were read from.
const std::vector<SettingEntry>& settingEntries();

inline constexpr std::string_view kModulePrecisionPrefix = "precision.";
inline constexpr std::string_view kModulePrecisionKey = "precision.MODULE";
inline constexpr std::string_view kPrecisionScheduleKey = "precision-schedule";

} // namespace halfscope
