// SPDX-License-Identifier: GPL-3.0-or-later
// Precision that changes with the stage of training: "0:fp32;200:mixed-fp16;800:lm_head=fp32".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/numerics/float_format.h"

namespace halfscope {

struct ScheduledPrecision {
    std::int64_t at = 0; // from this step on, or from the beginning of this epoch; 0 and step 1 are the start
    bool epochs = false; // "2e": epochs that have passed
    std::string preset;  // a preset of precision for all modules, or
    std::string module;  // this module alone
    FormatId format = FormatId::Fp32; // of the module
    bool operator==(const ScheduledPrecision&) const = default;

    // The first step it holds for. stepsPerEpoch >= 1.
    std::int64_t step(std::int64_t stepsPerEpoch) const;
    std::string text() const;
    std::string key() const;   // "precision" or "precision.h0.mlp.fc": the setting it sets
    std::string value() const; // "mixed-fp16", "fp32"
};
using PrecisionSchedule = std::vector<ScheduledPrecision>; // in the order they were written in

// One entry, as "200:mixed-fp16", "2e:lm_head=fp32"; `problem` says what is wrong with it. Whether the module exists
// and may have the format is for the settings' validate().
std::optional<ScheduledPrecision> parseScheduled(std::string_view text, std::string& problem);
// All entries, separated by ';'; nothing is an empty schedule. `problem` names the entry.
std::optional<PrecisionSchedule> parseSchedule(std::string_view text, std::string& problem);
std::string scheduleText(const PrecisionSchedule& schedule);

} // namespace halfscope
