// SPDX-License-Identifier: GPL-3.0-or-later
// What the measured tensors say: values lost to zero, tensors that are all zero, directions that rounding changes.
#include "engine/amp/advisor_rule.h"

#include <algorithm>
#include <map>

#include "engine/amp/remedies.h"

namespace halfscope {

namespace {

double flushedShare(std::uint64_t flushed, std::uint64_t count)
{
    return count == 0 ? 0.0 : static_cast<double>(flushed) / static_cast<double>(count);
}

bool allZero(const TensorStatistics& s)
{
    return s.count() > 0 && s.classes[ValueClass::Zero] + s.classes[ValueClass::Flushed] == s.count();
}

// The share of a module's values that are flushed, over the newest measured steps.
class RecentShare {
public:
    void add(const TensorStatistics& s, FormatId format)
    {
        if (format != m_format)
            m_steps.clear();
        m_format = format;
        m_steps.push_back({s.classes[ValueClass::Flushed], s.count()});
        if (m_steps.size() > kSteps)
            m_steps.pop_front();
    }
    double share() const
    {
        std::uint64_t flushed = 0;
        std::uint64_t count = 0;
        for (const auto& [f, n] : m_steps) {
            flushed += f;
            count += n;
        }
        return flushedShare(flushed, count);
    }
    bool full() const { return m_steps.size() == kSteps; }
    // Loses what a module of another format left behind.
    void clear() { m_steps.clear(); }

    bool listed = false; // among the modules of the finding

private:
    static constexpr std::size_t kSteps = 8;
    FormatId m_format = FormatId::Fp32;
    std::deque<std::pair<std::uint64_t, std::uint64_t>> m_steps;
};

class FlushingRule : public AdvisorRule {
public:
    FlushingRule()
    {
        for (const Tap tap : {Tap::WeightGrad, Tap::ActivationGrad})
            m_watches.emplace_back(FindingKind::Flushing, 1, 1, static_cast<int>(tap));
    }

    void snapshot(const Snapshot& snapshot, const RunFacts& facts) override
    {
        if (snapshot.skippedSteps > 0) // contaminated
            return;
        for (const TapStatistics& tap : snapshot.taps) {
            if (tap.tap == Tap::Activation)
                continue;
            RecentShare& recent = m_shares[{static_cast<int>(tap.tap), tap.module}];
            if (RunFacts::isNarrow(tap.format) && tap.ownScale == 0.0F) // FP8 flushes by design
                recent.add(tap.statistics, tap.format);
            else
                recent.clear();
        }
        for (const Tap tap : {Tap::WeightGrad, Tap::ActivationGrad})
            see(snapshot, tap, facts);
    }

private:
    static constexpr double kBegin = 0.01; // as the layers table marks it
    static constexpr double kEnd = 0.005;

    void see(const Snapshot& snapshot, Tap tap, const RunFacts& facts)
    {
        FindingWatch& watch = m_watches[static_cast<std::size_t>(tap)];
        std::vector<std::pair<double, std::int16_t>> worst;
        for (auto& [key, recent] : m_shares) {
            if (key.first != static_cast<int>(tap))
                continue;
            const double share = recent.share();
            recent.listed = recent.full() && share >= (recent.listed ? kEnd : kBegin);
            if (recent.listed)
                worst.emplace_back(share, key.second);
        }
        if (worst.empty()) {
            watch.observe(snapshot.step, std::nullopt);
            return;
        }
        std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        Finding f;
        f.tap = static_cast<std::int8_t>(tap);
        f.share = worst.front().first;
        f.severity = f.share >= 0.2 ? Severity::Warning : Severity::Advice;
        f.scale = static_cast<double>(snapshot.scale);
        for (const auto& [share, module] : worst)
            f.modules.push_back(module);
        f.count = std::ranges::count_if(f.modules, [&](std::int16_t module) { return facts.isFp32(module); });
        addRemedies(f, facts);
        // The order of the modules changes with the noise; a list that holds the same ones stays as it was.
        if (watch.standing() && sameModules(watch.standing()->modules, f.modules) &&
            watch.standing()->modules.front() == f.modules.front())
            f.modules = watch.standing()->modules;
        watch.observe(snapshot.step, std::move(f));
    }

    static bool sameModules(std::vector<std::int16_t> a, std::vector<std::int16_t> b)
    {
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        return a == b;
    }

    static void addRemedies(Finding& f, const RunFacts& facts)
    {
        const ScalerConfig& c = facts.config.scaler;
        f.limit = facts.betterScale(f.scale);
        if (!c.enabled)
            f.remedies.push_back(scalerOnRemedy());
        else if (f.limit > 0)
            f.remedies.push_back(scaleRemedy(f.limit, c));
        const std::vector<std::int16_t> sources = facts.narrowSources(f.modules);
        if (!sources.empty())
            f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, sources, facts.info.modules));
        f.remedies.push_back(allBf16Remedy());
    }

    std::map<std::pair<int, std::int16_t>, RecentShare> m_shares; // by tap and module
};

class ZeroGradientRule : public AdvisorRule {
public:
    ZeroGradientRule() { m_watches = {FindingWatch(FindingKind::ZeroGradients, 4, 3)}; }

    void snapshot(const Snapshot& snapshot, const RunFacts& facts) override
    {
        std::vector<std::int16_t> zero;
        std::size_t modules = 0;
        std::uint64_t flushed = 0;
        std::uint64_t count = 0;
        bool lostAbove = false; // an activation gradient that was not zero and is
        for (const TapStatistics& tap : snapshot.taps) {
            if (tap.tap == Tap::Activation || tap.statistics.count() == 0)
                continue;
            const bool none = allZero(tap.statistics);
            if (tap.tap == Tap::ActivationGrad) {
                lostAbove = lostAbove || (none && tap.statistics.classes[ValueClass::Flushed] > 0);
                continue;
            }
            ++modules;
            if (none) {
                zero.push_back(tap.module);
                flushed += tap.statistics.classes[ValueClass::Flushed];
                count += tap.statistics.count();
            }
        }
        if (zero.empty()) {
            m_watches[0].observe(snapshot.step, std::nullopt);
            return;
        }
        std::sort(zero.begin(), zero.end());
        Finding f;
        f.whole = zero.size() == modules;
        f.severity = f.whole ? Severity::Error : Severity::Warning;
        f.modules = zero;
        f.tap = static_cast<std::int8_t>(Tap::WeightGrad);
        f.scale = static_cast<double>(snapshot.scale);
        f.share = flushedShare(flushed, count);
        if (f.share == 0.0 && lostAbove)
            f.share = 1.0;
        if (f.share > 0) {
            const double better = facts.betterScale(f.scale);
            if (facts.config.scaler.enabled)
                f.remedies.push_back(
                    scaleRemedy(better > 0 ? better : std::min(f.scale * 1024, 65536.0), facts.config.scaler));
            else
                f.remedies.push_back(scalerOnRemedy());
        }
        f.remedies.push_back(allFp32Remedy());
        f.remedies.push_back(restartRemedy());
        m_watches[0].observe(snapshot.step, std::move(f));
    }
};

class ZeroOutputRule : public AdvisorRule {
public:
    ZeroOutputRule()
    {
        m_watches = {FindingWatch(FindingKind::ZeroOutputs, 4, 3), FindingWatch(FindingKind::ZeroOutputs, 10, 3, 1)};
    }

    void snapshot(const Snapshot& snapshot, const RunFacts& facts) override
    {
        Finding f;
        bool measured = false;
        for (const TapStatistics& tap : snapshot.taps) {
            measured = measured || tap.tap == Tap::Activation;
            if (tap.tap == Tap::Activation && allZero(tap.statistics))
                f.modules.push_back(tap.module);
        }
        if (f.modules.empty()) {
            if (measured || !facts.config.measureActivations)
                m_watches[0].observe(snapshot.step, std::nullopt);
            return;
        }
        std::sort(f.modules.begin(), f.modules.end());
        f.severity = Severity::Error;
        f.tap = static_cast<std::int8_t>(Tap::Activation);
        f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, f.modules, facts.info.modules));
        f.remedies.push_back(restartRemedy());
        m_watches[0].observe(snapshot.step, std::move(f));
    }

    // Without that measurement: equal logits for every class give a loss of exactly log(classes).
    void step(const StepRecord& r, const RunFacts& facts) override
    {
        const int classes = facts.info.data.classes > 0 ? facts.info.data.classes : facts.info.data.vocabulary;
        const double constant = std::log(static_cast<double>(classes));
        if (classes < 2 || !(std::abs(r.loss - constant) <= 1e-6 * constant)) {
            m_watches[1].observe(r.step, std::nullopt);
            return;
        }
        if (m_watches[1].standing())
            return;
        Finding f;
        f.severity = Severity::Error;
        f.whole = true;
        f.value = r.loss;
        if (!facts.config.measureActivations)
            f.remedies.push_back(settingRemedy(RemedyKind::MeasureActivations, "activations", std::string("on")));
        f.remedies.push_back(restartRemedy());
        m_watches[1].observe(r.step, std::move(f));
    }
};

class ShadowRule : public AdvisorRule {
public:
    ShadowRule() { m_watches = {FindingWatch(FindingKind::ShadowDeviates, 3, 3)}; }

    void shadow(const ShadowReport& report, const RunFacts& facts) override
    {
        const bool standing = m_watches[0].standing().has_value();
        std::vector<std::pair<double, const ShadowReport::Module*>> worst;
        for (const ShadowReport::Module& m : report.modules) {
            // A gradient that is all zero has no direction; its error is then 1. One that is not finite is another
            // rule's.
            const GradientComparison& g = m.gradient;
            const double cosine = std::isnan(g.cosine) && g.relativeError == 1.0 ? 0.0 : g.cosine;
            if (cosine < (standing ? kEnd : kBegin))
                worst.emplace_back(cosine, &m);
        }
        if (worst.empty()) {
            m_watches[0].observe(report.step, std::nullopt);
            return;
        }
        std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        Finding f;
        f.severity = worst.front().first < 0.8 ? Severity::Warning : Severity::Advice;
        f.value = worst.front().first;
        f.share = worst.front().second->gradient.relativeError;
        f.tap = static_cast<std::int8_t>(Tap::WeightGrad);
        for (const auto& [cosine, m] : worst)
            f.modules.push_back(m->module);
        const std::vector<std::int16_t> sources = facts.narrowSources(f.modules);
        const double scale = facts.clean ? static_cast<double>(facts.clean->scale) : 0.0;
        const double better = scale > 0 ? facts.betterScale(scale) : 0.0;
        if (better > 0 && facts.config.scaler.enabled)
            f.remedies.push_back(scaleRemedy(better, facts.config.scaler));
        if (!sources.empty())
            f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, sources, facts.info.modules));
        f.remedies.push_back(allFp32Remedy());
        m_watches[0].observe(report.step, std::move(f));
    }

private:
    static constexpr double kBegin = 0.95;
    static constexpr double kEnd = 0.97;
};

} // namespace

void addGradientRules(AdvisorRules& rules)
{
    rules.push_back(std::make_unique<FlushingRule>());
    rules.push_back(std::make_unique<ZeroGradientRule>());
    rules.push_back(std::make_unique<ZeroOutputRule>());
    rules.push_back(std::make_unique<ShadowRule>());
}

} // namespace halfscope
