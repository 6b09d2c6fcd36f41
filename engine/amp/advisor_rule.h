// SPDX-License-Identifier: GPL-3.0-or-later
// What the advisor's rules are made of. A rule looks at every step, keeps what it needs in bounded memory and says,
// step by step, whether its case is there; FindingWatch makes steady findings of that.
#pragma once

#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/amp/finding.h"

namespace halfscope {

// What all rules may look at besides the step itself.
struct RunFacts {
    RunInfo info;
    RunConfig config; // with live edits
    PrecisionPlan plan;
    std::deque<std::int64_t> spikedSteps;   // recent steps a gradient spike was injected into
    std::deque<std::int64_t> troubledSteps; // ... or a bad batch or a jump of the learning rate
    SnapshotPtr clean;                      // the newest snapshot of steps that were all applied

    bool isSpiked(std::int64_t step) const;
    bool isTroubled(std::int64_t step) const; // one of the few steps from an injection on
    // Whether values can be lost for their magnitude: FP16 and FP8, but not BF16, TF32 and FP32.
    static bool isNarrow(FormatId format) { return floatFormat(format).flushUpTo > 0x1p-100; }
    // The power of two, above `scale` (0: any), at which fewer than one value in a thousand of any narrow gradient
    // would be flushed and the largest still has an octave to overflow; where both cannot be had, the largest scale
    // that has the octave. 0: none above `scale` has it, or nothing was measured.
    double betterScale(double scale) const;
    // What to put in FP32 so that the gradients of `modules` are: themselves, or, for one that is in FP32 already, the
    // next module that is not, which reads its output and hands the gradient back in its own format. By module id.
    std::vector<std::int16_t> narrowSources(const std::vector<std::int16_t>& modules) const;
    bool isFp32(std::int16_t module) const;
};

// Says when a case that comes and goes becomes a finding and when that ends.
class FindingWatch {
public:
    // A case begins when seen at `begin` observations in a row and ends when not seen at `end`. `slot`: to tell apart
    // findings of one kind, below 4.
    FindingWatch(FindingKind kind, int begin, int end, int slot = 0);

    // One observation; `seen` holds the case's fields (kind, id and steps are set here, the first step unless the rule
    // knows it better), nothing when it is not there.
    void observe(std::int64_t step, std::optional<Finding> seen);
    const std::optional<Finding>& standing() const { return m_standing; }
    std::optional<Finding> takeEnded();
    std::uint64_t version() const { return m_version; }

private:
    FindingKind m_kind;
    int m_begin;
    int m_end;
    int m_id;
    int m_seen = 0;
    int m_missed = 0;
    std::int64_t m_first = 0;
    std::optional<Finding> m_standing;
    std::optional<Finding> m_ended;
    std::uint64_t m_version = 0;
};

class AdvisorRule {
public:
    virtual ~AdvisorRule() = default;
    virtual void event(const Event&, const RunFacts&) {}
    virtual void step(const StepRecord&, const RunFacts&) {}
    virtual void snapshot(const Snapshot&, const RunFacts&) {} // after step()
    virtual void shadow(const ShadowReport&, const RunFacts&) {}
    std::vector<FindingWatch>& watches() { return m_watches; }

protected:
    std::vector<FindingWatch> m_watches;
};

// The modules in whose moments' format Adam's epsilon is zero, and the update computed in it, as by torch.optim on half
// parameters; `limit`: the largest epsilon that is lost there.
std::vector<std::int16_t> modulesLosingEpsilon(const RunFacts& facts, double& limit);

using AdvisorRules = std::vector<std::unique_ptr<AdvisorRule>>;
void addOverflowRules(AdvisorRules& rules);  // skips: probe, streak, tensor, floor; forward overflow
void addScaleRules(AdvisorRules& rules);     // interval never reached, growth capped, scaler useless
void addGradientRules(AdvisorRules& rules);  // flushing, zero gradients, zero outputs, difference from FP32
void addLossRules(AdvisorRules& rules);      // loss not finite or jumping, validation
void addOptimizerRules(AdvisorRules& rules); // epsilon lost, updates lost

} // namespace halfscope
