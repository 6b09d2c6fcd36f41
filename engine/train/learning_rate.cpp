// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace halfscope {

float learningRateAt(const OptimizerConfig& config, std::int64_t appliedSteps)
{
    const double peak = config.learningRate;
    if (config.schedule == LearningRateSchedule::Constant)
        return config.learningRate;
    if (appliedSteps < config.warmupSteps)
        return static_cast<float>(peak * static_cast<double>(appliedSteps + 1) /
                                  static_cast<double>(config.warmupSteps));
    const auto decay = static_cast<double>(std::max<std::int64_t>(1, config.decaySteps - config.warmupSteps));
    const double progress = std::min(1.0, static_cast<double>(appliedSteps - config.warmupSteps) / decay);
    const double low = config.minLearningRate;
    return static_cast<float>(low + 0.5 * (peak - low) * (1.0 + std::cos(std::numbers::pi * progress)));
}

} // namespace halfscope
