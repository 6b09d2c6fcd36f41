// SPDX-License-Identifier: GPL-3.0-or-later
// The loss and the validation: what no loss scale is to blame for, mostly.
#include "engine/amp/advisor_rule.h"

#include <algorithm>

#include "engine/amp/remedies.h"
#include "engine/train/learning_rate.h"

namespace halfscope {

namespace {

// Nothing where the schedule has come to its end, from which the peak no longer follows.
void addLowerRate(std::vector<Remedy>& remedies, const RunFacts& facts, const StepRecord& r, double factor)
{
    OptimizerConfig lower = facts.config.optimizer;
    lower.learningRate *= static_cast<float>(factor);
    const auto now = learningRateAt(facts.config.optimizer, r.appliedSteps);
    if (learningRateAt(lower, r.appliedSteps) < 0.99F * now && lower.learningRate >= lower.minLearningRate)
        remedies.push_back(
            settingRemedy(RemedyKind::LearningRate, "learning-rate", static_cast<double>(lower.learningRate)));
}

class NonfiniteLossRule : public AdvisorRule {
public:
    NonfiniteLossRule()
    {
        m_watches = {FindingWatch(FindingKind::NonfiniteLoss, 1, 1), FindingWatch(FindingKind::WeightsLost, 1, 1)};
    }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        // Applied with gradients that were not finite: the weights are lost until a restart.
        if (r.foundInf && r.outcome == StepOutcome::Applied && !facts.config.scaler.skipNonfinite) {
            Finding f;
            f.severity = Severity::Error;
            f.count = ++m_applied;
            f.remedies.push_back(restartRemedy());
            f.remedies.push_back(settingRemedy(RemedyKind::SkipNonfinite, "skip-nonfinite", std::string("on")));
            m_watches[1].observe(r.step, std::move(f));
        }
        if (r.lostWeightsModule >= 0 && !m_watches[1].standing())
            m_watches[1].observe(r.step, lostWeights(r, facts));
        const bool now = !std::isfinite(r.loss) && r.forwardSaturatedModule < 0 && !m_watches[1].standing();
        if (now)
            m_steps.push_back(r.step);
        while (!m_steps.empty() && m_steps.front() <= r.step - kWindow)
            m_steps.pop_front();
        if (m_steps.empty()) {
            m_watches[0].observe(r.step, std::nullopt);
        } else if (now) { // the numbers are of the newest one, and hold still
            Finding f;
            f.severity = Severity::Error;
            f.count = static_cast<std::int64_t>(m_steps.size());
            f.of = std::min(kWindow, r.step);
            f.injected = facts.isTroubled(r.step);
            f.remedies = {restartRemedy()};
            addLowerRate(f.remedies, facts, r, 0.1);
            f.remedies.push_back(allFp32Remedy());
            m_watches[0].observe(r.step, std::move(f));
        }
    }

private:
    static Finding lostWeights(const StepRecord& r, const RunFacts& facts)
    {
        Finding f;
        f.severity = Severity::Error;
        f.modules = {r.lostWeightsModule};
        double limit = 0.0;
        const std::vector<std::int16_t> losing = modulesLosingEpsilon(facts, limit);
        if (!losing.empty()) {
            f.value = static_cast<double>(facts.config.optimizer.epsilon);
            f.remedies.push_back(epsilonRemedy());
            f.remedies.push_back(settingRemedy(RemedyKind::MasterWeights, "master-weights", std::string("on")));
        } else {
            addLowerRate(f.remedies, facts, r, 0.1);
        }
        f.remedies.push_back(restartRemedy());
        return f;
    }

    static constexpr std::int64_t kWindow = 50;
    std::deque<std::int64_t> m_steps; // in the window
    std::int64_t m_applied = 0;
};

// A loss far above what it was. The course of the loss is its running mean and mean deviation; while the jump lasts
// they stand still, so that it is not taken for the new course at once.
class LossJumpRule : public AdvisorRule {
public:
    LossJumpRule() { m_watches = {FindingWatch(FindingKind::LossJump, 1, 1)}; }

    void event(const Event& e, const RunFacts&) override
    {
        if (e.kind == EventKind::HeadSwapped) // another loss
            forget();
    }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        if (!std::isfinite(r.loss))
            return;
        const bool standing = m_watches[0].standing().has_value();
        const double above = r.loss - m_mean;
        const double begin = std::max(8.0 * m_deviation, 0.3 * m_mean);
        // One loss far above the others may be the batch's; a second one in a row is not.
        const bool far = m_steps >= kWarmUp && !standing && above > begin;
        m_far = far ? m_far + 1 : 0;
        m_farthest = m_far > 1 ? std::max(m_farthest, r.loss) : r.loss;
        if (far && m_far < 2 && !facts.isTroubled(r.step))
            return;
        if (far) {
            Finding f;
            f.severity = facts.isTroubled(r.step) ? Severity::Note : Severity::Warning;
            f.injected = facts.isTroubled(r.step);
            f.value = m_mean;
            f.firstStep = r.step - m_far + 1;
            f.largest = m_farthest;
            if (!f.injected) {
                addLowerRate(f.remedies, facts, r, 0.5);
                if (facts.config.optimizer.clipNorm == 0.0F)
                    f.remedies.push_back(settingRemedy(RemedyKind::ClipNorm, "clip-norm", 1.0));
                f.remedies.push_back(allFp32Remedy());
            }
            m_begun = r.step;
            m_calm = 0;
            m_watches[0].observe(r.step, std::move(f));
            return;
        }
        if (standing) {
            m_calm = above > 0.5 * begin ? 0 : m_calm + 1;
            if (m_calm < kCalm && r.step < m_begun + kLasts) {
                if (r.loss > m_watches[0].standing()->largest) {
                    Finding f = *m_watches[0].standing();
                    f.largest = r.loss;
                    m_watches[0].observe(r.step, std::move(f));
                }
                return;
            }
            m_watches[0].observe(r.step, std::nullopt);
            if (m_calm < kCalm) // this is how it is now
                forget();
        }
        learn(r.loss);
    }

private:
    static constexpr std::int64_t kWarmUp = 50;
    static constexpr std::int64_t kCalm = 20;
    static constexpr std::int64_t kLasts = 500;
    static constexpr double kDecay = 0.97;

    void forget() { m_steps = 0; }

    void learn(double loss)
    {
        ++m_steps;
        const double weight = std::max(1.0 - kDecay, 1.0 / static_cast<double>(m_steps));
        const double from = m_steps == 1 ? loss : m_mean;
        m_mean = from + weight * (loss - from);
        m_deviation = m_steps == 1 ? 0.0 : m_deviation + weight * (std::abs(loss - from) - m_deviation);
    }

    std::int64_t m_steps = 0;
    std::int64_t m_far = 0; // losses far above the course in a row, up to now
    double m_farthest = 0.0;
    double m_mean = 0.0;
    double m_deviation = 0.0;
    std::int64_t m_begun = 0;
    std::int64_t m_calm = 0; // steps in a row near the old course
};

// Ups and downs from look to look that are larger than chance: with n predictions the accuracy p has a deviation of
// sqrt(p (1 - p) / n) by itself.
class ValidationRule : public AdvisorRule {
public:
    ValidationRule() { m_watches = {FindingWatch(FindingKind::ValidationFluctuates, 1, 2)}; }

    void event(const Event& e, const RunFacts&) override
    {
        if (e.kind == EventKind::HeadSwapped)
            m_looks.clear();
    }

    void step(const StepRecord& r, const RunFacts& facts) override
    {
        if (std::isnan(r.validationAccuracy))
            return;
        m_looks.push_back(r.validationAccuracy);
        if (m_looks.size() > kLooks)
            m_looks.pop_front();
        std::int64_t turns = 0;
        double travelled = 0.0;
        for (std::size_t i = 1; i < m_looks.size(); ++i) {
            travelled += std::abs(m_looks[i] - m_looks[i - 1]);
            if (i > 1)
                turns += (m_looks[i] - m_looks[i - 1]) * (m_looks[i - 1] - m_looks[i - 2]) < 0 ? 1 : 0;
        }
        const auto [low, high] = std::minmax_element(m_looks.begin(), m_looks.end());
        const double middle = 0.5 * (*low + *high);
        const DatasetInfo& data = facts.info.data;
        const double predictions = static_cast<double>(facts.config.validationExamples) *
                                   (data.classes > 0 ? 1.0 : std::max(1.0, static_cast<double>(data.tokens)));
        const double chance = std::sqrt(middle * (1.0 - middle) / predictions);
        const double mean = travelled / static_cast<double>(std::max<std::size_t>(1, m_looks.size() - 1));
        // By chance alone two looks differ by 1.13 deviations on average (2/sqrt pi); three are no chance.
        if (m_looks.size() < kLooks || turns < 4 || *high - *low < 0.05 || mean < 3.0 * chance) {
            m_watches[0].observe(r.step, std::nullopt);
            return;
        }
        Finding f;
        f.severity = Severity::Advice;
        f.count = turns;
        f.of = static_cast<std::int64_t>(m_looks.size());
        f.value = *low;
        f.largest = *high;
        addLowerRate(f.remedies, facts, r, 0.5);
        m_watches[0].observe(r.step, std::move(f));
    }

private:
    static constexpr std::size_t kLooks = 8;
    std::deque<double> m_looks;
};

} // namespace

void addLossRules(AdvisorRules& rules)
{
    rules.push_back(std::make_unique<NonfiniteLossRule>());
    rules.push_back(std::make_unique<LossJumpRule>());
    rules.push_back(std::make_unique<ValidationRule>());
}

} // namespace halfscope
