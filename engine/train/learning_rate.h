// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/train/run_config.h"

namespace halfscope {

// The rate of the next update when `appliedSteps` updates have been made: skipped steps do not advance the schedule.
// Warm-up is linear from learningRate / warmupSteps; the cosine then falls to minLearningRate at decaySteps and stays.
float learningRateAt(const OptimizerConfig& config, std::int64_t appliedSteps);

} // namespace halfscope
