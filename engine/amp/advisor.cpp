// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/advisor.h"

#include <algorithm>
#include <set>

#include "engine/amp/advisor_rule.h"

namespace halfscope {

namespace {

constexpr std::size_t kInjectionsKept = 64;
constexpr std::int64_t kTroubleLasts = 3; // steps in which an injection may show

template <typename T>
void keepNewest(std::deque<T>& queue, std::size_t count)
{
    while (queue.size() > count)
        queue.pop_front();
}

} // namespace

bool RunFacts::isSpiked(std::int64_t step) const
{
    return std::find(spikedSteps.begin(), spikedSteps.end(), step) != spikedSteps.end();
}

bool RunFacts::isTroubled(std::int64_t step) const
{
    return std::any_of(troubledSteps.begin(), troubledSteps.end(),
                       [step](std::int64_t at) { return step >= at && step < at + kTroubleLasts; });
}

double RunFacts::betterScale(double scale) const
{
    if (!clean)
        return 0.0;
    constexpr int kLowest = -126;
    constexpr int kHighest = 127;
    int needed = kLowest; // exponents of scales
    int top = kHighest;
    bool any = false;
    for (const TapStatistics& tap : clean->taps) {
        const TensorStatistics& s = tap.statistics;
        // A tensor with a scale of its own does not ask for another loss scale.
        if (tap.tap == Tap::Activation || tap.ownScale != 0.0F || !isNarrow(tap.format) || !(s.absMax > 0))
            continue;
        any = true;
        const FloatFormat& format = floatFormat(tap.format);
        const double room = format.overflowFrom / (2.0 * static_cast<double>(s.absMax));
        top = std::min(top, static_cast<int>(std::floor(std::log2(room))));
        // Bins that lie below `exponent` may be lost: together they hold less than one value in a thousand.
        std::uint64_t lost = 0;
        int exponent = ExponentHistogram::kMinExponent;
        while (exponent < ExponentHistogram::kMaxExponent &&
               static_cast<double>(lost += s.histogram.at(exponent)) < 1e-3 * static_cast<double>(s.count()))
            ++exponent;
        needed = std::max(needed, static_cast<int>(std::floor(std::log2(format.flushUpTo))) - exponent);
    }
    const int first = scale > 0 ? static_cast<int>(std::floor(std::log2(scale))) + 1 : kLowest;
    return !any || first > top ? 0.0 : std::ldexp(1.0, std::clamp(needed, first, top));
}

bool RunFacts::isFp32(std::int16_t module) const
{
    const auto i = static_cast<std::size_t>(module);
    return i >= plan.size() || plan[i] == FormatId::Fp32;
}

std::vector<std::int16_t> RunFacts::narrowSources(const std::vector<std::int16_t>& modules) const
{
    std::set<std::int16_t> sources;
    for (std::int16_t module : modules) {
        while (static_cast<std::size_t>(module) < plan.size() && isFp32(module))
            ++module;
        if (!isFp32(module))
            sources.insert(module);
    }
    return {sources.begin(), sources.end()};
}

FindingWatch::FindingWatch(FindingKind kind, int begin, int end, int slot)
    : m_kind(kind), m_begin(begin), m_end(end), m_id(4 * static_cast<int>(kind) + slot)
{
}

void FindingWatch::observe(std::int64_t step, std::optional<Finding> seen)
{
    if (!seen) {
        m_seen = 0;
        if (m_standing && ++m_missed >= m_end) {
            m_ended = std::move(m_standing);
            m_ended->ended = true;
            m_standing.reset();
            ++m_version;
        }
        return;
    }
    if (m_seen++ == 0 && !m_standing)
        m_first = step;
    m_missed = 0;
    if (!m_standing && m_seen < m_begin)
        return;
    seen->id = m_id;
    seen->kind = m_kind;
    if (m_standing)
        seen->firstStep = m_standing->firstStep;
    else if (seen->firstStep == 0)
        seen->firstStep = m_first;
    seen->lastStep = step;
    m_standing = std::move(seen);
    ++m_version;
}

std::optional<Finding> FindingWatch::takeEnded()
{
    std::optional<Finding> ended = std::move(m_ended);
    m_ended.reset();
    return ended;
}

Advisor::Advisor() : m_facts(std::make_unique<RunFacts>()) { makeRules(); }
Advisor::~Advisor() = default;
Advisor::Advisor(Advisor&&) noexcept = default;
Advisor& Advisor::operator=(Advisor&&) noexcept = default;

void Advisor::makeRules()
{
    m_rules.clear();
    addOverflowRules(m_rules);
    addScaleRules(m_rules);
    addGradientRules(m_rules);
    addLossRules(m_rules);
    addOptimizerRules(m_rules);
}

void Advisor::restart(const RunInfo& info)
{
    m_facts = std::make_unique<RunFacts>();
    m_facts->info = info;
    m_facts->config = info.config;
    m_findings.clear();
    m_ended.clear();
    ++m_version;
    m_watchVersion = 0;
    makeRules();
}

void Advisor::observe(const Telemetry& telemetry, const LiveState& live)
{
    RunFacts& facts = *m_facts;
    facts.config = live.config;
    facts.plan = live.plan;
    auto event = telemetry.events.begin();
    auto snapshot = telemetry.snapshots.begin();
    auto shadow = telemetry.shadows.begin();
    for (const StepRecord& record : telemetry.steps) {
        for (; event != telemetry.events.end() && event->step <= record.step; ++event)
            hear(*event);
        for (const auto& rule : m_rules)
            rule->step(record, facts);
        for (; snapshot != telemetry.snapshots.end() && (*snapshot)->step <= record.step; ++snapshot) {
            if ((*snapshot)->skippedSteps == 0)
                facts.clean = *snapshot;
            for (const auto& rule : m_rules)
                rule->snapshot(**snapshot, facts);
        }
        for (; shadow != telemetry.shadows.end() && (*shadow)->step <= record.step; ++shadow) {
            for (const auto& rule : m_rules)
                rule->shadow(**shadow, facts);
        }
        gather();
    }
    for (; event != telemetry.events.end(); ++event) // what was asked for the next step
        hear(*event);
}

void Advisor::hear(const Event& event)
{
    if (event.kind == EventKind::Injected) {
        (event.module >= 0 ? m_facts->spikedSteps : m_facts->troubledSteps).push_back(event.step);
        keepNewest(m_facts->spikedSteps, kInjectionsKept);
        keepNewest(m_facts->troubledSteps, kInjectionsKept);
    }
    if (event.kind == EventKind::HeadSwapped) { // the language model became a classifier; its modules are others
        m_facts->info.model.pretraining = false;
        m_facts->info.modules = listModules(m_facts->info.model);
    }
    for (const auto& rule : m_rules)
        rule->event(event, *m_facts);
}

void Advisor::gather()
{
    std::uint64_t version = 0;
    m_findings.clear();
    for (const auto& rule : m_rules) {
        for (FindingWatch& watch : rule->watches()) {
            version += watch.version();
            if (std::optional<Finding> ended = watch.takeEnded())
                m_ended.push_back(std::move(*ended));
            if (watch.standing())
                m_findings.push_back(*watch.standing());
        }
    }
    keepNewest(m_ended, kMostEnded);
    std::stable_sort(m_findings.begin(), m_findings.end(), [](const Finding& a, const Finding& b) {
        return a.severity != b.severity ? a.severity > b.severity : a.firstStep < b.firstStep;
    });
    if (version != m_watchVersion)
        ++m_version;
    m_watchVersion = version;
}

} // namespace halfscope
