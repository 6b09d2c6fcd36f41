// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/csv_export.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "engine/io/atomic_file.h"
#include "engine/io/csv_row.h"
#include "engine/io/run_json.h"

namespace halfscope {
namespace {

// The columns up to overflow/forward_saturated module, to rms, to count and to new are promised to scripts; what is
// added later goes behind them.
constexpr std::string_view kStepColumns =
    "step,outcome,loss,scale,scale_next,found_inf,growth_tracker,grad_norm,learning_rate,applied_steps,skipped_steps,"
    "overflow_module,forward_saturated_module,overflow_tap,scale_event,hysteresis_left,grad_abs_min,grad_abs_max,"
    "grad_low_quantile,accuracy,validation_loss,validation_accuracy,shadow_loss";
constexpr std::string_view kTimingColumns = "step,step_ms,forward_ms,backward_ms,optimizer_ms,statistics_ms,shadow_ms";
constexpr std::string_view kLayerColumns =
    "step,module,tap,format,count,zero,flushed,subnormal,normal,saturating,inf,nan,abs_min,abs_max,mean,std,rms,"
    "last_step,steps,own_scale";
constexpr std::string_view kHistogramColumns = "step,module,tap,exponent,count,last_step,steps";
constexpr std::string_view kEventColumns = "step,kind,text,key,old,new,module,tap,count,largest,scale,scale_next";

constexpr std::string_view kShadowColumns = "step,module,cosine,relative_error,norm,shadow_norm,shadow_loss";
constexpr std::string_view kTotal = "total"; // in place of a module
constexpr std::string_view kUpdateColumns =
    "step,module,format,weights,updates,lost,unchanged,from_zero,nonfinite,last_step,steps";
constexpr std::string_view kUpdateRatio = "update_ratio"; // in place of a tap, in histograms.csv

constexpr std::array<std::string_view, 8> kFileNames = {"steps.csv",  "layers.csv", "histograms.csv", "events.csv",
                                                        "timing.csv", "shadow.csv", "updates.csv",    "run.json"};

// The steps a row of layers.csv or histograms.csv is the sum of.
struct Covered {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t measured = 1;
};

} // namespace

struct RunCsvWriter::Impl {
    Impl(const std::filesystem::path& folder, const RunInfo& runInfo);

    std::string_view moduleName(int module) const;
    void addTap(const Covered& steps, int module, Tap tap, FormatId format, const TensorStatistics& s, float ownScale);
    void addUpdates(const Covered& steps, const ModuleUpdates& update);
    void addHistogram(const Covered& steps, int module, std::string_view tap, const ExponentHistogram& histogram);

    RunInfo info;
    RunTotals totals;
    std::vector<RecordedCommand> commands;
    CsvRow row;
    // In the order of kFileNames.
    AtomicFile steps;
    AtomicFile layers;
    AtomicFile histograms;
    AtomicFile events;
    AtomicFile timing;
    AtomicFile shadow;
    AtomicFile updates;
    AtomicFile run;
    std::array<AtomicFile*, kFileNames.size()> all;
    std::chrono::steady_clock::time_point flushed = std::chrono::steady_clock::now();
    bool finished = false;
};

RunCsvWriter::Impl::Impl(const std::filesystem::path& folder, const RunInfo& runInfo)
    : info(runInfo),
      steps((createFolder(folder), folder / kFileNames[0])),
      layers(folder / kFileNames[1]),
      histograms(folder / kFileNames[2]),
      events(folder / kFileNames[3]),
      timing(folder / kFileNames[4]),
      shadow(folder / kFileNames[5]),
      updates(folder / kFileNames[6]),
      run(folder / kFileNames[7]),
      all{&steps, &layers, &histograms, &events, &timing, &shadow, &updates, &run}
{
    const auto header = [this](AtomicFile& file, std::string_view columns) {
        file.write(row.verbatim(columns).finish());
    };
    header(steps, kStepColumns);
    header(layers, kLayerColumns);
    header(histograms, kHistogramColumns);
    header(events, kEventColumns);
    header(timing, kTimingColumns);
    header(shadow, kShadowColumns);
    header(updates, kUpdateColumns);
}

std::string_view RunCsvWriter::Impl::moduleName(int module) const
{
    if (module < 0) // none
        return {};
    return info.modules.at(static_cast<std::size_t>(module)).name;
}

void RunCsvWriter::Impl::addTap(const Covered& covered, int module, Tap tap, FormatId format, const TensorStatistics& s,
                                float ownScale)
{
    if (s.count() == 0) // not measured
        return;
    row.number(covered.first).text(moduleName(module)).text(tapKey(tap)).text(floatFormat(format).key);
    row.number(s.count());
    for (const std::uint64_t count : s.classes.of) // in the order of the columns
        row.number(count);
    row.number(s.absMin).number(s.absMax).number(s.mean()).number(s.standardDeviation()).number(s.rms());
    layers.write(row.number(covered.last).number(covered.measured).number(ownScale).finish());
    addHistogram(covered, module, tapKey(tap), s.histogram);
}

void RunCsvWriter::Impl::addHistogram(const Covered& covered, int module, std::string_view tap,
                                      const ExponentHistogram& histogram)
{
    for (int exponent = ExponentHistogram::kMinExponent; exponent <= ExponentHistogram::kMaxExponent; ++exponent) {
        const std::uint64_t count = histogram.at(exponent);
        if (count == 0)
            continue;
        row.number(covered.first).text(moduleName(module)).text(tap).number(exponent).number(count);
        histograms.write(row.number(covered.last).number(covered.measured).finish());
    }
}

void RunCsvWriter::Impl::addUpdates(const Covered& covered, const ModuleUpdates& update)
{
    const UpdateStatistics& s = update.statistics;
    row.number(covered.first).text(moduleName(update.module)).text(floatFormat(update.format).key);
    row.number(s.weights).number(s.updates()).number(s.lost).number(s.unchanged).number(s.fromZero);
    updates.write(row.number(s.nonfinite).number(covered.last).number(covered.measured).finish());
    addHistogram(covered, update.module, kUpdateRatio, s.ratios);
}

RunCsvWriter::RunCsvWriter(const std::filesystem::path& folder, const RunInfo& info)
    : m_impl(std::make_unique<Impl>(folder, info))
{
}

RunCsvWriter::~RunCsvWriter() = default;

void RunCsvWriter::add(const StepRecord& r)
{
    Impl& w = *m_impl;
    if (const auto now = std::chrono::steady_clock::now(); now - w.flushed >= std::chrono::seconds(1)) {
        for (AtomicFile* file : w.all)
            file->flush();
        w.flushed = now;
    }
    w.row.number(r.step)
        .text(outcomeKey(r.outcome))
        .number(r.loss)
        .number(static_cast<double>(r.scale))
        .number(static_cast<double>(r.scaleNext));
    w.row.number(r.foundInf ? 1 : 0).number(r.growthTracker).number(r.gradNorm).number(r.learningRate);
    w.row.number(r.appliedSteps).number(r.skippedSteps);
    w.row.text(w.moduleName(r.overflowModule)).text(w.moduleName(r.forwardSaturatedModule));
    w.row.text(r.overflowTap < 0 ? std::string_view() : tapKey(static_cast<Tap>(r.overflowTap)));
    w.row.text(scaleEventKey(r.scaleEvent)).number(r.hysteresisLeft);
    w.row.number(r.gradAbsMin).number(r.gradAbsMax).number(r.gradLowQuantile);
    w.row.number(r.accuracy).number(r.validationLoss).number(r.validationAccuracy).number(r.shadowLoss);
    w.steps.write(w.row.finish());

    w.row.number(r.step).number(r.stepMs).number(r.forwardMs).number(r.backwardMs);
    w.timing.write(w.row.number(r.optimizerMs).number(r.statisticsMs).number(r.shadowMs).finish());

    ++w.totals.steps;
    w.totals.applied = r.appliedSteps;
    w.totals.skipped = r.skippedSteps;
}

void RunCsvWriter::add(const Event& e)
{
    Impl& w = *m_impl;
    w.row.number(e.step).text(eventKindKey(e.kind)).text(e.text).text(e.key).text(e.oldValue).text(e.newValue);
    w.row.text(w.moduleName(e.module)).text(e.tap < 0 ? std::string_view() : tapKey(static_cast<Tap>(e.tap)));
    if (e.kind == EventKind::Overflow)
        w.row.number(e.count)
            .number(e.largest)
            .number(static_cast<double>(e.scale))
            .number(static_cast<double>(e.scaleNext));
    else
        w.row.empty().empty().empty().empty();
    w.events.write(w.row.finish());

    // What has a key changed the run; pausing and resuming did not.
    if ((e.kind == EventKind::Command || e.kind == EventKind::Injected) && !e.key.empty()) {
        w.commands.push_back({e.step, e.key, e.newValue,
                              e.tap < 0 ? std::string() : std::string(tapKey(static_cast<Tap>(e.tap))), e.since});
    }
}

void RunCsvWriter::add(const Snapshot& snapshot)
{
    const Covered covered = {snapshot.measuredSteps > 1 ? snapshot.firstStep : snapshot.step, snapshot.step,
                             snapshot.measuredSteps};
    // The snapshot is in backward order; the files are in forward order, whether written live or from the history.
    std::vector<const TapStatistics*> taps(snapshot.taps.size());
    std::ranges::transform(snapshot.taps, taps.begin(), [](const TapStatistics& t) { return &t; });
    std::ranges::stable_sort(taps, {}, [](const TapStatistics* t) { return std::pair(t->module, t->tap); });
    for (const TapStatistics* t : taps)
        m_impl->addTap(covered, t->module, t->tap, t->format, t->statistics, t->ownScale);
    for (const ModuleUpdates& update : snapshot.updates)
        m_impl->addUpdates(covered, update);
}

void RunCsvWriter::add(const ShadowReport& report)
{
    Impl& w = *m_impl;
    const auto add = [&](std::string_view module, const GradientComparison& g) {
        w.row.number(report.step).text(module).number(g.cosine).number(g.relativeError);
        w.shadow.write(w.row.number(g.norm).number(g.shadowNorm).number(report.loss).finish());
    };
    for (const ShadowReport::Module& m : report.modules)
        add(w.moduleName(m.module), m.gradient);
    add(kTotal, report.total);
}

void RunCsvWriter::add(const Continuation& continuation) { m_impl->info.continuations.push_back(continuation); }

void RunCsvWriter::add(const HistoryRow& row, const HistogramHistory& history)
{
    const Covered covered = {row.firstStep, row.lastStep, row.measuredSteps};
    for (int module = 0; module < history.moduleCount(); ++module) {
        for (int tap = 0; tap < kTapCount; ++tap) {
            const SparseHistogram& h =
                row.taps.at(static_cast<std::size_t>(history.tapIndex(module, static_cast<Tap>(tap))));
            m_impl->addTap(covered, module, static_cast<Tap>(tap), h.format, h.expand(), h.ownScale);
        }
    }
}

void RunCsvWriter::add(const UpdateRow& row)
{
    for (const SparseUpdates& update : row.modules)
        m_impl->addUpdates({row.firstStep, row.lastStep, row.measuredSteps}, update.expand());
}

void RunCsvWriter::keepParts()
{
    for (AtomicFile* file : m_impl->all) {
        try {
            file->flush();
        } catch (const std::runtime_error&) { // the disk is full: what is there is there
        }
        file->keep();
    }
}

void RunCsvWriter::finish()
{
    Impl& w = *m_impl;
    if (w.finished)
        return;
    w.run.write(runJson(w.info, w.commands, w.totals));
    // First every file is safe on the disk, then all take their names: a full disk leaves the old set whole.
    for (AtomicFile* file : w.all)
        file->complete();
    for (AtomicFile* file : w.all)
        file->publish();
    w.finished = true;
}

std::vector<std::filesystem::path> RunCsvWriter::files() const
{
    std::vector<std::filesystem::path> paths;
    for (const AtomicFile* file : m_impl->all)
        paths.push_back(file->target());
    return paths;
}

} // namespace halfscope
