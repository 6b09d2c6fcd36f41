// SPDX-License-Identifier: GPL-3.0-or-later
// What the formats of weights and moments do to the optimizer's work.
#include "engine/amp/advisor_rule.h"

#include <algorithm>
#include <map>

#include "engine/amp/remedies.h"

namespace halfscope {

namespace {

Remedy masterWeights() { return settingRemedy(RemedyKind::MasterWeights, "master-weights", std::string("on")); }

// Where weights and moments have one narrow format the update is worked out in it, operation by operation, as by
// torch.optim on half parameters: epsilon is rounded into it first.
class EpsilonRule : public AdvisorRule {
public:
    EpsilonRule() { m_watches = {FindingWatch(FindingKind::EpsilonLost, 1, 1)}; }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        const float epsilon = facts.config.optimizer.epsilon;
        Finding f;
        f.modules = modulesLosingEpsilon(facts, f.limit);
        if (f.modules.empty()) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        if (m_watches[0].standing() && m_watches[0].standing()->modules == f.modules &&
            m_watches[0].standing()->value == static_cast<double>(epsilon))
            return;
        f.severity = Severity::Warning;
        f.value = static_cast<double>(epsilon);
        f.remedies = {epsilonRemedy(), masterWeights()};
        m_watches[0].observe(r.step, std::move(f));
    }
};

// Updates that round to the weight they started from, over the newest measured steps. Where FP32 masters add them up
// they are only deferred, and nothing is wrong.
class LostUpdatesRule : public AdvisorRule {
public:
    LostUpdatesRule() { m_watches = {FindingWatch(FindingKind::UpdatesLost, 1, 1)}; }

    void snapshot(const Snapshot& snapshot, const RunFacts& facts) override
    {
        if (snapshot.updates.empty()) {
            if (!facts.config.measureUpdates) { // nobody looks any more
                m_modules.clear();
                m_watches[0].observe(snapshot.step, std::nullopt);
            }
            return;
        }
        std::vector<std::pair<double, std::int16_t>> worst;
        for (const ModuleUpdates& u : snapshot.updates) {
            const auto module = static_cast<std::size_t>(u.module);
            if (module >= facts.plan.size() ||
                facts.config.weightStorage.weights(facts.plan[module]) != storageFormat(u.format)) {
                m_modules.erase(u.module);
                continue;
            }
            Recent& recent = m_modules[u.module];
            recent.steps.push_back({u.statistics.lost, u.statistics.updates()});
            if (recent.steps.size() > kSteps)
                recent.steps.pop_front();
            const double share = recent.share();
            recent.listed = recent.steps.size() == kSteps && share >= (recent.listed ? kEnd : kBegin);
            if (recent.listed)
                worst.emplace_back(share, u.module);
        }
        if (worst.empty()) {
            m_watches[0].observe(snapshot.step, std::nullopt);
            return;
        }
        std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        Finding f;
        f.share = worst.front().first;
        f.severity = f.share >= 0.5 ? Severity::Warning : Severity::Advice;
        for (const auto& [share, module] : worst)
            f.modules.push_back(module);
        if (!facts.config.weightStorage.master)
            f.remedies.push_back(masterWeights());
        std::vector<std::int16_t> narrow = f.modules;
        std::sort(narrow.begin(), narrow.end());
        f.remedies.push_back(formatRemedy(RemedyKind::ModulesToFp32, narrow, facts.info.modules));
        m_watches[0].observe(snapshot.step, std::move(f));
    }

private:
    static constexpr double kBegin = 0.10;
    static constexpr double kEnd = 0.05;
    static constexpr std::size_t kSteps = 8;
    struct Recent {
        std::deque<std::pair<std::uint64_t, std::uint64_t>> steps; // lost, of all
        bool listed = false;                                       // among the modules of the finding

        double share() const
        {
            std::uint64_t lost = 0;
            std::uint64_t all = 0;
            for (const auto& [l, n] : steps) {
                lost += l;
                all += n;
            }
            return all == 0 ? 0.0 : static_cast<double>(lost) / static_cast<double>(all);
        }
    };
    std::map<std::int16_t, Recent> m_modules;
};

} // namespace

std::vector<std::int16_t> modulesLosingEpsilon(const RunFacts& facts, double& limit)
{
    std::vector<std::int16_t> modules;
    const WeightStorage& storage = facts.config.weightStorage;
    for (std::size_t i = 0; i < facts.plan.size() && i < facts.info.modules.size(); ++i) {
        const FormatId format = storage.weights(facts.plan[i]);
        if (facts.info.modules[i].parameters == 0 || format == FormatId::Fp32 ||
            storage.moments(facts.plan[i]) != format || roundTo(format, facts.config.optimizer.epsilon) != 0.0F)
            continue;
        modules.push_back(static_cast<std::int16_t>(i));
        limit = std::max(limit, floatFormat(format).flushUpTo);
    }
    return modules;
}

void addOptimizerRules(AdvisorRules& rules)
{
    rules.push_back(std::make_unique<EpsilonRule>());
    rules.push_back(std::make_unique<LostUpdatesRule>());
}

} // namespace halfscope
