// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/comparison_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/backend/backend_registry.h"
#include "engine/core/error_text.h"
#include "engine/core/number_text.h"
#include "engine/model/transformer.h"
#include "engine/train/trainer.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <typename T>
double median(std::vector<T> values)
{
    if (values.empty())
        return 0.0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const auto upper = static_cast<double>(values[half]);
    return values.size() % 2 == 1 ? upper : 0.5 * (static_cast<double>(values[half - 1]) + upper);
}

// Thrown out of a model that is being made, when nobody wants it any more.
struct GivenUp {};

// What concerns all runs.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// How long steps take, by format: emulated ones take longer.
class TimeLeft {
public:
    void add(const std::string& format, double seconds)
    {
        Sum& sum = m_sums[format];
        sum.seconds += seconds;
        ++sum.steps;
        m_all.seconds += seconds;
        ++m_all.steps;
    }
    double of(const std::string& format) const
    {
        const auto found = m_sums.find(format);
        return (found != m_sums.end() ? found->second : m_all).each();
    }

private:
    struct Sum {
        double seconds = 0.0;
        std::int64_t steps = 0;
        double each() const { return seconds / static_cast<double>(steps); } // nan: none yet
    };
    std::map<std::string, Sum> m_sums;
    Sum m_all;
};

class Runner {
public:
    Runner(Comparison& comparison, const ComparisonHooks& hooks)
        : m_comparison(comparison), m_plan(comparison.plan), m_hooks(hooks)
    {
        m_stepsToDo =
            static_cast<double>(comparison.runs.size() - comparison.done()) * static_cast<double>(m_plan.steps);
    }

    bool run()
    {
        if (m_comparison.finished())
            return true;
        judgeFormats();
        if (!measureSpeed())
            return false;
        for (std::size_t i = 0; i < m_comparison.runs.size(); ++i) {
            if (m_comparison.runs[i])
                continue;
            ComparedRunPtr done = train(i);
            if (!done)
                return false;
            m_comparison.runs[i] = std::move(done);
            changed();
        }
        return true;
    }

private:
    void judgeFormats()
    {
        const std::unique_ptr<Backend> backend =
            makeBackend(m_plan.base.backend, m_plan.base.threads, m_plan.base.device);
        m_comparison.backend = backend->description();
        m_comparison.computed.clear();
        for (const std::string& format : m_plan.formats)
            m_comparison.computed.push_back(computedBy(*backend, m_plan, format));
    }

    bool measureSpeed()
    {
        if (m_comparison.speedMeasured)
            return true;
        // FP32 first, whether or not it is asked for: the others are relative to it.
        std::vector<std::string> formats = {"fp32"};
        bool wanted = false;
        for (std::size_t i = 0; i < m_plan.formats.size(); ++i) {
            if (m_comparison.computed[i] == Computed::Emulated)
                continue;
            wanted = true;
            if (m_plan.formats[i] != formats.front())
                formats.push_back(m_plan.formats[i]);
        }
        if (wanted) {
            ComparisonPlan plan = m_plan;
            plan.formats = formats;
            std::vector<RunConfig> configs;
            for (std::size_t i = 0; i < formats.size(); ++i) {
                configs.push_back(configOf(plan, i));
                configs.back().validationInterval = 0; // training alone
                configs.back().pretrainSteps = 0;
            }
            std::optional<std::vector<FormatSpeed>> speeds;
            try {
                speeds = measureSpeeds(formats, configs, [this](double) {
                    ComparisonProgress progress;
                    progress.phase = ComparisonProgress::Phase::Speed;
                    progress.secondsLeft = ComparedRun::kNone;
                    return goOn(progress);
                });
            } catch (const std::exception&) {
                speeds.emplace(); // the runs themselves will say what is wrong; there is no claim of speed
            }
            if (!speeds)
                return false;
            std::erase_if(*speeds, [this](const FormatSpeed& s) {
                return std::find(m_plan.formats.begin(), m_plan.formats.end(), s.format) == m_plan.formats.end();
            });
            m_comparison.speeds = *speeds;
        }
        m_comparison.speedMeasured = true;
        changed();
        return true;
    }

    // Null: given up.
    ComparedRunPtr train(std::size_t index)
    {
        auto run = std::make_shared<ComparedRun>();
        const RunConfig config = configOf(m_plan, index);
        run->format = config.precision;
        run->seed = config.seed;
        run->scaler = config.scaler.preset;
        m_progress = {};
        m_progress.run = index;
        m_progress.current = run.get();
        try {
            Trainer trainer(config, [this] {
                if (!report())
                    throw GivenUp();
            });
            checkData(trainer.info());
            if (!trainAll(trainer, *run))
                return nullptr;
        } catch (const GivenUp&) {
            return nullptr;
        } catch (const Refused&) {
            throw;
        } catch (const std::exception& e) {
            run->end = RunEnd::Failed;
            run->reason =
                "at step " + numberText(static_cast<std::int64_t>(run->loss.size()) + 1) + ": " + errorText(e);
        }
        m_stepsDone += static_cast<double>(m_plan.steps); // also of a run that ended before its time
        return run;
    }

    bool trainAll(Trainer& trainer, ComparedRun& run)
    {
        std::vector<float> milliseconds;
        while (static_cast<std::int64_t>(run.loss.size()) < m_plan.steps) {
            const Clock::time_point start = Clock::now();
            const Trainer::StepResult& result = trainer.step();
            m_time.add(run.format, secondsSince(start));
            milliseconds.push_back(result.record.stepMs);
            take(result.record, run);
            if (run.loss.size() == 1)
                run.bytes = trainer.model().memory(); // with what is made at first use
            if (result.stopRequested || result.pauseRequested) {
                run.end = RunEnd::EndedEarly;
                run.reason = "at step " + numberText(result.record.step) + ": " + result.endReason;
                break;
            }
            if (!report())
                return false;
        }
        run.stepMs = median(std::move(milliseconds));
        validateAtTheEnd(trainer, run);
        return true;
    }

    // So that formats are compared by held-out examples after the same steps, whatever the interval.
    static void validateAtTheEnd(Trainer& trainer, ComparedRun& run)
    {
        const bool wanted = trainer.info().config.validationInterval > 0;
        const std::int64_t step = trainer.stepsDone();
        if (!wanted || (!run.heldOut.empty() && run.heldOut.back().step == step))
            return;
        try {
            const EvaluationPtr evaluation = trainer.answer(RequestValidation{});
            run.heldOut.push_back({step, evaluation->validation->loss, evaluation->validation->accuracy});
        } catch (const std::exception&) {
            // nothing is held out where data are few; the training was all it should be
        }
    }

    static void take(const StepRecord& record, ComparedRun& run)
    {
        run.loss.push_back(record.loss);
        run.accuracy.push_back(record.accuracy);
        if (!std::isnan(record.validationLoss) || !std::isnan(record.validationAccuracy))
            run.heldOut.push_back({record.step, record.validationLoss, record.validationAccuracy});
        run.skipped = record.skippedSteps;
        run.finalScale = static_cast<double>(record.scaleNext);
    }

    void checkData(const RunInfo& info)
    {
        if (m_comparison.data.empty()) {
            m_comparison.data = info.data.title;
            m_comparison.dataHash = info.data.hash;
        } else if (m_comparison.dataHash != info.data.hash) {
            throw Refused("The data are not those that the runs done before were trained on (" + m_comparison.data +
                          "); give those, or begin a new comparison.");
        }
    }

    // Asks whether to go on, with how far the run under way is.
    bool report()
    {
        const auto steps = static_cast<double>(m_progress.current->loss.size());
        m_progress.share = m_stepsToDo > 0 ? (m_stepsDone + steps) / m_stepsToDo : 1.0;
        double seconds = (static_cast<double>(m_plan.steps) - steps) * m_time.of(m_progress.current->format);
        for (std::size_t i = m_progress.run + 1; i < m_comparison.runs.size(); ++i) {
            if (!m_comparison.runs[i])
                seconds += static_cast<double>(m_plan.steps) * m_time.of(m_plan.formats[i % m_plan.formats.size()]);
        }
        m_progress.secondsLeft = seconds;
        return goOn(m_progress);
    }

    bool goOn(const ComparisonProgress& progress) { return !m_hooks.goOn || m_hooks.goOn(progress); }
    void changed()
    {
        if (m_hooks.changed)
            m_hooks.changed(m_comparison);
    }

    Comparison& m_comparison;
    const ComparisonPlan& m_plan;
    const ComparisonHooks& m_hooks;
    ComparisonProgress m_progress;
    TimeLeft m_time;
    double m_stepsToDo = 0.0;
    double m_stepsDone = 0.0;
};

} // namespace

bool runComparison(Comparison& comparison, const ComparisonHooks& hooks) { return Runner(comparison, hooks).run(); }

std::optional<std::vector<FormatSpeed>> measureSpeeds(const std::vector<std::string>& formats,
                                                      const std::vector<RunConfig>& configs,
                                                      const std::function<bool(double share)>& goOn)
{
    constexpr int kWarmUp = 3;
    constexpr int kRounds = 9; // odd: the median is one of them
    constexpr double kBlockSeconds = 0.1;
    constexpr int kMostSteps = 200;

    std::vector<std::unique_ptr<Trainer>> trainers;
    const auto whileBuilding = [&] {
        if (!goOn(0.0))
            throw GivenUp();
    };
    try {
        for (const RunConfig& config : configs)
            trainers.push_back(std::make_unique<Trainer>(config, whileBuilding));
    } catch (const GivenUp&) {
        return std::nullopt;
    }
    double slowest = 0.0;
    for (const auto& trainer : trainers) {
        for (int i = 0; i < kWarmUp; ++i) {
            if (!goOn(0.0))
                return std::nullopt;
            const Clock::time_point start = Clock::now();
            trainer->step();
            if (i + 1 == kWarmUp)
                slowest = std::max(slowest, secondsSince(start));
        }
    }
    const int block = std::clamp(static_cast<int>(std::ceil(kBlockSeconds / std::max(slowest, 1e-6))), 1, kMostSteps);
    std::vector<std::vector<double>> seconds(trainers.size()); // of a step; a round each
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t k = 0; k < trainers.size(); ++k) {
            const std::size_t turn = (k + static_cast<std::size_t>(round)) % trainers.size(); // nobody is always first
            const Clock::time_point start = Clock::now();
            for (int i = 0; i < block; ++i) {
                trainers[turn]->step();
                if (!goOn((round + static_cast<double>(k) / static_cast<double>(trainers.size())) / kRounds))
                    return std::nullopt;
            }
            seconds[turn].push_back(secondsSince(start) / block);
        }
    }
    std::vector<FormatSpeed> speeds;
    for (std::size_t i = 0; i < formats.size(); ++i) {
        std::vector<double> ratios;
        for (std::size_t round = 0; round < seconds[i].size(); ++round)
            ratios.push_back(seconds[0][round] / seconds[i][round]);
        speeds.push_back({formats[i], 1.0 / median(seconds[i]), median(ratios)});
    }
    return speeds;
}

} // namespace halfscope
