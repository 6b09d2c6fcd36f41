// SPDX-License-Identifier: GPL-3.0-or-later
// Skipped steps: those that are part of the search for the scale, and those that are not.
#include "engine/amp/advisor_rule.h"

#include <algorithm>
#include <map>

#include "engine/amp/remedies.h"

namespace halfscope {

namespace {

// What is normal for a scaler that grows until it overflows.
struct Cycle {
    std::int64_t steps = 0; // from one overflow to the next, once the limit is found
    std::int64_t skips = 1; // that one visit to the limit takes

    explicit Cycle(const ScalerConfig& c)
    {
        const double octavesUp = std::log2(c.growthFactor);
        const double octavesDown = c.backoffRule == BackoffRule::Divide ? octavesUp : -std::log2(c.backoffFactor);
        const auto backoffs = static_cast<std::int64_t>(std::ceil(octavesUp / octavesDown - 1e-9));
        const auto growths = static_cast<std::int64_t>(std::ceil(octavesDown / octavesUp - 1e-9));
        const int paid = c.hysteresisKind == HysteresisKind::None ? 1 : std::max(1, c.hysteresis);
        skips = std::max<std::int64_t>(1, backoffs) - 1 + paid;
        steps = stepsToGrowth(c, false) * std::max<std::int64_t>(1, growths) + skips;
    }
};

struct Skip {
    std::int64_t step = 0;
    std::int16_t module = -1;
    std::int8_t tap = -1;
    bool probe = false;  // after a growth, and over once the scale had fallen again
    bool sought = false; // before the first applied step, or after the user raised the scale
};

class SkipRule : public AdvisorRule {
public:
    SkipRule()
    {
        m_watches = {FindingWatch(FindingKind::ProbeOverflow, 1, 1), FindingWatch(FindingKind::BackoffStreak, 1, 1),
                     FindingWatch(FindingKind::TensorOverflow, 1, 1), FindingWatch(FindingKind::AtFloor, 1, 1)};
    }

    void event(const Event& e, const RunFacts&) override
    {
        if (e.kind == EventKind::Overflow) {
            m_values = e.count;
            m_largest = static_cast<double>(e.largest);
        } else if (e.kind == EventKind::Command && e.key == "scale") {
            m_raisedAt = e.step;
        }
    }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        // A forward overflow, a loss that is lost or a spike of the user's is not the scale's doing.
        const bool overflow = r.foundInf && std::isfinite(r.loss) && r.forwardSaturatedModule < 0 &&
                              !facts.isSpiked(r.step) && facts.config.scaler.skipNonfinite;
        const Cycle cycle(facts.config.scaler);
        if (cycle.steps != m_cycle) { // what was normal before is not what is normal now
            m_skips.clear();
            m_since = r.step - 1;
            m_cycle = cycle.steps;
        }
        if (overflow)
            addSkip(r);
        else
            endStreak(cycle);
        m_window = std::clamp<std::int64_t>(4 * cycle.steps, kShortWindow, kLongWindow);
        while (!m_skips.empty() && m_skips.front().step <= r.step - m_window)
            m_skips.pop_front();
        if (r.scaleEvent == ScaleEvent::Grew || r.scaleEvent == ScaleEvent::Steered)
            m_grown = true;

        const bool floor = seeFloor(r, facts, overflow);
        const bool tensor = seeTensor(r, facts, cycle, floor, overflow);
        const bool streak = seeStreak(r, facts, cycle, floor);
        seeProbe(r, facts, cycle, floor || tensor || streak);
    }

private:
    static constexpr std::int64_t kShortWindow = 200;
    static constexpr std::int64_t kLongWindow = 100'000;
    static constexpr std::size_t kMostSkips = 1024; // of the newest; more are as telling
    static constexpr std::int64_t kCalm = 10;       // clean steps after which a streak is over
    static constexpr std::int64_t kFloorCalm = 20;
    static constexpr std::int64_t kRefresh = 50;
    static constexpr std::int64_t kRaiseLasts = 20; // steps after which an overflow is no longer put down to the user

    void addSkip(const StepRecord& r)
    {
        if (m_streak++ == 0) {
            m_scaleFrom = static_cast<double>(r.scale);
            m_afterGrowth = m_grown;
            m_atStart = r.appliedSteps == 0;
            m_sought = m_atStart;
        }
        m_scaleFrom = std::max(m_scaleFrom, static_cast<double>(r.scale));
        m_sought |= m_raisedAt > 0 && r.step < m_raisedAt + kRaiseLasts;
        m_clean = 0;
        m_skips.push_back({r.step, r.overflowModule, r.overflowTap, false, m_sought});
        if (m_skips.size() > kMostSkips)
            m_skips.pop_front();
    }

    void endStreak(const Cycle& cycle)
    {
        if (m_streak > 0) {
            const bool probe = m_afterGrowth && m_streak <= cycle.skips;
            for (std::size_t i = 0; probe && i < static_cast<std::size_t>(m_streak) && i < m_skips.size(); ++i)
                m_skips[m_skips.size() - 1 - i].probe = true;
            m_grown = false;
            m_streak = 0;
        }
        ++m_clean;
    }

    static std::vector<std::int16_t> moduleOf(std::int16_t module)
    {
        return module < 0 ? std::vector<std::int16_t>() : std::vector<std::int16_t>{module};
    }

    void addFormatRemedies(Finding& f, const RunFacts& facts) const
    {
        const std::vector<std::int16_t> sources = facts.narrowSources(f.modules);
        if (sources.empty())
            return;
        f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, sources, facts.info.modules));
        const bool toBf16 = std::ranges::all_of(sources, [&](std::int16_t source) {
            const auto module = static_cast<std::size_t>(source);
            const std::vector<FormatId> allowed = allowedFormats(facts.info.modules.at(module).kind);
            return RunFacts::isNarrow(facts.plan[module]) &&
                   std::find(allowed.begin(), allowed.end(), FormatId::Bf16) != allowed.end();
        });
        if (toBf16)
            f.remedies.push_back(formatRemedy(RemedyKind::ModulesToBf16, sources, facts.info.modules));
    }

    bool seeFloor(const StepRecord& r, const RunFacts& facts, bool overflow)
    {
        const ScalerConfig& c = facts.config.scaler;
        // Over at once where the bound was lowered, or somebody raised the scale.
        if (m_floor && (c.minScale < m_floor->limit || static_cast<double>(r.scale) > 2.0 * m_floor->scale))
            m_floor.reset();
        const bool at = overflow && (r.scaleEvent == ScaleEvent::AtMinimum || r.scaleEvent == ScaleEvent::AtThreshold);
        const bool below = overflow && c.minScale == kNoMinimum && r.scaleNext < 1.0F && m_streak >= 3;
        if (at || below)
            m_floor = Finding();
        if (!m_floor || m_clean >= kFloorCalm) {
            m_floor.reset();
            m_watches[3].observe(r.step, std::nullopt);
            return false;
        }
        Finding& f = *m_floor;
        f.severity = Severity::Error;
        if (overflow) {
            f.count = m_streak;
            f.scale = static_cast<double>(r.scaleNext);
            f.limit = std::max(c.minScale, r.scaleEvent == ScaleEvent::AtThreshold ? c.threshold : 0.0);
            f.modules = moduleOf(r.overflowModule);
            f.tap = r.overflowTap;
            f.remedies.clear();
            addFormatRemedies(f, facts);
            f.remedies.push_back(allBf16Remedy());
            if (f.limit > 1)
                f.remedies.push_back(settingRemedy(RemedyKind::LowerMinScale, "min-scale", 1.0));
            f.remedies.push_back(allFp32Remedy());
        }
        if (overflow || !m_watches[3].standing())
            m_watches[3].observe(r.step, f);
        return true;
    }

    bool seeStreak(const StepRecord& r, const RunFacts& facts, const Cycle& cycle, bool floor)
    {
        const bool now = m_streak >= std::max<std::int64_t>(3, cycle.skips + 2) && !floor;
        const bool standing = m_watches[1].standing().has_value();
        if (!now) {
            if (!standing || m_clean >= kCalm || floor)
                m_watches[1].observe(r.step, std::nullopt);
            return m_watches[1].standing().has_value();
        }
        Finding f;
        f.severity = m_atStart ? Severity::Advice : Severity::Warning;
        f.firstStep = r.step - m_streak + 1;
        f.count = m_streak;
        f.scaleFrom = m_scaleFrom;
        f.scale = static_cast<double>(r.scaleNext);
        f.atStart = m_atStart;
        f.injected = m_sought && !m_atStart;
        f.modules = moduleOf(r.overflowModule);
        f.tap = r.overflowTap;
        // Where clean gradients have been seen they say where the scale must go; otherwise a large step down.
        const double better = facts.betterScale(0.0);
        const double down =
            better > 0 && better < f.scale ? better : std::max(f.scale / 256, lowestScale(facts.config.scaler));
        if (facts.config.scaler.enabled && down < f.scale)
            f.remedies.push_back(scaleRemedy(down, facts.config.scaler));
        f.remedies.push_back(allFp32Remedy());
        m_watches[1].observe(r.step, std::move(f));
        return true;
    }

    bool seeTensor(const StepRecord& r, const RunFacts& facts, const Cycle& cycle, bool floor, bool overflow)
    {
        // Between two skips nothing is learnt but that they lie further back.
        if (!overflow && !floor && r.step % kShortWindow != 0)
            return m_watches[2].standing().has_value();
        std::map<std::pair<int, int>, std::int64_t> culprits;
        std::int64_t unexpected = 0;
        std::int64_t all = 0;
        for (const Skip& s : m_skips) {
            if (s.sought)
                continue;
            ++all;
            if (s.module >= 0)
                ++culprits[{s.module, s.tap}];
            unexpected += s.probe ? 0 : 1;
        }
        const auto worst = std::max_element(culprits.begin(), culprits.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
        const double span = static_cast<double>(std::min(m_window, r.step));
        const double normal = static_cast<double>(cycle.skips) * (span / static_cast<double>(cycle.steps) + 1.0);
        const bool many = static_cast<double>(all) > 2.0 * normal && unexpected >= 4;
        if (floor || !many || worst == culprits.end() || 5 * worst->second < 4 * all) {
            m_watches[2].observe(r.step, std::nullopt);
            return false;
        }
        Finding f;
        f.severity = Severity::Warning;
        f.modules = moduleOf(static_cast<std::int16_t>(worst->first.first));
        f.tap = static_cast<std::int8_t>(worst->first.second);
        f.count = worst->second;
        f.of = all;
        f.window = static_cast<std::int64_t>(span);
        f.values = m_values;
        f.largest = m_largest;
        f.scale = static_cast<double>(r.scaleNext);
        addFormatRemedies(f, facts);
        if (facts.config.scaler.dynamic && facts.config.scaler.enabled)
            f.remedies.push_back(settingRemedy(RemedyKind::CapScale, "max-scale", f.scale));
        m_watches[2].observe(r.step, std::move(f));
        return true;
    }

    void seeProbe(const StepRecord& r, const RunFacts& facts, const Cycle& cycle, bool trouble)
    {
        const Skip* first = nullptr;
        const Skip* newest = nullptr;
        for (const Skip& s : m_skips) {
            first = s.probe && first == nullptr ? &s : first;
            newest = s.probe ? &s : newest;
        }
        const auto all = static_cast<std::int64_t>(m_skips.size());
        const std::int64_t span = std::min(m_window, r.step - m_since);
        // At most one visit to the limit more than there is room for.
        const bool normal = all <= cycle.skips * (span / cycle.steps + 1);
        if (newest == nullptr || !normal || trouble || !facts.config.scaler.dynamic || !facts.config.scaler.enabled) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (m_watches[0].standing() && m_watches[0].standing()->count == all && r.step % kRefresh != 0)
            return; // numbers that change at every step cannot be read
        Finding f;
        f.severity = Severity::Note;
        f.firstStep = first->step;
        f.count = all;
        f.window = span;
        f.of = cycle.steps / cycle.skips;
        f.modules = moduleOf(newest->module);
        f.tap = newest->tap;
        m_watches[0].observe(r.step, std::move(f));
    }

    std::deque<Skip> m_skips; // in the window
    std::int64_t m_window = kShortWindow;
    std::int64_t m_cycle = 0;   // its length, as the scaler is set
    std::int64_t m_since = 0;   // the last step before it was set so
    std::int64_t m_streak = 0;  // skips in a row, up to now
    std::int64_t m_clean = 0;   // steps in a row without an overflow
    double m_scaleFrom = 0.0;   // the largest of the streak
    bool m_grown = false;       // since the last streak
    bool m_afterGrowth = false; // as the streak began
    bool m_atStart = false;
    bool m_sought = false;
    std::int64_t m_raisedAt = 0; // the step of the user's last command for the scale
    std::uint64_t m_values = 0;  // of the newest skip
    double m_largest = 0.0;
    std::optional<Finding> m_floor;
};

class ForwardOverflowRule : public AdvisorRule {
public:
    ForwardOverflowRule() { m_watches = {FindingWatch(FindingKind::ForwardOverflow, 1, 1)}; }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        if (r.forwardSaturatedModule >= 0) {
            m_steps.push_back(r.step);
            m_module = r.forwardSaturatedModule;
            if (!std::isfinite(r.loss))
                m_lost = r.step;
        }
        while (!m_steps.empty() && m_steps.front() <= r.step - kWindow)
            m_steps.pop_front();
        if (m_steps.empty()) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (m_watches[0].standing() && r.forwardSaturatedModule < 0)
            return; // the numbers are of the newest one, and hold still
        Finding f;
        f.lossLost = m_lost > r.step - kWindow && m_lost > 0;
        f.severity = f.lossLost ? Severity::Error : Severity::Warning;
        f.modules = {m_module};
        f.tap = static_cast<std::int8_t>(Tap::Activation);
        f.count = static_cast<std::int64_t>(m_steps.size());
        f.of = std::min(kWindow, r.step);
        const auto module = static_cast<std::size_t>(m_module);
        const bool narrow = module < facts.plan.size() && RunFacts::isNarrow(facts.plan[module]);
        if (narrow) {
            f.remedies.push_back(formatRemedy(RemedyKind::ModulesToBf16, f.modules, facts.info.modules));
            f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, f.modules, facts.info.modules));
        }
        f.remedies.push_back(allBf16Remedy());
        if (!facts.config.measureActivations)
            f.remedies.push_back(settingRemedy(RemedyKind::MeasureActivations, "activations", "on"));
        m_watches[0].observe(r.step, std::move(f));
    }

private:
    static constexpr std::int64_t kWindow = 50;
    std::deque<std::int64_t> m_steps; // in the window
    std::int16_t m_module = -1;
    std::int64_t m_lost = 0; // the last step whose loss was lost as well
};

} // namespace

void addOverflowRules(AdvisorRules& rules)
{
    rules.push_back(std::make_unique<SkipRule>());
    rules.push_back(std::make_unique<ForwardOverflowRule>());
}

} // namespace halfscope
