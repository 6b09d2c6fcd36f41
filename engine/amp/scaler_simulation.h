// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the scaler's rule on a given sequence of clean and overflowed steps, without any model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/amp/loss_scaler.h"

namespace halfscope {

struct SimulatedStep {
    std::int64_t step = 0; // 1 is the first
    bool foundInf = false;
    bool skipped = false;
    float scaleBefore = 1.0F; // in force during the step
    float scaleAfter = 1.0F;
    std::int64_t growthTracker = 0; // after the update
    int hysteresisLeft = 0;
    ScaleEvent event = ScaleEvent::None;
};

// Reads a sequence: '.' is a clean step, 'x' an overflowed one; a number before either repeats it ("2000.x"). White
// space is passed over. Throws std::invalid_argument with one sentence.
std::vector<bool> parseOverflows(std::string_view text);
inline constexpr std::size_t kMaxSimulatedSteps = 10'000'000;

// Called before each step with its number: the place for live edits.
using BeforeSimulatedStep = std::function<void(std::int64_t step, LossScaler& scaler)>;
// Called after each step; false ends the simulation.
using AfterSimulatedStep = std::function<bool(const SimulatedStep& step)>;

void simulate(const ScalerConfig& config, const std::vector<bool>& overflows, const BeforeSimulatedStep& before,
              const AfterSimulatedStep& after);
std::vector<SimulatedStep> simulate(const ScalerConfig& config, const std::vector<bool>& overflows);

} // namespace halfscope
