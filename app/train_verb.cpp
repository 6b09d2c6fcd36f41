// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/train_verb.h"

#include <cmath>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <unistd.h>

#include "app/advice_text.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/output.h"
#include "app/progress.h"
#include "app/replay.h"
#include "app/settings_list.h"
#include "engine/amp/advisor.h"
#include "engine/core/error_text.h"
#include "engine/core/number_text.h"
#include "engine/io/csv_export.h"
#include "engine/io/run_json.h"
#include "engine/train/run_state.h"
#include "engine/train/step_report.h"
#include "engine/train/trainer.h"

namespace halfscope {

namespace {

struct Job {
    RunConfig config;
    std::vector<TimedCommand> commands;
    std::int64_t steps = 0;
    std::int64_t epochs = 0;             // 0: `steps` says how long; otherwise that is known when the data are there
    std::optional<RecordedRun> recorded; // that is replayed
    std::string textHash;                // what it trained on; empty: not to be compared
};

Job prepare(const TrainOptions& options)
{
    Job job;
    std::optional<RunConfig> base;
    if (options.steps && options.epochs)
        throw UsageError("Give either --steps or --epochs, not both.");
    const Experiment& experiment = chosenExperiment(options.config);
    job.steps = experiment.steps;
    job.epochs = experiment.epochs;
    if (!options.replay.empty()) {
        if (!options.config.configFile.empty())
            throw UsageError("Give either --config or --replay, not both.");
        if (!options.config.experiment.empty())
            throw UsageError("Give either --experiment or --replay, not both.");
        job.recorded = loadRecordedRun(options.replay);
        base = job.recorded->config;
        job.commands = job.recorded->commands;
        job.steps = job.recorded->steps;
        job.epochs = 0;
        if (!options.config.text)
            job.textHash = job.recorded->textHash;
        // A run made shorter than the recorded one has no use for the commands beyond its end.
        if (options.steps)
            std::erase_if(job.commands, [&](const TimedCommand& c) { return c.step > *options.steps; });
    }
    if (options.steps)
        job.steps = *options.steps;
    if (options.steps || options.epochs)
        job.epochs = options.epochs.value_or(0);
    job.config = buildConfig(options.config, base);
    for (const std::string& text : options.at)
        job.commands.push_back(parseAt(text));
    for (const std::string& text : options.injections)
        job.commands.push_back(parseInjection(text));
    prepareCommands(job.commands, job.config, job.epochs > 0 ? kMostSteps : job.steps);
    return job;
}

// The data are there: the number of steps in an epoch is known.
void countSteps(Job& job, std::int64_t stepsPerEpoch)
{
    if (job.epochs == 0)
        return;
    if (job.epochs > kMostSteps / stepsPerEpoch)
        throw UsageError("--epochs " + numberText(job.epochs) + " are more than " + numberText(kMostSteps) + " steps.");
    job.steps = job.epochs * stepsPerEpoch;
    prepareCommands(job.commands, job.config, job.steps);
}

Progress::Style progressStyle(const TrainOptions& options)
{
    if (options.quiet)
        return Progress::Style::Silent;
    return isatty(STDOUT_FILENO) != 0 ? Progress::Style::Terminal : Progress::Style::Lines;
}

enum class End { Done, Interrupted, Paused, Stopped, Failed };

struct Outcome {
    End end = End::Done;
    StepRecord last;
    std::optional<StepRecord> validated; // the last step after which held-out examples were looked at
    std::optional<StepRecord> best;      // that with the best accuracy on them
    std::string failure;
    std::string endReason; // of Paused and Stopped
    std::string rejected;  // the first command the run refused
    std::string advice;    // what the advisor has to say, in lines
};

// What was estimated before the start.
std::string memoryText(const RunInfo& info)
{
    const auto text = [](double bytes) {
        return bytes < 1e9 ? fixedText(bytes / 1e6, 1) + " MB" : fixedText(bytes / 1e9, 1) + " GB";
    };
    return "; needs " + text(info.bytesNeeded) + " of memory" +
           (info.roomAtStart
                ? ", " + text(info.roomAtStart->free) + " of " + text(info.roomAtStart->total) + " are free"
                : std::string());
}

std::string asSentence(const std::string& text) { return text.ends_with('.') ? text : text + "."; }

class HeadlessRun {
public:
    HeadlessRun(const Job& job, std::unique_ptr<Trainer> trainer, RunCsvWriter* writer, Progress& progress,
                bool continueOnCpu)
        : m_job(job),
          m_trainer(std::move(trainer)),
          m_writer(writer),
          m_progress(progress),
          m_continueOnCpu(continueOnCpu)
    {
        m_advisor.restart(m_trainer->info());
    }

    Outcome run()
    {
        Event start;
        start.kind = EventKind::Start;
        start.text = "run started: seed " + numberText(m_job.config.seed) + ", " + m_trainer->info().data.title;
        record(start);
        if (!m_trainer->info().fallback.empty())
            record(fallbackEvent(m_trainer->info()));
        if (m_trainer->live().pretraining)
            m_progress.note("pretraining as a language model for " + numberText(m_job.config.pretrainSteps) +
                            " steps; then its head is swapped for the classes");
        while (m_outcome.last.step < m_job.steps && m_outcome.end == End::Done) {
            try {
                advance();
            } catch (const std::exception& e) {
                failed(errorText(e));
                if (m_continueOnCpu)
                    goOn(errorText(e));
            }
        }
        m_outcome.advice = adviceText(m_advisor, m_trainer->info().modules);
        return m_outcome;
    }

private:
    void advance()
    {
        if (InterruptGuard::interrupted()) {
            m_outcome.end = End::Interrupted;
            return;
        }
        if (m_trainer->stepsToCatchUp() > 0) {
            m_trainer->catchUp();
            return;
        }
        const std::int64_t step = m_outcome.last.step + 1;
        for (; m_next < m_job.commands.size() && m_job.commands[m_next].step == step; ++m_next) {
            const Event event =
                m_trainer->apply(m_job.commands[m_next].command); // again, where it was this that failed
            if (event.kind == EventKind::Rejected && m_outcome.rejected.empty())
                m_outcome.rejected = "at step " + numberText(step) + ": " + event.text;
            record(event);
        }
        const Trainer::StepResult& result = m_trainer->step();
        m_outcome.last = result.record;
        if (m_writer) {
            m_writer->add(result.record);
            if (result.snapshot)
                m_writer->add(*result.snapshot);
            if (result.shadow)
                m_writer->add(*result.shadow);
        }
        for (const Event& event : result.events) {
            record(event);
            if (event.kind == EventKind::Epoch || event.kind == EventKind::HeadSwapped)
                m_progress.note(event.text);
            if (event.kind == EventKind::HeadSwapped) { // the best of another quantity
                m_outcome.validated.reset();
                m_outcome.best.reset();
            }
        }
        noteValidation(result.record);
        m_progress.show(result.record);
        m_happened.steps = {result.record};
        if (result.snapshot)
            m_happened.snapshots = {result.snapshot};
        if (result.shadow)
            m_happened.shadows = {result.shadow};
        m_advisor.observe(m_happened, m_trainer->live());
        m_happened = {};
        // Where the recorded run went on after a pause, so does its replay.
        const bool goesOn = result.pauseRequested && m_job.recorded && m_outcome.last.step < m_job.recorded->steps;
        if (result.stopRequested || (result.pauseRequested && !goesOn)) {
            m_outcome.end = result.stopRequested ? End::Stopped : End::Paused;
            m_outcome.endReason = result.endReason;
        }
    }

    void noteValidation(const StepRecord& r)
    {
        if (std::isnan(r.validationAccuracy))
            return;
        m_outcome.validated = r;
        if (!m_outcome.best || r.validationAccuracy > m_outcome.best->validationAccuracy)
            m_outcome.best = r;
    }

    void failed(const std::string& why)
    {
        m_outcome.end = End::Failed;
        m_outcome.failure = "failed at step " + numberText(m_outcome.last.step + 1) + ": " + why;
        Event event;
        event.step = m_outcome.last.step + 1;
        event.kind = EventKind::Failed;
        event.text = m_outcome.failure;
        record(event);
    }

    // What has failed stays so where there is no state to go on from, or no memory for it.
    void goOn(const std::string& why)
    {
        const std::unique_ptr<RunState> state = m_trainer->lastGoodState(why);
        if (!state)
            return;
        try {
            m_trainer = std::make_unique<Trainer>(*state, kFallbackBackend);
        } catch (const std::exception& e) {
            m_outcome.failure = asSentence(m_outcome.failure) + " It cannot go on on the CPU: " + errorText(e);
            return;
        }
        m_outcome.end = End::Done;
        const Event event = continuedEvent(m_trainer->info(), state->info.backendKey);
        m_progress.clear();
        std::cerr << "halfscope train: " << asSentence(m_outcome.failure) << " " << event.text << ".\n";
        record(event);
        if (m_writer)
            m_writer->add(m_trainer->info().continuations.back());
    }

    void record(const Event& event)
    {
        m_happened.events.push_back(event);
        if (m_writer)
            m_writer->add(event);
    }

    const Job& m_job;
    std::unique_ptr<Trainer> m_trainer;
    RunCsvWriter* m_writer;
    Progress& m_progress;
    bool m_continueOnCpu;
    Advisor m_advisor;
    Telemetry m_happened; // since the step before
    Outcome m_outcome;
    std::size_t m_next = 0;
};

std::string stepsText(const StepRecord& last)
{
    return numberText(last.step) + (last.step == 1 ? " step (" : " steps (") + numberText(last.appliedSteps) +
           " applied, " + numberText(last.skippedSteps) + " skipped)";
}

// Of held-out examples; nothing when they were not looked at.
std::string validationText(const Outcome& outcome)
{
    if (!outcome.validated)
        return {};
    const auto percent = [](double share) { return fixedText(100.0 * share, 2) + " %"; };
    return "held out, after step " + numberText(outcome.validated->step) + ": loss " +
           fixedText(outcome.validated->validationLoss, 4) + ", accuracy " +
           percent(outcome.validated->validationAccuracy) + "; best accuracy " +
           percent(outcome.best->validationAccuracy) + ", after step " + numberText(outcome.best->step) + "\n";
}

// The last line on the standard output, and the exit status.
int report(const Job& job, const Outcome& outcome, const TrainOptions& options, double seconds)
{
    const std::string files = options.csvFolder.empty() ? "no files were asked for (--csv)"
                                                        : "the files in " + options.csvFolder + " are complete";
    const StepRecord& last = outcome.last;
    if (outcome.end == End::Failed)
        throw std::runtime_error(asSentence(outcome.failure) +
                                 (options.csvFolder.empty()
                                      ? std::string()
                                      : " The files in " + options.csvFolder + " hold the steps before it."));
    if (outcome.end == End::Interrupted) {
        std::cerr << "halfscope train: interrupted after step " << numberText(last.step) << " of "
                  << numberText(job.steps) << "; " << files << ".\n";
        return kExitInterrupted;
    }
    if (!options.quiet)
        tryOutput(outcome.advice);
    if (!options.quiet && seconds > 0) {
        tryOutput(validationText(outcome));
        tryOutput(stepsText(last) + " in " + durationText(seconds) + ", " +
                  fixedText(static_cast<double>(last.step) / seconds, 1) + " steps/s; last loss " +
                  fixedText(last.loss, 4) + ", scale " + powerText(static_cast<double>(last.scaleNext)) + "; " + files +
                  ".\n");
    }
    if (outcome.end == End::Stopped || outcome.end == End::Paused) {
        std::cerr << "halfscope train: ended at step " << numberText(last.step) << " of " << numberText(job.steps)
                  << ": " << outcome.endReason << "; " << files << ".\n";
        return kExitEndedEarly;
    }
    if (!outcome.rejected.empty())
        throw std::runtime_error("A command was refused " + outcome.rejected);
    return kExitDone;
}

} // namespace

int runTrain(const TrainOptions& options)
{
    if (options.listSettings) {
        writeOutput(settingsList());
        flushOutput();
        return kExitDone;
    }
    Job job = prepare(options);
    const InterruptGuard guard;
    auto trainer = std::make_unique<Trainer>(job.config);
    RunInfo info = trainer->info();
    countSteps(job, info.stepsPerEpoch);
    if (!job.textHash.empty() && job.textHash != textHashText(info.data.hash))
        throw std::runtime_error(
            info.data.classes > 0
                ? "The data, \"" + info.data.title + "\", are not those that " + options.replay + " was recorded on."
                : "The text \"" + info.data.title + "\" is not the one that " + options.replay +
                      " was recorded on; give the right one with --text, or --text on purpose for another.");
    info.generation = 1;
    std::unique_ptr<RunCsvWriter> writer;
    if (!options.csvFolder.empty())
        writer = std::make_unique<RunCsvWriter>(options.csvFolder, info);
    if (!options.quiet) {
        tryOutput(info.backend + "; " + info.data.title + "; " + numberText(info.parameterCount) + " parameters" +
                  memoryText(info) + "\n");
    }
    if (!info.fallback.empty())
        std::cerr << "halfscope train: " << fallbackEvent(info).text << '\n';
    if (job.recorded) {
        if (const std::string why = replayDiffers(*job.recorded, info.backend, options.replay); !why.empty())
            std::cerr << "halfscope train: " << why << '\n';
    }
    if (!info.data.notice.empty())
        std::cerr << "halfscope train: " << info.data.notice << '\n';

    Progress progress(job.steps, progressStyle(options));
    const Outcome outcome = HeadlessRun(job, std::move(trainer), writer.get(), progress, options.continueOnCpu).run();
    const double seconds = progress.seconds();
    progress.clear();
    if (writer) {
        try {
            writer->finish();
        } catch (const std::runtime_error& e) {
            writer->keepParts();
            throw std::runtime_error(std::string(e.what()) + " What was written is kept in " + options.csvFolder +
                                     ", in files whose names end in .part and six letters.");
        }
    }
    return report(job, outcome, options, seconds);
}

} // namespace halfscope
