// SPDX-License-Identifier: GPL-3.0-or-later
// Does the runs of a comparison that are not done yet.
#pragma once

#include <functional>

#include "engine/compare/comparison.h"

namespace halfscope {

struct ComparisonProgress {
    enum class Phase : std::uint8_t { Speed, Training };
    Phase phase = Phase::Training;
    std::size_t run = 0;                  // the one under way
    const ComparedRun* current = nullptr; // what it has so far; null while speed is measured
    double share = 0.0;                   // of all steps there are to do, 0 to 1
    double secondsLeft = 0.0;             // an estimate; nan: not known yet
};

struct ComparisonHooks {
    // Asked after every step, and now and then while a model is made. False: give up; the run under way is dropped.
    std::function<bool(const ComparisonProgress&)> goOn;
    // After each run, and once the speed was measured: the moment to save.
    std::function<void(const Comparison&)> changed;
};

// True when all runs are done. A run that fails is recorded as such and the others go on; only what concerns all of
// them throws std::runtime_error, with one sentence: a backend that cannot be used, data that are not those of the runs
// done before.
bool runComparison(Comparison& comparison, const ComparisonHooks& hooks);

// The formats trained in turn, a block of steps each, so that whatever else the machine does hits all alike; the first
// one is what the others are relative to. Nullopt: `goOn` gave up.
std::optional<std::vector<FormatSpeed>> measureSpeeds(const std::vector<std::string>& formats,
                                                      const std::vector<RunConfig>& configs,
                                                      const std::function<bool(double share)>& goOn);

} // namespace halfscope
