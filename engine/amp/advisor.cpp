// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/advisor.h"

#include <algorithm>

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
    double highest = kHighestUsableScale;
    std::vector<const TapStatistics*> narrow;
    for (const TapStatistics& tap : clean->taps) {
        if (tap.tap == Tap::Activation || !isNarrow(tap.format) || !(tap.statistics.absMax > 0))
            continue;
        narrow.push_back(&tap);
        highest = std::min(highest,
                           floatFormat(tap.format).overflowFrom / (2.0 * static_cast<double>(tap.statistics.absMax)));
    }
    if (narrow.empty())
        return 0.0;
    const int top = std::min(static_cast<int>(std::floor(std::log2(highest))), 127);
    // Whether all but one in a thousand survive. A bin is lost when all of it is, so the count is never too high.
    const auto survives = [&](int exponent) {
        return std::all_of(narrow.begin(), narrow.end(), [&](const TapStatistics* tap) {
            const ExponentHistogram& bins = tap->statistics.histogram;
            const int limit = static_cast<int>(std::floor(std::log2(floatFormat(tap->format).flushUpTo))) - exponent;
            std::uint64_t lost = 0;
            for (int e = ExponentHistogram::kMinExponent; e < limit && e <= ExponentHistogram::kMaxExponent; ++e)
                lost += bins.at(e);
            return static_cast<double>(lost) < 1e-3 * static_cast<double>(tap->statistics.count());
        });
    };
    const int first = scale > 0 ? static_cast<int>(std::floor(std::log2(scale))) + 1 : -100;
    if (first > top)
        return 0.0;
    int found = first;
    while (found < top && !survives(found))
        ++found;
    return std::ldexp(1.0, found);
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
    seen->firstStep = m_standing ? m_standing->firstStep : m_first;
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
