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
    double scaleBefore = 1.0; // in force during the step
    double scaleAfter = 1.0;
    std::int64_t growthTracker = 0; // after the update
    int hysteresisLeft = 0;
    ScaleEvent event = ScaleEvent::None;
    bool raised = false; // the rule ends the run here, as the original raises
};
// What the step is called in files: "raised" where the rule ends the run, else scaleEventKey().
std::string_view simulatedEventKey(const SimulatedStep& step);

// Reads a sequence: '.' is a clean step, 'x' an overflowed one; a number before either repeats it ("2000.x"). White
// space is passed over. Throws std::invalid_argument with one sentence.
std::vector<bool> parseOverflows(std::string_view text);
inline constexpr std::size_t kMaxSimulatedSteps = 10'000'000;

// Called before each step with its number: the place for live edits.
using BeforeSimulatedStep = std::function<void(std::int64_t step, LossScaler& scaler)>;
// Called after each step; false ends the simulation.
using AfterSimulatedStep = std::function<bool(const SimulatedStep& step)>;

// Whether a step overflows, given its number and the scaler as it stands.
using OverflowRule = std::function<bool(std::int64_t step, const LossScaler& scaler)>;
OverflowRule overflowsOf(std::vector<bool> sequence);
OverflowRule overflowsAbove(double limit); // whenever the scale exceeds the limit: a closed loop

// Runs up to `steps` steps from the state the scaler has. Ends after a step that raised, or when `after` says so.
void simulate(LossScaler& scaler, std::int64_t steps, const OverflowRule& overflows, const BeforeSimulatedStep& before,
              const AfterSimulatedStep& after);
std::vector<SimulatedStep> simulate(const ScalerConfig& config, const std::vector<bool>& overflows);

} // namespace halfscope
