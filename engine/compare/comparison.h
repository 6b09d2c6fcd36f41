// SPDX-License-Identifier: GPL-3.0-or-later
// The same task, from the same seeds, in several formats: what was asked for, and what is known of it so far.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/memory_estimate.h"
#include "engine/train/run_config.h"

namespace halfscope {

struct ComparisonPlan {
    RunConfig base;                   // of all runs, but for what configOf() changes
    std::vector<std::string> formats; // keys of precisionPresets(), each once
    int seeds = 3;                    // base.seed, base.seed + 1, ...
    std::int64_t steps = 300;

    std::size_t runs() const { return formats.size() * static_cast<std::size_t>(seeds); }
    std::int64_t lastSteps() const; // whose mean is the final loss: a tenth of the steps, from 1 to 100
    bool operator==(const ComparisonPlan&) const = default;
};

inline constexpr int kMostSeeds = 1000;
inline constexpr std::int64_t kMostComparedSteps = 2'000'000; // of all runs together: the curves are kept

// One sentence on what cannot be compared; nullopt: all is well.
std::optional<std::string> problemOf(const ComparisonPlan& plan);
// One clause on the first difference that changes results, as "width is 64 there and 128 here"; nullopt: none.
std::optional<std::string> differenceOf(const ComparisonPlan& there, const ComparisonPlan& here);

// Run i is of format i % formats and seed i / formats: what was done first compares all formats already.
// The run's configuration: precision and seed are replaced, exceptions for single modules and changes in the course of
// the run dropped, gradients kept in a format with FP32's range train without a loss scale, and statistics are measured
// only where the scaler's rule needs it.
RunConfig configOf(const ComparisonPlan& plan, std::size_t run);

// How a backend computes the matrix products of a preset.
enum class Computed : std::uint8_t {
    Native,     // all of them
    LinearOnly, // those of the linear layers; attention is emulated exactly
    Emulated,   // exactly, at FP32's speed or less: its time says nothing about hardware
};
std::string_view computedKey(Computed c);  // "native", "linear-only", "emulated"
std::string_view computedText(Computed c); // "native", "linear layers native, attention emulated", "emulated exactly"
Computed computedBy(const Backend& backend, const ComparisonPlan& plan, const std::string& format);

enum class RunEnd : std::uint8_t { Completed, EndedEarly, Failed };
std::string_view runEndKey(RunEnd e); // "completed", "ended-early", "failed"

struct HeldOut {
    std::int64_t step = 0;
    double loss = 0.0;
    double accuracy = 0.0;
    bool operator==(const HeldOut&) const = default;
};

struct ComparedRun {
    std::string format;
    std::uint64_t seed = 0;
    std::string scaler; // its preset
    RunEnd end = RunEnd::Completed;
    std::string reason;           // where it did not complete
    std::vector<double> loss;     // of step i + 1; unscaled, may be nan or inf
    std::vector<double> accuracy; // likewise; empty where the task has none
    std::vector<HeldOut> heldOut; // rising steps
    std::int64_t skipped = 0;
    double finalScale = 1.0;
    double stepMs = 0.0; // median wall time of a step; this alone differs from time to time
    MemoryUse bytes;

    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    double finalLoss(std::int64_t lastSteps) const;     // mean of the last steps
    double finalAccuracy(std::int64_t lastSteps) const; // likewise
    double heldOutLoss() const { return heldOut.empty() ? kNone : heldOut.back().loss; }
    double heldOutAccuracy() const { return heldOut.empty() ? kNone : heldOut.back().accuracy; }
    bool operator==(const ComparedRun&) const = default;
};
using ComparedRunPtr = std::shared_ptr<const ComparedRun>;

// Of formats that are not emulated, trained in turn with FP32 in one process.
struct FormatSpeed {
    std::string format;
    double stepsPerSecond = 0.0;
    double relative = 0.0; // to FP32's: the median of the ratios of neighbouring blocks of steps
};

struct Comparison {
    ComparisonPlan plan;
    std::string backend; // its description; empty until a run began
    std::string data;    // its title
    std::uint64_t dataHash = 0;
    std::vector<Computed> computed;   // a format; empty until a run began
    bool speedMeasured = false;       // also where there was nothing to measure
    std::vector<FormatSpeed> speeds;  // formats that are emulated have none
    std::vector<ComparedRunPtr> runs; // plan.runs() of them; null: not done

    explicit Comparison(ComparisonPlan of = {}) : plan(std::move(of)), runs(plan.runs()) {}
    std::size_t done() const;
    bool finished() const { return done() == runs.size(); }
    const FormatSpeed* speedOf(std::string_view format) const; // null: no claim
    // So that they are tried again.
    void forgetFailures();
};

} // namespace halfscope
