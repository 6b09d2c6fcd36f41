// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/csv_export.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <locale>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/core/rng.h"
#include "engine/core/version.h"
#include "engine/io/atomic_file.h"
#include "engine/io/config_json.h"
#include "tests/support/ordinary_user.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using test::OrdinaryUser;
using test::readWholeFile;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

// An independent reader of RFC 4180, so that what is written is judged by another's rules.
std::vector<std::vector<std::string>> parseCsv(const std::string& bytes)
{
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    std::string field;
    bool quoted = false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char c = bytes[i];
        if (quoted) {
            if (c != '"') {
                field.push_back(c);
            } else if (i + 1 < bytes.size() && bytes[i + 1] == '"') {
                field.push_back('"');
                ++i;
            } else {
                quoted = false;
            }
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',' || c == '\n') {
            row.push_back(field);
            field.clear();
            if (c == '\n') {
                rows.push_back(row);
                row.clear();
            }
        } else {
            field.push_back(c);
        }
    }
    EXPECT_TRUE(field.empty() && row.empty() && !quoted) << "the last line must end";
    return rows;
}

std::vector<std::string> namesIn(const fs::path& folder)
{
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

template <typename F>
std::string problemOf(F&& action)
{
    try {
        action();
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "(no problem)";
}

RunInfo makeInfo()
{
    RunInfo info;
    info.config.seed = 42;
    info.modules = {
        {"tok_emb", ModuleKind::Embedding, 640}, {"h0.mlp.fc", ModuleKind::Linear, 128}, {"loss", ModuleKind::Loss, 0}};
    info.parameterCount = 768;
    info.backend = "CPU · test";
    info.data.title = "A \"text\", of sorts";
    info.data.hash = 0xABCDEF0123456789ULL;
    info.data.vocabulary = 5;
    return info;
}

Snapshot makeSnapshot(std::int64_t step)
{
    Snapshot s;
    s.step = s.firstStep = step;
    s.scale = s.minScale = s.maxScale = 1024.0F;
    const auto tap = [&](int module, Tap kind, int exponent) {
        TapStatistics t;
        t.module = static_cast<std::int16_t>(module);
        t.tap = kind;
        t.format = FormatId::Fp16;
        t.statistics.classes[ValueClass::Normal] = 3;
        t.statistics.classes[ValueClass::Zero] = 1;
        t.statistics.histogram.at(exponent) = 2;
        t.statistics.histogram.at(exponent + 4) = 1;
        t.statistics.absMin = 0.25F;
        t.statistics.absMax = 0.1F * static_cast<float>(step);
        t.statistics.sum = 1.5;
        t.statistics.sumSquares = 4.0;
        s.taps.push_back(t);
    };
    tap(1, Tap::WeightGrad, -9); // backward order
    tap(1, Tap::ActivationGrad, -7);
    tap(0, Tap::WeightGrad, -12);
    s.taps.push_back({}); // not measured: module 0, weight gradient, no value
    s.taps.back().module = 2;
    return s;
}

StepRecord makeRecord(std::int64_t step)
{
    StepRecord r;
    r.step = step;
    r.loss = 4.25;
    r.scale = 65536.0F;
    r.scaleNext = 32768.0F;
    r.growthTracker = 17;
    r.gradNorm = 0.1;
    r.learningRate = 1e-3F;
    r.appliedSteps = step;
    r.hysteresisLeft = 1;
    r.gradAbsMin = 1e-9F;
    r.gradAbsMax = 0.5F;
    r.gradLowQuantile = 0x1p-20F;
    r.accuracy = 0.75;
    r.stepMs = 12.5F;
    r.forwardMs = 4.0F;
    r.backwardMs = 6.0F;
    r.optimizerMs = 2.0F;
    r.statisticsMs = 0.5F;
    return r;
}

// The run of one step that the following tests look at from different sides.
void writeSmallRun(const fs::path& folder)
{
    RunCsvWriter writer(folder, makeInfo());
    writer.add(makeRecord(1));
    StepRecord skipped = makeRecord(2);
    skipped.outcome = StepOutcome::SkippedOverflow;
    skipped.foundInf = true;
    skipped.scaleEvent = ScaleEvent::BackedOff;
    skipped.overflowModule = 1;
    skipped.overflowTap = 1;
    skipped.forwardSaturatedModule = 0;
    skipped.gradNorm = std::numeric_limits<double>::quiet_NaN();
    skipped.loss = std::numeric_limits<double>::infinity();
    skipped.appliedSteps = 1;
    skipped.skippedSteps = 1;
    skipped.validationLoss = 3.5;
    skipped.validationAccuracy = 0.625;
    writer.add(skipped);
    writer.add(makeSnapshot(1));
    Event command;
    command.step = 2;
    command.kind = EventKind::Command;
    command.text = "growth-interval: 2000 -> 4, \"quoted\"\nand a new line";
    command.key = "growth-interval";
    command.oldValue = "2000";
    command.newValue = "4";
    writer.add(command);
    Event pause;
    pause.step = 2;
    pause.kind = EventKind::Command;
    pause.text = "paused";
    writer.add(pause);
    Event overflow;
    overflow.step = 2;
    overflow.kind = EventKind::Overflow;
    overflow.module = 1;
    overflow.tap = 1;
    overflow.count = 14;
    overflow.largest = 79000.5F;
    overflow.scale = 65536.0F;
    overflow.scaleNext = 32768.0F;
    writer.add(overflow);
    writer.finish();
}

TEST(CsvNumber, IsTheShortestThatReadsBack)
{
    EXPECT_EQ(csvNumber(0.1), "0.1");
    EXPECT_EQ(csvNumber(0.1F), "0.1");
    EXPECT_EQ(csvNumber(static_cast<double>(0.1F)), "0.10000000149011612");
    EXPECT_EQ(csvNumber(65536.0), "65536");
    EXPECT_EQ(csvNumber(-0.0), "-0");
    EXPECT_EQ(csvNumber(1e300), "1e+300");
    EXPECT_EQ(csvNumber(0x1p-149F), "1e-45");
    EXPECT_EQ(csvNumber(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(csvNumber(-std::numeric_limits<float>::infinity()), "-inf");
    EXPECT_EQ(csvNumber(std::numeric_limits<double>::quiet_NaN()), "nan");
    EXPECT_EQ(csvNumber(-std::numeric_limits<float>::quiet_NaN()), "nan");
}

TEST(CsvNumber, EveryPatternReadsBackAsItself)
{
    Rng rng(1);
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t bits = rng.next();
        double d = 0;
        std::memcpy(&d, &bits, sizeof d);
        float f = 0;
        std::memcpy(&f, &bits, sizeof f);
        if (std::isfinite(d)) {
            const std::string text = csvNumber(d);
            double back = 0;
            std::from_chars(text.data(), text.data() + text.size(), back);
            ASSERT_EQ(std::memcmp(&d, &back, sizeof d), 0) << text;
        }
        if (std::isfinite(f)) {
            const std::string text = csvNumber(f);
            float back = 0;
            std::from_chars(text.data(), text.data() + text.size(), back);
            ASSERT_EQ(std::memcmp(&f, &back, sizeof f), 0) << text;
        }
    }
}

TEST(CsvField, QuotesOnlyWhatNeedsIt)
{
    EXPECT_EQ(csvField("plain text, no"), "\"plain text, no\"");
    EXPECT_EQ(csvField("plain text"), "plain text");
    EXPECT_EQ(csvField(""), "");
    EXPECT_EQ(csvField("say \"hi\""), "\"say \"\"hi\"\"\"");
    EXPECT_EQ(csvField("two\nlines"), "\"two\nlines\"");
    EXPECT_EQ(csvField("carriage\rreturn"), "\"carriage\rreturn\"");
    EXPECT_EQ(csvField(" edge"), "\" edge\"");
    EXPECT_EQ(csvField("für"), "für");
}

TEST(RunCsvWriter, StepsAreAsPromised)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    EXPECT_EQ(readWholeFile(folder.file("steps.csv")),
              "step,outcome,loss,scale,scale_next,found_inf,growth_tracker,grad_norm,learning_rate,applied_steps,"
              "skipped_steps,overflow_module,forward_saturated_module,overflow_tap,scale_event,hysteresis_left,"
              "grad_abs_min,grad_abs_max,grad_low_quantile,accuracy,validation_loss,validation_accuracy,shadow_loss\n"
              "1,applied,4.25,65536,32768,0,17,0.1,0.001,1,0,,,,,1,1e-09,0.5,9.536743e-07,0.75,nan,nan,nan\n"
              "2,skipped-overflow,inf,65536,32768,1,17,nan,0.001,1,1,h0.mlp.fc,tok_emb,activation_grad,backoff,1,"
              "1e-09,0.5,9.536743e-07,0.75,3.5,0.625,nan\n");
    EXPECT_EQ(readWholeFile(folder.file("timing.csv")),
              "step,step_ms,forward_ms,backward_ms,optimizer_ms,statistics_ms,shadow_ms\n"
              "1,12.5,4,6,2,0.5,0\n2,12.5,4,6,2,0.5,0\n");
}

TEST(RunCsvWriter, ShadowComparisonsAreAsPromised)
{
    const TemporaryFolder folder;
    {
        RunCsvWriter writer(folder.path(), makeInfo());
        ShadowReport report;
        report.step = 3;
        report.loss = 4.25;
        report.modules.push_back({1, {0.5, 0.125, 2.0, 4.0}});
        report.total.norm = std::numeric_limits<double>::infinity();
        report.total.shadowNorm = 5.0;
        writer.add(report);
        writer.finish();
    }
    EXPECT_EQ(readWholeFile(folder.file("shadow.csv")),
              "step,module,cosine,relative_error,norm,shadow_norm,shadow_loss\n"
              "3,h0.mlp.fc,0.5,0.125,2,4,4.25\n3,total,nan,nan,inf,5,4.25\n");
}

TEST(RunCsvWriter, LayersAndHistogramsAreAsPromised)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    // mean 1.5 / 4, rms sqrt(4 / 4), std sqrt(1 - 0.375^2) = sqrt(0.859375)
    const std::string numbers = ",fp16,4,1,0,0,3,0,0,0,0.25,0.1,0.375," + csvNumber(std::sqrt(0.859375)) + ",1,1,1,0\n";
    EXPECT_EQ(readWholeFile(folder.file("layers.csv")),
              "step,module,tap,format,count,zero,flushed,subnormal,normal,saturating,inf,nan,abs_min,abs_max,mean,std,"
              "rms,last_step,steps,own_scale\n"
              "1,tok_emb,weight_grad" +
                  numbers + "1,h0.mlp.fc,weight_grad" + numbers + "1,h0.mlp.fc,activation_grad" + numbers);
    EXPECT_EQ(readWholeFile(folder.file("histograms.csv")), "step,module,tap,exponent,count,last_step,steps\n"
                                                            "1,tok_emb,weight_grad,-12,2,1,1\n"
                                                            "1,tok_emb,weight_grad,-8,1,1,1\n"
                                                            "1,h0.mlp.fc,weight_grad,-9,2,1,1\n"
                                                            "1,h0.mlp.fc,weight_grad,-5,1,1,1\n"
                                                            "1,h0.mlp.fc,activation_grad,-7,2,1,1\n"
                                                            "1,h0.mlp.fc,activation_grad,-3,1,1,1\n");
}

TEST(RunCsvWriter, EventsSurviveCommasQuotesAndLineEnds)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    const auto rows = parseCsv(readWholeFile(folder.file("events.csv")));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_THAT(rows[0], ElementsAre("step", "kind", "text", "key", "old", "new", "module", "tap", "count", "largest",
                                     "scale", "scale_next"));
    EXPECT_THAT(rows[1], ElementsAre("2", "command", "growth-interval: 2000 -> 4, \"quoted\"\nand a new line",
                                     "growth-interval", "2000", "4", "", "", "", "", "", ""));
    EXPECT_THAT(rows[3], ElementsAre("2", "overflow", "", "", "", "", "h0.mlp.fc", "activation_grad", "14", "79000.5",
                                     "65536", "32768"));
}

TEST(RunCsvWriter, RunJsonHoldsWhatMakesTheRunAgain)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    const std::string bytes = readWholeFile(folder.file("run.json"));
    const nlohmann::json run = nlohmann::json::parse(bytes);
    EXPECT_EQ(run["seed"], 42);
    EXPECT_EQ(run["text"]["title"], "A \"text\", of sorts");
    EXPECT_EQ(run["text"]["fnv1a64"], "abcdef0123456789");
    EXPECT_EQ(run["program"]["version"], std::string(programVersion()));
    EXPECT_EQ(run["steps"]["recorded"], 2);
    EXPECT_EQ(run["steps"]["applied"], 1);
    EXPECT_EQ(run["steps"]["skipped"], 1);
    ASSERT_EQ(run["commands"].size(), 1U); // pausing is none
    EXPECT_EQ(run["commands"][0]["step"], 2);
    EXPECT_EQ(run["commands"][0]["key"], "growth-interval");
    EXPECT_EQ(run["commands"][0]["value"], "4");
    // The configuration comes back from it.
    EXPECT_EQ(configFromJson(bytes), makeInfo().config);
}

TEST(RunCsvWriter, TheSameRunGivesTheSameBytes)
{
    const TemporaryFolder a;
    const TemporaryFolder b;
    writeSmallRun(a.path());
    writeSmallRun(b.path());
    for (const std::string& name : namesIn(a.path()))
        EXPECT_EQ(readWholeFile(a.file(name)), readWholeFile(b.file(name))) << name;
}

TEST(RunCsvWriter, HistoryAndLiveSnapshotsGiveTheSameFiles)
{
    const TemporaryFolder live;
    const TemporaryFolder exported;
    HistogramHistory history(3);
    RunCsvWriter liveWriter(live.path(), makeInfo());
    for (std::int64_t step = 1; step <= 300; ++step) {
        liveWriter.add(makeSnapshot(step));
        history.append(makeSnapshot(step));
    }
    liveWriter.finish();
    RunCsvWriter writer(exported.path(), makeInfo());
    for (std::size_t i = 0; i < history.rowCount(); ++i)
        writer.add(history.row(i), history);
    writer.finish();
    for (const char* name : {"layers.csv", "histograms.csv"}) {
        EXPECT_EQ(readWholeFile(live.file(name)), readWholeFile(exported.file(name))) << name;
        EXPECT_GT(fs::file_size(live.file(name)), 10'000U);
    }
}

TEST(RunCsvWriter, MergedRowsSayWhatTheyCover)
{
    const TemporaryFolder folder;
    HistogramHistory history(3);
    for (std::int64_t step = 10; step <= 10 + 1024; ++step) // one more than stays whole: the first four are one row
        history.append(makeSnapshot(step));
    RunCsvWriter writer(folder.path(), makeInfo());
    writer.add(history.row(0), history);
    writer.finish();
    const auto rows = parseCsv(readWholeFile(folder.file("layers.csv")));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1][0], "10");
    EXPECT_EQ(rows[1][4], "16"); // count: four times four values
    EXPECT_EQ(rows[1][17], "13");
    EXPECT_EQ(rows[1][18], "4");
    const auto bins = parseCsv(readWholeFile(folder.file("histograms.csv")));
    EXPECT_THAT(bins[1], ElementsAre("10", "tok_emb", "weight_grad", "-12", "8", "13", "4"));

    Snapshot sum = makeSnapshot(9); // snapshots merged on their way
    sum.firstStep = 3;
    sum.measuredSteps = 7;
    RunCsvWriter second(folder.path(), makeInfo());
    second.add(sum);
    second.finish();
    const auto merged = parseCsv(readWholeFile(folder.file("histograms.csv")));
    EXPECT_THAT(merged[1], ElementsAre("3", "tok_emb", "weight_grad", "-12", "2", "9", "7"));
}

// A locale that would write 1.234,5 if anybody asked it.
struct GermanNumbers : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST(RunCsvWriter, IgnoresTheLocale)
{
    const TemporaryFolder plain;
    writeSmallRun(plain.path());
    const TemporaryFolder german;
    const std::locale before = std::locale::global(std::locale(std::locale(), new GermanNumbers));
    writeSmallRun(german.path());
    std::locale::global(before);
    for (const std::string& name : namesIn(plain.path()))
        EXPECT_EQ(readWholeFile(plain.file(name)), readWholeFile(german.file(name))) << name;
}

TEST(RunCsvWriter, UpdatesAndScalesAreAsPromised)
{
    const TemporaryFolder folder;
    {
        RunCsvWriter writer(folder.path(), makeInfo());
        Snapshot snapshot;
        snapshot.step = snapshot.firstStep = 3;
        TapStatistics tap;
        tap.format = FormatId::Fp8E5M2;
        tap.ownScale = 4096.0F;
        tap.statistics.classes[ValueClass::Zero] = 5;
        snapshot.taps.push_back(tap);
        ModuleUpdates update;
        update.format = FormatId::Bf16;
        update.statistics.weights = 9;
        update.statistics.unchanged = 2;
        update.statistics.fromZero = 1;
        update.statistics.nonfinite = 1;
        update.statistics.lost = 3;
        update.statistics.ratios.at(-9) = 5;
        snapshot.updates.push_back(update);
        writer.add(snapshot);
        writer.finish();
    }
    EXPECT_EQ(readWholeFile(folder.file("updates.csv")),
              "step,module,format,weights,updates,lost,unchanged,from_zero,nonfinite,last_step,steps\n"
              "3,tok_emb,bf16,9,6,3,2,1,1,3,1\n");
    EXPECT_EQ(readWholeFile(folder.file("histograms.csv")), "step,module,tap,exponent,count,last_step,steps\n"
                                                            "3,tok_emb,update_ratio,-9,5,3,1\n");
    const auto rows = parseCsv(readWholeFile(folder.file("layers.csv")));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].back(), "own_scale");
    EXPECT_EQ(rows[1].back(), "4096");
}

TEST(RunCsvWriter, CreatesFoldersAndLeavesNothingElse)
{
    const TemporaryFolder folder;
    const fs::path deep = folder.path() / "a" / "b c" / "ü";
    std::vector<fs::path> files;
    {
        RunCsvWriter writer(deep, makeInfo());
        writer.add(makeRecord(1));
        EXPECT_EQ(namesIn(deep).size(), 8U); // temporary ones
        writer.finish();
        writer.finish(); // harmless
        files = writer.files();
    }
    EXPECT_THAT(namesIn(deep), ElementsAre("events.csv", "histograms.csv", "layers.csv", "run.json", "shadow.csv",
                                           "steps.csv", "timing.csv", "updates.csv"));
    ASSERT_EQ(files.size(), 8U);
    for (const fs::path& file : files)
        EXPECT_TRUE(fs::exists(file)) << file;
    struct stat status = {};
    ASSERT_EQ(stat((deep / "steps.csv").c_str(), &status), 0);
    const mode_t mask = umask(0);
    umask(mask);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST(RunCsvWriter, AnUnfinishedRunLeavesTheOldFiles)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    const std::string old = readWholeFile(folder.file("steps.csv"));
    {
        RunCsvWriter writer(folder.path(), makeInfo());
        writer.add(makeRecord(7));
    }
    EXPECT_EQ(readWholeFile(folder.file("steps.csv")), old);
    EXPECT_EQ(namesIn(folder.path()).size(), 8U);
}

// A limit on the size of files acts like a full disk: writing stops in the middle.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes)
    {
        m_oldHandler = std::signal(SIGXFSZ, SIG_IGN); // an error code instead of the end of the process
        getrlimit(RLIMIT_FSIZE, &m_old);
        rlimit limit = m_old;
        limit.rlim_cur = bytes;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            throw std::runtime_error("cannot limit the size of files");
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit()
    {
        setrlimit(RLIMIT_FSIZE, &m_old);
        std::signal(SIGXFSZ, m_oldHandler);
    }

private:
    rlimit m_old = {};
    void (*m_oldHandler)(int) = nullptr;
};

TEST(RunCsvWriter, AFullDiskIsNamedAndLeavesTheOldFiles)
{
    const TemporaryFolder folder;
    writeSmallRun(folder.path());
    std::vector<std::string> old;
    for (const std::string& name : namesIn(folder.path()))
        old.push_back(readWholeFile(folder.file(name)));

    std::string problem;
    {
        const FileSizeLimit limit(100'000);
        problem = problemOf([&] {
            RunCsvWriter writer(folder.path(), makeInfo());
            for (std::int64_t step = 1; step <= 2000; ++step) // steps.csv: 80 bytes a step
                writer.add(makeRecord(step));
            writer.finish();
        });
    }
    EXPECT_THAT(problem, AllOf(HasSubstr("Cannot write \"" + folder.file("steps.csv") + "\""), HasSubstr("too large")));
    EXPECT_EQ(problem.find('\n'), std::string::npos);
    const std::vector<std::string> names = namesIn(folder.path());
    ASSERT_EQ(names.size(), old.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(readWholeFile(folder.file(names[i])), old[i]) << names[i];
}

TEST(RunCsvWriter, AFolderThatCannotBeWrittenIsNamed)
{
    const TemporaryFolder folder;
    fs::permissions(folder.path(),
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    {
        const OrdinaryUser user;
        EXPECT_THAT(problemOf([&] { RunCsvWriter(folder.path(), makeInfo()); }),
                    AllOf(HasSubstr(folder.file("steps.csv")), HasSubstr("ermission"), HasSubstr("choose a folder")));
        EXPECT_THAT(
            problemOf([&] { RunCsvWriter(folder.path() / "new", makeInfo()); }),
            AllOf(HasSubstr("Cannot create the folder"), HasSubstr(folder.file("new")), HasSubstr("ermission")));
    }
    fs::permissions(folder.path(), fs::perms::owner_all);

    const std::string file = folder.write("file", "x");
    EXPECT_THAT(problemOf([&] { RunCsvWriter(file, makeInfo()); }),
                AllOf(HasSubstr("Cannot create the folder \"" + file + "\""), HasSubstr("ot a directory")));
    EXPECT_THAT(problemOf([&] { RunCsvWriter(file + "/below", makeInfo()); }), HasSubstr("Cannot create the folder"));
}

TEST(RunCsvWriter, RefusesAModuleThatIsNotThere)
{
    const TemporaryFolder folder;
    RunCsvWriter writer(folder.path(), makeInfo());
    StepRecord record = makeRecord(1);
    record.overflowModule = 3;
    EXPECT_THROW(writer.add(record), std::out_of_range);
}

TEST(AtomicFile, RefusesFoldersAndDevices)
{
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "taken");
    EXPECT_THAT(problemOf([&] { AtomicFile(folder.path() / "taken"); }), HasSubstr("directory"));
    fs::create_symlink("/dev/full", folder.path() / "device"); // must not be replaced by a file
    EXPECT_THAT(problemOf([&] { AtomicFile(folder.path() / "device"); }), HasSubstr("not a regular file"));
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_THAT(problemOf([&] { AtomicFile(folder.path() / "pipe"); }), HasSubstr("not a regular file"));
}

TEST(AtomicFile, ATargetThatBecameAFolderIsNoticedBeforeAnyIsPublished)
{
    const TemporaryFolder folder;
    AtomicFile file(folder.path() / "a.csv");
    file.write("one");
    fs::create_directory(folder.path() / "a.csv");
    EXPECT_THAT(problemOf([&] { file.complete(); }), HasSubstr("directory"));
}

TEST(AtomicFile, WhatIsFlushedCanBeReadAndKept)
{
    const TemporaryFolder folder;
    {
        AtomicFile file(folder.path() / "a.csv");
        file.write("one\n");
        file.flush();
        const std::vector<std::string> names = namesIn(folder.path());
        ASSERT_EQ(names.size(), 1U);
        EXPECT_EQ(readWholeFile((folder.path() / names[0]).string()), "one\n");
        file.keep();
    }
    ASSERT_EQ(namesIn(folder.path()).size(), 1U);
    EXPECT_THAT(namesIn(folder.path())[0], HasSubstr("a.csv.part-"));
}

// A disk that is freed again after a write failed: what comes later must not be published behind a hole.
TEST(AtomicFile, IsLostForGoodOnceAWriteFailed)
{
    const TemporaryFolder folder;
    folder.write("a.csv", "old");
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, SIG_IGN);
    {
        AtomicFile file(folder.path() / "a.csv");
        const rlimit small{100'000, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        EXPECT_THAT(problemOf([&] { file.write(std::string(300'000, 'x')); }), HasSubstr("File too large"));
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_THAT(problemOf([&] { file.publish(); }), HasSubstr("File too large"));
    }
    EXPECT_EQ(readWholeFile((folder.path() / "a.csv").string()), "old");
}

TEST(AtomicFile, NoticesThatItsFolderIsGone)
{
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "run");
    AtomicFile file(folder.path() / "run/a.csv");
    fs::remove_all(folder.path() / "run");
    EXPECT_THAT(problemOf([&] { file.write(std::string(300'000, 'x')); }), HasSubstr("was deleted"));
}

TEST(AtomicFile, FollowsALinkThatLeadsNowhereYet)
{
    const TemporaryFolder folder;
    fs::create_symlink("later.csv", folder.path() / "link.csv");
    AtomicFile file(folder.path() / "link.csv");
    file.write("new");
    file.publish();
    EXPECT_TRUE(fs::is_symlink(folder.path() / "link.csv"));
    EXPECT_EQ(readWholeFile((folder.path() / "later.csv").string()), "new");
}

TEST(AtomicFile, FollowsLinksAndKeepsPermissions)
{
    const TemporaryFolder folder;
    const TemporaryFolder elsewhere;
    const std::string real = elsewhere.write("real.csv", "old");
    fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink(real, folder.path() / "link.csv");
    AtomicFile file(folder.path() / "link.csv");
    file.write("new");
    EXPECT_EQ(readWholeFile(real), "old");
    file.publish();
    EXPECT_EQ(readWholeFile(real), "new");
    EXPECT_TRUE(fs::is_symlink(folder.path() / "link.csv"));
    EXPECT_EQ(fs::status(real).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_THAT(namesIn(elsewhere.path()), ElementsAre("real.csv"));
}

TEST(AtomicFile, IsInvisibleUntilPublished)
{
    const TemporaryFolder folder;
    {
        AtomicFile file(folder.path() / "a.csv");
        file.write(std::string(1'000'000, 'x'));
        file.complete();
        EXPECT_FALSE(fs::exists(folder.path() / "a.csv"));
    }
    EXPECT_THAT(namesIn(folder.path()), IsEmpty());
    AtomicFile file(folder.path() / "a.csv");
    file.write(std::string(1'000'000, 'y'));
    file.publish();
    EXPECT_EQ(readWholeFile(folder.file("a.csv")), std::string(1'000'000, 'y'));
}

} // namespace
} // namespace halfscope
