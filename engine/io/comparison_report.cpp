// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/comparison_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "engine/core/number_text.h"
#include "engine/core/text_table.h"
#include "engine/io/atomic_file.h"
#include "engine/io/csv_row.h"

namespace halfscope {

namespace {

constexpr double kMega = 1e6;

std::string runsText(std::int64_t runs) { return numberText(runs) + (runs == 1 ? " run" : " runs"); }

std::string spreadText(const Spread& s, int decimals)
{
    if (s.count == 0)
        return "-";
    std::string text = fixedText(s.mean, decimals);
    if (std::isfinite(s.deviation))
        text += " ± " + fixedText(s.deviation, decimals);
    return text;
}

std::string rangeText(const Spread& s, int decimals)
{
    if (s.count == 0)
        return "-";
    if (s.min == s.max)
        return fixedText(s.min, decimals);
    return fixedText(s.min, decimals) + " to " + fixedText(s.max, decimals);
}

std::string shareText(const Spread& s) // of a value between 0 and 1
{
    Spread percent = s;
    for (double* value : {&percent.mean, &percent.min, &percent.max, &percent.deviation})
        *value *= 100.0;
    return s.count == 0 ? "-" : spreadText(percent, 1) + " %";
}

std::string scaleText(const FormatSummary& row)
{
    const Spread& s = row.finalScale;
    if (s.count == 0)
        return "-";
    if (row.scaler == "off")
        return "none";
    return s.min == s.max ? powerText(s.min) : powerText(s.min) + " to " + powerText(s.max);
}

std::string speedText(const FormatSummary& row)
{
    if (row.speed != nullptr)
        return fixedText(row.speed->relative, 2) + " (" + fixedText(row.speed->stepsPerSecond, 1) + " steps/s)";
    return row.computed == Computed::Emulated ? std::string(kNoSpeedClaim) : "-";
}

std::string lossText(const FormatSummary& row)
{
    if (row.diverged == 0)
        return spreadText(row.finalLoss, 4);
    const std::string diverged =
        numberText(std::int64_t{row.diverged}) + " of " + numberText(std::int64_t{row.completed}) + " diverged";
    return row.finalLoss.count == 0 ? diverged : spreadText(row.finalLoss, 4) + " (" + diverged + ")";
}

void addSpread(CsvRow& row, const Spread& s)
{
    if (s.count == 0) {
        row.empty().empty().empty().empty();
        return;
    }
    row.number(s.mean);
    s.count > 1 ? row.number(s.deviation) : row.empty();
    row.number(s.min).number(s.max);
}

void addBytes(CsvRow& row, const MemoryUse& b)
{
    for (const double bytes : {b.weights, b.gradients, b.moments, b.activations})
        row.number(static_cast<std::int64_t>(bytes));
}

CsvRow& addIfThere(CsvRow& row, double value) { return std::isnan(value) ? row.empty() : row.number(value); }

} // namespace

std::vector<std::vector<std::string>> comparisonRows(const Comparison& comparison)
{
    const std::vector<FormatSummary> summary = summarise(comparison);
    const auto any = [&](const auto& has) { return std::any_of(summary.begin(), summary.end(), has); };
    const bool accuracy = any([](const FormatSummary& s) { return s.finalAccuracy.count > 0; });
    const bool heldOut = any([](const FormatSummary& s) { return s.heldOutLoss.count > 0; });
    const bool heldOutAccuracy = any([](const FormatSummary& s) { return s.heldOutAccuracy.count > 0; });

    std::vector<std::vector<std::string>> rows(1);
    rows[0] = {"format",      "computed",        "speed, of FP32", "weights, MB", "gradients, MB",
               "moments, MB", "activations, MB", "total, MB",      "final loss",  "lowest to highest"};
    if (accuracy)
        rows[0].emplace_back("accuracy");
    if (heldOut)
        rows[0].emplace_back("held-out loss");
    if (heldOutAccuracy)
        rows[0].emplace_back("held-out accuracy");
    for (const char* column : {"skipped", "final scale", "runs"})
        rows[0].emplace_back(column);
    for (const FormatSummary& s : summary) {
        std::vector<std::string> row = {s.name, s.computed ? std::string(computedText(*s.computed)) : "-",
                                        speedText(s)};
        const MemoryUse bytes = s.bytes.value_or(MemoryUse());
        for (const double b : {bytes.weights, bytes.gradients, bytes.moments, bytes.activations, bytes.total()})
            row.push_back(s.bytes ? fixedText(b / kMega, 2) : "-");
        row.push_back(lossText(s));
        row.push_back(rangeText(s.finalLoss, 4));
        if (accuracy)
            row.push_back(shareText(s.finalAccuracy));
        if (heldOut)
            row.push_back(spreadText(s.heldOutLoss, 4));
        if (heldOutAccuracy)
            row.push_back(shareText(s.heldOutAccuracy));
        row.push_back(rangeText(s.skipped, 0));
        row.push_back(scaleText(s));
        row.push_back(numberText(std::int64_t{s.completed}) + " of " + numberText(std::int64_t{s.wanted}));
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<std::string> comparisonNotes(const Comparison& comparison)
{
    const ComparisonPlan& plan = comparison.plan;
    std::vector<std::string> notes;
    if (!comparison.backend.empty())
        notes.push_back(comparison.backend + (comparison.data.empty() ? "" : "; " + comparison.data) + "; seeds " +
                        numberText(plan.base.seed) + " to " +
                        numberText(plan.base.seed + static_cast<std::uint64_t>(plan.seeds - 1)) + ", " +
                        numberText(plan.steps) + " steps each.");
    notes.push_back("Final loss: mean of the last " + numberText(plan.lastSteps()) +
                    " steps of each run; then mean and sample deviation (±) over the seeds.");
    const auto isEmulated = [](Computed c) { return c == Computed::Emulated; };
    if (std::any_of(comparison.computed.begin(), comparison.computed.end(), isEmulated))
        notes.emplace_back(
            "Emulated exactly: every number is what hardware of that format would have computed, but the "
            "time is the emulation's; so there is no claim of speed.");
    if (!comparison.speeds.empty())
        notes.emplace_back(
            "Speed: FP32 and the others trained in turn, blocks of steps each; the median of the ratios.");
    notes.emplace_back("Formats with FP32's range train without a loss scale.");
    for (const FormatSummary& row : summarise(comparison)) {
        const int lost = row.done - row.completed;
        if (lost > 0)
            notes.push_back(row.name + ": " + runsText(lost) + " did not complete; " + row.problem +
                            (row.problem.ends_with('.') ? "" : "."));
    }
    return notes;
}

std::string comparisonText(const Comparison& comparison)
{
    const std::vector<std::vector<std::string>> rows = comparisonRows(comparison);
    TextTable table(rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i)
        table.add(rows[i]);
    std::string text = table.text();
    for (const std::string& note : comparisonNotes(comparison))
        text += note + "\n";
    return text;
}

std::string comparisonMarkdown(const Comparison& comparison)
{
    std::string text;
    const auto add = [&](const std::vector<std::string>& cells) {
        text += "|";
        for (const std::string& cell : cells) {
            text += ' ';
            for (const char c : cell)
                text += c == '|' ? std::string("\\|") : std::string(1, c);
            text += " |";
        }
        text += '\n';
    };
    const std::vector<std::vector<std::string>> rows = comparisonRows(comparison);
    add(rows.front());
    add(std::vector<std::string>(rows.front().size(), "---"));
    for (std::size_t i = 1; i < rows.size(); ++i)
        add(rows[i]);
    for (const std::string& note : comparisonNotes(comparison))
        text += "\n" + note + "\n";
    return text;
}

std::string runsCsv(const Comparison& comparison)
{
    const ComparisonPlan& plan = comparison.plan;
    std::string csv = "format,seed,computed,outcome,reason,steps,final_loss,final_accuracy,held_out_loss,"
                      "held_out_accuracy,skipped_steps,final_scale,scaler,weight_bytes,gradient_bytes,moment_bytes,"
                      "activation_bytes,step_ms\n";
    CsvRow row;
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        if (!comparison.runs[i])
            continue;
        const ComparedRun& run = *comparison.runs[i];
        const std::size_t f = i % plan.formats.size();
        row.text(run.format).number(run.seed);
        row.text(f < comparison.computed.size() ? computedKey(comparison.computed[f]) : "");
        row.text(runEndKey(run.end)).text(run.reason).number(run.loss.size());
        run.loss.empty() ? row.empty() : row.number(run.finalLoss(plan.lastSteps()));
        addIfThere(row, run.finalAccuracy(plan.lastSteps()));
        addIfThere(row, run.heldOutLoss());
        addIfThere(row, run.heldOutAccuracy());
        row.number(run.skipped).number(run.finalScale).text(run.scaler);
        addBytes(row, run.bytes);
        csv += row.number(run.stepMs).finish();
    }
    return csv;
}

std::string summaryCsv(const Comparison& comparison)
{
    std::string csv = "format,computed,runs,completed,diverged,relative_speed,steps_per_second,weight_bytes,"
                      "gradient_bytes,moment_bytes,activation_bytes";
    for (const char* of :
         {"final_loss", "final_accuracy", "held_out_loss", "held_out_accuracy", "skipped_steps", "final_scale"}) {
        for (const char* what : {"_mean", "_deviation", "_min", "_max"})
            csv += std::string(",") + of + what;
    }
    csv += "\n";
    CsvRow row;
    for (const FormatSummary& s : summarise(comparison)) {
        row.text(s.format).text(s.computed ? computedKey(*s.computed) : "");
        row.number(s.wanted).number(s.completed).number(s.diverged);
        if (s.speed != nullptr)
            row.number(s.speed->relative).number(s.speed->stepsPerSecond);
        else
            row.empty().empty();
        if (s.bytes)
            addBytes(row, *s.bytes);
        else
            row.empty().empty().empty().empty();
        for (const Spread* spread :
             {&s.finalLoss, &s.finalAccuracy, &s.heldOutLoss, &s.heldOutAccuracy, &s.skipped, &s.finalScale})
            addSpread(row, *spread);
        csv += row.finish();
    }
    return csv;
}

std::string curvesCsv(const Comparison& comparison)
{
    std::string csv = "format,seed,step,loss,accuracy,held_out_loss,held_out_accuracy\n";
    CsvRow row;
    for (const ComparedRunPtr& run : comparison.runs) {
        if (!run)
            continue;
        auto heldOut = run->heldOut.begin();
        for (std::size_t i = 0; i < run->loss.size(); ++i) {
            const auto step = static_cast<std::int64_t>(i) + 1;
            row.text(run->format).number(run->seed).number(step).number(run->loss[i]);
            run->accuracy.empty() ? row.empty() : addIfThere(row, run->accuracy[i]);
            if (heldOut != run->heldOut.end() && heldOut->step == step) {
                row.number(heldOut->loss);
                addIfThere(row, heldOut->accuracy);
                ++heldOut;
            } else {
                row.empty().empty();
            }
            csv += row.finish();
        }
    }
    return csv;
}

void writeComparisonCsv(const std::filesystem::path& folder, const Comparison& comparison)
{
    createFolder(folder);
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (const auto& [name, text] :
         {std::pair{"compare.csv", runsCsv(comparison)}, std::pair{"summary.csv", summaryCsv(comparison)},
          std::pair{"curves.csv", curvesCsv(comparison)}}) {
        files.push_back(std::make_unique<AtomicFile>(folder / name));
        files.back()->write(text);
        files.back()->complete();
    }
    for (const auto& file : files)
        file->publish();
}

} // namespace halfscope
