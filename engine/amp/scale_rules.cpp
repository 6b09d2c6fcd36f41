// SPDX-License-Identifier: GPL-3.0-or-later
// The scaler itself: a scale that cannot grow, may not, or need not.
#include "engine/amp/advisor_rule.h"

#include <algorithm>
#include <utility>

#include "engine/amp/remedies.h"

namespace halfscope {

namespace {

class IntervalRule : public AdvisorRule {
public:
    IntervalRule() { m_watches = {FindingWatch(FindingKind::IntervalUnreached, 1, 1)}; }

    void event(const Event& e, const RunFacts&) override { m_set |= e.kind == EventKind::Command && e.key == "scale"; }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        const ScalerConfig& c = facts.config.scaler;
        const std::int64_t interval = stepsToGrowth(c, false);
        const bool moved = std::exchange(m_set, false) || r.scaleEvent == ScaleEvent::Grew ||
                           r.scaleEvent == ScaleEvent::GrowthCapped || r.scaleEvent == ScaleEvent::Steered;
        if (moved || !c.enabled || !c.dynamic || c.rule != ScalerRule::Dynamic || interval != m_interval) {
            m_interval = interval;
            m_since = r.step;
            m_skips = m_run = m_longest = 0;
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (r.foundInf && std::isfinite(r.loss)) {
            m_skips += facts.isSpiked(r.step) ? 0 : 1;
            m_run = 0;
        } else {
            m_longest = std::max(m_longest, ++m_run);
        }
        const std::int64_t without = r.step - m_since;
        if (without < 2 * interval || m_skips < 3 || m_longest >= interval)
            return;
        if (m_watches[0].standing() && m_watches[0].standing()->count == m_skips)
            return;
        Finding f;
        f.severity = Severity::Advice;
        f.count = m_skips;
        f.of = interval;
        f.window = without;
        f.value = static_cast<double>(m_longest);
        // Half the longest run is reached between many of the skips there are; where even that is short, nearly every
        // probe would be a skip, and the interval is not what is wrong.
        const std::int64_t reachable = m_longest / 2;
        if (reachable >= kShortestInterval && reachable < c.growthInterval)
            f.remedies.push_back(
                settingRemedy(RemedyKind::GrowthInterval, "growth-interval", static_cast<double>(reachable)));
        m_watches[0].observe(r.step, std::move(f));
    }

private:
    static constexpr std::int64_t kShortestInterval = 5;
    bool m_set = false; // somebody moved the scale
    std::int64_t m_interval = 0;
    std::int64_t m_since = 0; // the step of the last growth
    std::int64_t m_skips = 0; // since then
    std::int64_t m_run = 0;   // clean steps in a row
    std::int64_t m_longest = 0;
};

class CappedRule : public AdvisorRule {
public:
    CappedRule() { m_watches = {FindingWatch(FindingKind::GrowthCapped, 1, 1)}; }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        if (r.scaleEvent == ScaleEvent::GrowthCapped) {
            m_cap = r.scaleNext;
            m_limit = facts.config.scaler.maxScale;
        }
        const ScalerConfig& c = facts.config.scaler;
        const bool growthIsOff = !c.enabled || !c.dynamic || c.rule != ScalerRule::Dynamic;
        // Over when the scale has moved, or nothing holds it there any more.
        const bool lifted = m_limit != c.maxScale;
        if (r.scaleNext != m_cap || growthIsOff || (lifted && r.scaleEvent != ScaleEvent::GrowthCapped))
            m_cap = 0;
        if (m_cap == 0) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (r.scaleEvent != ScaleEvent::GrowthCapped)
            return; // once an interval is often enough for the numbers
        Finding f;
        f.scale = static_cast<double>(m_cap);
        f.limit = c.maxScale == kNoMaximum ? 0.0 : c.maxScale;
        f.value = std::numeric_limits<double>::quiet_NaN();
        if (r.bandAbsMax > 0) // of the gradients that the scale is for, in their format
            f.value = std::log2(floatFormat(r.bandFormat).overflowFrom / f.scale) -
                      std::log2(static_cast<double>(r.bandAbsMax));
        f.severity = f.value > 8 || std::isnan(f.value) ? Severity::Advice : Severity::Note;
        if (f.limit > 0)
            f.remedies.push_back(settingRemedy(RemedyKind::LiftMaxScale, "max-scale", std::string("none")));
        m_watches[0].observe(r.step, std::move(f));
    }

private:
    float m_cap = 0.0F;   // where growth was refused; 0: it was not
    double m_limit = 0.0; // max-scale then
};

class UselessScalerRule : public AdvisorRule {
public:
    UselessScalerRule() { m_watches = {FindingWatch(FindingKind::ScalerUseless, 1, 1)}; }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        const bool narrow =
            std::any_of(facts.plan.begin(), facts.plan.end(), [](FormatId f) { return RunFacts::isNarrow(f); });
        if (facts.plan.empty() || narrow || !facts.config.scaler.enabled) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (m_watches[0].standing())
            return;
        Finding f;
        f.severity = Severity::Note;
        f.scale = static_cast<double>(r.scale);
        f.remedies.push_back(settingRemedy(RemedyKind::ScalerOff, "scaler-mode", std::string("off")));
        m_watches[0].observe(r.step, std::move(f));
    }
};

} // namespace

void addScaleRules(AdvisorRules& rules)
{
    rules.push_back(std::make_unique<IntervalRule>());
    rules.push_back(std::make_unique<CappedRule>());
    rules.push_back(std::make_unique<UselessScalerRule>());
}

} // namespace halfscope
