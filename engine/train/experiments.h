// SPDX-License-Identifier: GPL-3.0-or-later
// Whole experiments to begin with: each a configuration that shows something within minutes on two cores.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/train/run_config.h"

namespace halfscope {

struct Experiment {
    std::string_view key;         // "digits"
    std::string_view name;        // "Digits"
    std::string_view description; // one sentence for people who choose
    RunConfig config;
    std::int64_t steps = 0; // how long `halfscope train` runs it unless told otherwise; 0: `epochs` of them
    std::int64_t epochs = 0;
};

std::span<const Experiment> experiments(); // the first is defaultExperiment()
const Experiment* findExperiment(std::string_view key);

} // namespace halfscope
