// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/compare_verb.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/output.h"
#include "app/progress.h"
#include "engine/compare/comparison_run.h"
#include "engine/core/number_text.h"
#include "engine/io/atomic_file.h"
#include "engine/io/comparison_json.h"
#include "engine/io/comparison_report.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::vector<std::string> parseFormats(const std::string& text)
{
    std::vector<std::string> formats;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::size_t first = std::min(text.find_first_not_of(' ', at), comma);
        const std::size_t last = text.find_last_not_of(' ', comma - 1);
        formats.push_back(first < comma ? text.substr(first, last + 1 - first) : std::string());
        at = comma + 1;
    }
    return formats;
}

std::int64_t parseCount(const std::string& option, const std::string& text, std::int64_t most)
{
    const std::optional<std::int64_t> count = parseInteger(text);
    if (!count || *count < 1 || *count > most)
        throw UsageError(option + " \"" + text + "\" must be a whole number from 1 to " + numberText(most) + ".");
    return *count;
}

// What is asked for; what is not said is as in `known`.
ComparisonPlan planOf(const CompareOptions& options, const std::optional<ComparisonPlan>& known)
{
    ComparisonPlan plan;
    if (known)
        plan = *known;
    else
        plan.formats = parseFormats(kDefaultFormats);
    const ConfigOptions& config = options.config;
    if (!known || !config.configFile.empty() || config.text || config.seed || !config.settings.empty())
        plan.base = buildConfig(config);
    if (!options.formats.empty())
        plan.formats = parseFormats(options.formats);
    if (!options.seeds.empty())
        plan.seeds = static_cast<int>(parseCount("--seeds", options.seeds, kMostSeeds));
    if (!options.steps.empty())
        plan.steps = parseCount("--steps", options.steps, kMostComparedSteps);
    if (const auto problem = problemOf(plan))
        throw UsageError(*problem);
    return plan;
}

// The comparison to do or to go on with.
Comparison prepare(const CompareOptions& options)
{
    if (options.csvFolder.empty()) {
        if (options.resume)
            throw UsageError("--resume goes with --csv DIR, the folder of the comparison to go on with.");
        return Comparison(planOf(options, std::nullopt));
    }
    const std::filesystem::path file = std::filesystem::path(options.csvFolder) / kComparisonFile;
    if (!std::filesystem::exists(file)) {
        if (options.resume)
            throw UsageError("There is no comparison to go on with: " + file.string() + " is not there.");
        return Comparison(planOf(options, std::nullopt));
    }
    Comparison saved = [&] {
        try {
            return loadComparison(file);
        } catch (const std::runtime_error& e) {
            throw UsageError(e.what());
        }
    }();
    if (!options.resume) {
        if (!saved.finished())
            throw UsageError(options.csvFolder + " holds a comparison of which " +
                             numberText(std::uint64_t{saved.done()}) + " of " +
                             numberText(std::uint64_t{saved.runs.size()}) +
                             " runs are done; go on with --resume, or name another folder.");
        return Comparison(planOf(options, std::nullopt));
    }
    if (const auto difference = differenceOf(saved.plan, planOf(options, saved.plan)))
        throw UsageError("The comparison in " + options.csvFolder + " is another one: " + *difference +
                         "; give the same settings, or name another folder.");
    saved.forgetFailures();
    return saved;
}

class CompareProgress {
public:
    CompareProgress(const Comparison& comparison, bool quiet)
        : m_comparison(comparison), m_quiet(quiet), m_terminal(isatty(STDOUT_FILENO) != 0)
    {
    }

    void show(const ComparisonProgress& progress)
    {
        const Clock::time_point now = Clock::now();
        const bool newRun = progress.run != m_run || progress.phase != m_phase;
        if (m_quiet || (now - m_shown < (m_terminal ? 100ms : 10000ms) && (m_terminal || !newRun)))
            return;
        if (progress.phase == ComparisonProgress::Phase::Training && !m_terminal && progress.current->loss.empty())
            return; // nothing to say yet
        m_run = progress.run;
        m_phase = progress.phase;
        m_shown = now;
        const std::string text = line(progress);
        tryOutput(m_terminal ? "\r" + text + "\x1b[K" : text + "\n");
        m_open = m_terminal;
    }
    void clear()
    {
        if (m_open)
            tryOutput("\r\x1b[K");
        m_open = false;
    }

private:
    std::string line(const ComparisonProgress& progress) const
    {
        if (progress.phase == ComparisonProgress::Phase::Speed)
            return "measuring speed: the formats in turn";
        const ComparedRun& run = *progress.current;
        std::string text = "run " + numberText(std::uint64_t{progress.run + 1}) + "/" +
                           numberText(std::uint64_t{m_comparison.runs.size()}) + "  " + run.format + "  seed " +
                           numberText(run.seed) + "  step " + numberText(std::uint64_t{run.loss.size()}) + "/" +
                           numberText(m_comparison.plan.steps);
        if (!run.loss.empty())
            text += "  loss " + fixedText(run.loss.back(), 3);
        if (std::isfinite(progress.secondsLeft))
            text += "  " + durationText(progress.secondsLeft) + " left";
        return text;
    }

    const Comparison& m_comparison;
    bool m_quiet;
    bool m_terminal;
    bool m_open = false;
    std::size_t m_run = ~std::size_t{0};
    ComparisonProgress::Phase m_phase = ComparisonProgress::Phase::Training;
    Clock::time_point m_shown;
};

// The state of the comparison, after each run. A disk that is full must not end the runs.
class StateFile {
public:
    explicit StateFile(const std::string& folder) : m_folder(folder) {}

    void create(const Comparison& comparison)
    {
        if (m_folder.empty())
            return;
        createFolder(m_folder);
        saveComparison(file(), comparison);
    }
    void save(const Comparison& comparison)
    {
        if (m_folder.empty())
            return;
        try {
            saveComparison(file(), comparison);
            m_problem.clear();
        } catch (const std::runtime_error& e) {
            if (m_problem.empty())
                std::cerr << "halfscope compare: " << e.what() << " The runs go on.\n";
            m_problem = e.what();
        }
    }
    const std::string& problem() const { return m_problem; }

private:
    std::filesystem::path file() const { return std::filesystem::path(m_folder) / kComparisonFile; }

    std::string m_folder;
    std::string m_problem;
};

std::string doneText(const Comparison& comparison)
{
    return numberText(std::uint64_t{comparison.done()}) + " of " + numberText(std::uint64_t{comparison.runs.size()}) +
           " runs";
}

int reportInterruption(const Comparison& comparison, const CompareOptions& options, const StateFile& state)
{
    std::string next = "nothing was kept (there was no --csv)";
    if (!options.csvFolder.empty() && state.problem().empty())
        next = "halfscope compare --resume --csv " + options.csvFolder + " goes on";
    else if (!options.csvFolder.empty())
        next = "they could not all be saved";
    std::cerr << "halfscope compare: interrupted after " << doneText(comparison) << "; " << next << ".\n";
    return kExitInterrupted;
}

} // namespace

int runCompare(const CompareOptions& options)
{
    Comparison comparison = prepare(options);
    const ComparisonPlan& plan = comparison.plan;
    const InterruptGuard guard;
    StateFile state(options.csvFolder);
    state.create(comparison);
    if (!options.quiet) {
        std::string what = numberText(std::uint64_t{plan.formats.size()}) +
                           (plan.formats.size() == 1 ? " format, " : " formats, ") +
                           numberText(std::int64_t{plan.seeds}) + (plan.seeds == 1 ? " seed, " : " seeds, ") +
                           numberText(plan.steps) + " steps each";
        if (comparison.done() > 0)
            what += "; " + doneText(comparison) + " are done already";
        tryOutput(what + "\n");
    }

    CompareProgress progress(comparison, options.quiet);
    ComparisonHooks hooks;
    hooks.goOn = [&](const ComparisonProgress& p) {
        progress.show(p);
        return !InterruptGuard::interrupted();
    };
    hooks.changed = [&](const Comparison& c) { state.save(c); };
    const bool complete = runComparison(comparison, hooks);
    progress.clear();
    if (!complete)
        return reportInterruption(comparison, options, state);

    writeOutput(comparisonText(comparison));
    if (!options.csvFolder.empty()) {
        writeComparisonCsv(options.csvFolder, comparison);
        if (!options.quiet)
            writeOutput("The files in " + options.csvFolder + " are complete.\n");
    }
    flushOutput();
    for (const ComparedRunPtr& run : comparison.runs) {
        if (run->end == RunEnd::Failed)
            throw std::runtime_error(run->format + " with seed " + numberText(run->seed) + " failed " + run->reason +
                                     (run->reason.ends_with('.') ? "" : ".") +
                                     (options.csvFolder.empty() ? "" : " --resume tries what failed again."));
    }
    return kExitDone;
}

} // namespace halfscope
