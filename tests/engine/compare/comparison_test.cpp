// SPDX-License-Identifier: GPL-3.0-or-later
// Comparisons of tiny models: the same numbers as separate runs, whatever interrupts them.
#include "engine/compare/comparison.h"

#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/compare/comparison_run.h"
#include "engine/compare/comparison_summary.h"
#include "engine/io/comparison_json.h"
#include "engine/io/comparison_report.h"
#include "engine/model/transformer.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

ComparisonPlan smallPlan()
{
    ComparisonPlan plan;
    plan.base = smallRun();
    plan.base.model.width = 16;
    plan.base.model.depth = 1;
    plan.base.seed = 5;
    plan.base.validationInterval = 5;
    plan.base.validationExamples = 8;
    plan.formats = {"fp32", "mixed-fp16", "mixed-bf16"};
    plan.seeds = 2;
    plan.steps = 12;
    return plan;
}

Comparison compared(const ComparisonPlan& plan)
{
    Comparison comparison(plan);
    EXPECT_TRUE(runComparison(comparison, {}));
    return comparison;
}

// All but how long it took.
void expectSame(const Comparison& a, const Comparison& b)
{
    ASSERT_EQ(a.runs.size(), b.runs.size());
    for (std::size_t i = 0; i < a.runs.size(); ++i) {
        ASSERT_TRUE(a.runs[i] && b.runs[i]) << i;
        ComparedRun x = *a.runs[i];
        ComparedRun y = *b.runs[i];
        x.stepMs = y.stepMs = 0.0;
        EXPECT_TRUE(x == y) << "run " << i;
    }
    EXPECT_EQ(curvesCsv(a), curvesCsv(b));
}

TEST(Comparison, HasTheNumbersOfSeparateRuns)
{
    const ComparisonPlan plan = smallPlan();
    const Comparison comparison = compared(plan);
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        const ComparedRun& run = *comparison.runs[i];
        EXPECT_EQ(run.format, plan.formats[i % 3]);
        EXPECT_EQ(run.seed, 5 + i / 3);
        RunConfig config = plan.base; // as somebody would set it by hand; measuring every step changes nothing
        config.seed = run.seed;
        config.precision = run.format;
        if (run.format != "mixed-fp16")
            config.scaler = findScalerPreset("off")->config;
        Trainer trainer(config);
        ASSERT_EQ(run.loss.size(), 12U);
        StepRecord last;
        for (const double loss : run.loss) {
            last = trainer.step().record;
            EXPECT_EQ(loss, last.loss); // to the bit
        }
        ASSERT_EQ(run.accuracy.size(), 12U);
        EXPECT_EQ(run.accuracy.back(), last.accuracy);
        // Held-out examples: after every fifth step, as the settings say, and after the last one.
        ASSERT_EQ(run.heldOut.size(), 3U);
        EXPECT_EQ(run.heldOut[1].step, 10);
        EXPECT_EQ(run.heldOut[2].step, 12);
        const EvaluationPtr end = trainer.answer(RequestValidation{});
        EXPECT_EQ(run.heldOutLoss(), end->validation->loss);
        EXPECT_EQ(run.heldOutAccuracy(), end->validation->accuracy);
        EXPECT_EQ(run.skipped, last.skippedSteps);
        EXPECT_EQ(run.finalScale, static_cast<double>(last.scaleNext));
        EXPECT_EQ(run.end, RunEnd::Completed);
        EXPECT_EQ(run.bytes.total(), static_cast<double>(trainer.model().bytes()));
    }
    EXPECT_NE(comparison.runs[0]->loss, comparison.runs[1]->loss);
    EXPECT_NE(comparison.runs[0]->loss, comparison.runs[3]->loss);
}

// Of a model whose tensors can be counted by hand: FP32 keeps no copies, FP16 holds its linear layers twice more.
TEST(Comparison, CountsMemoryByKind)
{
    const Comparison comparison = compared(smallPlan());
    const MemoryUse& fp32 = comparison.runs[0]->bytes;
    const MemoryUse& fp16 = comparison.runs[1]->bytes;
    Trainer trainer(configOf(comparison.plan, 0));
    const auto parameters = static_cast<double>(trainer.info().parameterCount);
    EXPECT_EQ(fp32.weights, 4.0 * parameters);
    EXPECT_EQ(fp32.gradients, 4.0 * parameters);
    EXPECT_EQ(fp32.moments, 8.0 * parameters);
    EXPECT_EQ(fp16.moments, fp32.moments);
    double linear = 0.0;
    for (const ModuleInfo& module : trainer.info().modules)
        linear += module.kind == ModuleKind::Linear ? static_cast<double>(module.parameters) : 0.0;
    EXPECT_EQ(fp16.weights, fp32.weights + 2.0 * linear);
    EXPECT_EQ(fp16.gradients, fp32.gradients - 2.0 * linear);
    EXPECT_LT(fp16.activations, fp32.activations);
}

TEST(Comparison, GoesOnWhereItWasGivenUp)
{
    const ComparisonPlan plan = smallPlan();
    const Comparison whole = compared(plan);
    for (const std::size_t stopAt : {0U, 1U, 4U}) {
        Comparison part(plan);
        std::string saved = comparisonToJson(part);
        ComparisonHooks hooks;
        hooks.changed = [&](const Comparison& c) { saved = comparisonToJson(c); };
        hooks.goOn = [&](const ComparisonProgress& p) {
            return p.run != stopAt || p.current == nullptr || p.current->loss.size() < 7;
        };
        EXPECT_FALSE(runComparison(part, hooks));
        Comparison again = comparisonFromJson(saved); // all that is left when the process was killed
        EXPECT_EQ(again.done(), stopAt);
        EXPECT_TRUE(runComparison(again, {}));
        expectSame(whole, again);
        EXPECT_EQ(whole.data, again.data);
    }
}

TEST(Comparison, SurvivesItsFileToTheBit)
{
    Comparison comparison = compared(smallPlan());
    auto odd = std::make_shared<ComparedRun>(*comparison.runs[2]);
    odd->loss[3] = std::numeric_limits<double>::quiet_NaN();
    odd->loss[4] = std::numeric_limits<double>::infinity();
    odd->loss[5] = 0.1 + 0.2;
    odd->reason = "a \"quoted\" reason,\nin two lines";
    odd->heldOut = {{5, 1.0 / 3.0, 0.25}, {12, 0.3, std::numeric_limits<double>::quiet_NaN()}};
    odd->accuracy.assign(12, 1.0 / 7.0);
    comparison.runs[2] = odd;
    comparison.speeds = {{"fp32", 12.5, 1.0}};
    const test::TemporaryFolder folder;
    saveComparison(folder.file("c.json"), comparison);
    const Comparison read = loadComparison(folder.file("c.json"));
    EXPECT_EQ(comparisonToJson(read), comparisonToJson(comparison));
    EXPECT_EQ(read.plan, comparison.plan);
    EXPECT_EQ(runsCsv(read), runsCsv(comparison));
    EXPECT_EQ(summaryCsv(read), summaryCsv(comparison));
    EXPECT_EQ(curvesCsv(read), curvesCsv(comparison));
}

std::string refusal(const std::string& json)
{
    try {
        comparisonFromJson(json);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "accepted";
}

TEST(Comparison, AFileThatDoesNotFitIsRefused)
{
    const std::string good = comparisonToJson(compared(smallPlan()));
    const auto changed = [&](const std::string& what, const std::string& by) {
        std::string text = good;
        const std::size_t at = text.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return refusal(text.replace(at, what.size(), by));
    };
    EXPECT_EQ(refusal(good), "accepted");
    EXPECT_THAT(refusal("{}"), HasSubstr("no comparison"));
    EXPECT_THAT(refusal(good.substr(0, good.size() / 2)), HasSubstr("not JSON"));
    EXPECT_THAT(changed("\"version\": 1", "\"version\": 2"), HasSubstr("another version"));
    EXPECT_THAT(changed("\"seeds\": 2", "\"seeds\": 1"), HasSubstr("only 3"));
    EXPECT_THAT(changed("\"seeds\": 2", "\"seeds\": 0"), HasSubstr("from 1 to"));
    EXPECT_THAT(changed("\"steps\": 12", "\"steps\": 13"), HasSubstr("is not the one"));
    EXPECT_THAT(changed("\"steps\": 12", "\"steps\": 11"), HasSubstr("is not the one"));
    EXPECT_THAT(changed("\"mixed-fp16\"", "\"mixed-fp17\""), HasSubstr("nearest is mixed-fp16"));
    EXPECT_THAT(changed("\"end\": \"completed\"", "\"end\": \"done\""), HasSubstr("unknown way"));
    EXPECT_THAT(changed("\"loss\": [", "\"loss\": [\"x\","), HasSubstr("number is missing"));
    EXPECT_THAT(changed("\"skipped\"", "\"skip\""), HasSubstr("incomplete"));
    EXPECT_THAT(changed("\"fnv1a64\": \"", "\"fnv1a64\": \"z"), HasSubstr("incomplete"));
}

// A model too large for the machine fails, and says so; the others are what they would have been.
TEST(Comparison, ARunThatFailsLeavesTheOthersAlone)
{
    ComparisonPlan plan = smallPlan();
    plan.formats = {"fp32", "mixed-fp16"};
    plan.base.scaler.initialScale = 0x1p120;
    plan.base.scaler.maxOverflows = 3; // raises after some overflows in a row, as an original does
    plan.base.scaler.minScale = 0x1p110;
    Comparison comparison(plan);
    ASSERT_EQ(problemOf(plan), std::nullopt);
    EXPECT_TRUE(runComparison(comparison, {}));
    const ComparedRun& fp32 = *comparison.runs[0];
    const ComparedRun& fp16 = *comparison.runs[1];
    EXPECT_EQ(fp32.end, RunEnd::Completed);
    EXPECT_EQ(fp16.end, RunEnd::EndedEarly);
    EXPECT_THAT(fp16.reason, HasSubstr("at step "));
    EXPECT_LT(fp16.loss.size(), 12U);
    const std::vector<FormatSummary> rows = summarise(comparison);
    EXPECT_EQ(rows[0].completed, 2);
    EXPECT_EQ(rows[1].completed, 0);
    EXPECT_EQ(rows[1].finalLoss.count, 0);
    EXPECT_THAT(rows[1].problem, HasSubstr("seed 5 ended at step "));
    EXPECT_THAT(comparisonText(comparison), HasSubstr("Mixed FP16: 2 runs did not complete; seed 5 ended"));
    plan.formats = {"fp32"};
    EXPECT_EQ(compared(plan).runs[0]->loss, fp32.loss);
}

TEST(Comparison, WhatFailedIsTriedAgain)
{
    const ComparisonPlan plan = smallPlan();
    Comparison comparison = compared(plan);
    const Comparison whole = comparison;
    auto failed = std::make_shared<ComparedRun>(*comparison.runs[4]);
    failed->end = RunEnd::Failed;
    failed->loss.resize(3);
    comparison.runs[4] = failed;
    comparison.forgetFailures();
    EXPECT_EQ(comparison.done(), 5U);
    EXPECT_TRUE(runComparison(comparison, {}));
    expectSame(whole, comparison);
}

TEST(Comparison, OtherDataAreRefused)
{
    ComparisonPlan plan = smallPlan();
    const test::TemporaryFolder folder;
    const auto write = [&](const std::string& end) {
        std::ifstream in(plan.base.text, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        std::ofstream(folder.file("text.txt"), std::ios::binary) << text.str() << end;
    };
    write("");
    const std::string original = plan.base.text;
    plan.base.text = folder.file("text.txt");
    Comparison comparison = compared(plan);
    comparison.runs[5].reset();
    plan.base.text = original;
    std::ofstream(folder.file("text.txt"), std::ios::app) << " and more";
    try {
        runComparison(comparison, {});
        ADD_FAILURE() << "accepted";
    } catch (const std::runtime_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("The data are not those"));
    }
    EXPECT_EQ(comparison.done(), 5U);
}

TEST(ComparisonPlan, SaysWhatIsWrongWithIt)
{
    const auto problem = [](const std::function<void(ComparisonPlan&)>& change) {
        ComparisonPlan plan = smallPlan();
        change(plan);
        return problemOf(plan).value_or("none");
    };
    EXPECT_EQ(problem([](ComparisonPlan&) {}), "none");
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.formats.clear(); }), HasSubstr("nothing to compare"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.formats[0] = "fp23"; }), HasSubstr("nearest is fp32"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.formats[0] = ""; }), HasSubstr("no precision preset \"\""));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.formats[1] = "fp32"; }), HasSubstr("twice"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.seeds = 0; }), HasSubstr("from 1 to 1000"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.steps = 0; }), HasSubstr("from 1 to 333333 with 6 runs"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.steps = 333'334; }), HasSubstr("from 1 to 333333"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.base.seed = ~std::uint64_t{0}; }), HasSubstr("not so many seeds"));
    EXPECT_THAT(problem([](ComparisonPlan& p) { p.base.model.width = 17; }), HasSubstr("width"));
}

TEST(ComparisonPlan, OnlyWhatLacksRangeHasALossScale)
{
    ComparisonPlan plan = smallPlan();
    plan.formats.clear();
    for (const PrecisionPreset& preset : precisionPresets())
        plan.formats.emplace_back(preset.key);
    plan.base.scalePerModule = true;
    plan.base.precisionSchedule = *[] {
        std::string problem;
        return parseSchedule("0:fp32;5:mixed-fp16", problem);
    }();
    ASSERT_EQ(problemOf(plan), std::nullopt);
    for (std::size_t i = 0; i < plan.formats.size(); ++i) {
        const RunConfig config = configOf(plan, i);
        const bool fp16 = plan.formats[i].find("fp16") != std::string::npos || plan.formats[i] == "sensitive-fp32";
        EXPECT_EQ(config.scaler.enabled, fp16) << plan.formats[i];
        EXPECT_EQ(config.scalePerModule, fp16) << plan.formats[i];
        EXPECT_EQ(scheduleText(config.precisionSchedule), "");
    }
}

TEST(ComparisonPlan, NamesTheFirstDifference)
{
    const ComparisonPlan plan = smallPlan();
    const auto difference = [&](const std::function<void(ComparisonPlan&)>& change) {
        ComparisonPlan other = plan;
        change(other);
        return differenceOf(plan, other).value_or("none");
    };
    EXPECT_EQ(difference([](ComparisonPlan&) {}), "none");
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.base.threads = 7; }), "none");
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.base.precision = "pure-fp16"; }), "none"); // replaced anyway
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.base.shadowInterval = 4; }), "none");      // nothing is measured
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.base.model.width = 32; }), "width is 16 there and 32 here");
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.seeds = 3; }), "the number of seeds is 2 there and 3 here");
    EXPECT_EQ(difference([](ComparisonPlan& p) { p.steps = 3; }), "the number of steps is 12 there and 3 here");
    EXPECT_THAT(difference([](ComparisonPlan& p) { p.formats.pop_back(); }), HasSubstr("fp32,mixed-fp16 here"));
    // Of a format in the middle alone: formats with FP32's range have no scaler.
    EXPECT_THAT(difference([](ComparisonPlan& p) { p.base.scaler.growthInterval = 9; }), HasSubstr("growth-interval"));
}

// A backend that claims to multiply BF16 by itself, as oneDNN does.
class PretendNative : public CpuBackend {
public:
    PretendNative() : CpuBackend(1) {}
    bool attention = false;
    bool multipliesNatively(FormatId f) const override { return f == FormatId::Fp32 || f == FormatId::Bf16; }
    bool attendsNatively(FormatId f) const override { return attention || f == FormatId::Fp32; }
};

TEST(Comparison, SaysHowABackendComputesAFormat)
{
    const ComparisonPlan plan = smallPlan();
    PretendNative backend;
    EXPECT_EQ(computedBy(backend, plan, "fp32"), Computed::Native);
    EXPECT_EQ(computedBy(backend, plan, "mixed-bf16"), Computed::LinearOnly);
    EXPECT_EQ(computedBy(backend, plan, "mixed-fp16"), Computed::Emulated);
    backend.attention = true;
    EXPECT_EQ(computedBy(backend, plan, "mixed-bf16"), Computed::Native);
    EXPECT_EQ(computedBy(backend, plan, "pure-fp16"), Computed::Emulated);
}

TEST(Comparison, ClaimsNoSpeedForWhatIsEmulated)
{
    const Comparison comparison = compared(smallPlan());
    ASSERT_NE(comparison.speedOf("fp32"), nullptr);
    EXPECT_EQ(comparison.speedOf("fp32")->relative, 1.0);
    EXPECT_GT(comparison.speedOf("fp32")->stepsPerSecond, 0);
    EXPECT_EQ(comparison.speedOf("mixed-fp16"), nullptr);
    const std::vector<std::vector<std::string>> rows = comparisonRows(comparison);
    EXPECT_EQ(rows[1][1], "native");
    EXPECT_THAT(rows[1][2], HasSubstr("1.00 ("));
    EXPECT_EQ(rows[2][1], "emulated exactly");
    EXPECT_EQ(rows[2][2], "emulated: no speed claim");
    EXPECT_THAT(summaryCsv(comparison), HasSubstr("\nmixed-fp16,emulated,2,2,0,,,"));
}

// The same configuration twice: whatever else the machine does hits both.
TEST(Comparison, SpeedsOfEqualsAreEqual)
{
    const RunConfig config = configOf(smallPlan(), 0);
    const auto speeds = measureSpeeds({"a", "b"}, {config, config}, [](double) { return true; });
    ASSERT_TRUE(speeds);
    EXPECT_EQ((*speeds)[0].relative, 1.0);
    EXPECT_GT((*speeds)[1].relative, 0.5);
    EXPECT_LT((*speeds)[1].relative, 2.0);
    RunConfig deeper = config;
    deeper.model.depth = 8;
    const auto slower = measureSpeeds({"a", "b"}, {config, deeper}, [](double) { return true; });
    EXPECT_LT((*slower)[1].relative, 0.6);
    EXPECT_EQ(measureSpeeds({"a"}, {config}, [](double share) { return share < 0.5; }), std::nullopt);
}

TEST(ComparisonSummary, OfSpreads)
{
    const Spread s = spreadOf({2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}); // mean 5, squares 32
    EXPECT_EQ(s.count, 8);
    EXPECT_EQ(s.mean, 5.0);
    EXPECT_EQ(s.min, 2.0);
    EXPECT_EQ(s.max, 9.0);
    EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(32.0 / 7.0));
    EXPECT_TRUE(std::isnan(spreadOf({1.0}).deviation));
    EXPECT_EQ(spreadOf({1.0, ComparedRun::kNone, INFINITY}).count, 1);
    EXPECT_EQ(spreadOf({}).count, 0);
}

Comparison scripted()
{
    ComparisonPlan plan = smallPlan();
    plan.formats = {"fp32", "mixed-fp16"};
    plan.steps = 4;
    Comparison comparison(plan);
    const double nan = ComparedRun::kNone;
    const auto put = [&](std::size_t index, std::vector<double> loss) {
        auto run = std::make_shared<ComparedRun>();
        run->format = plan.formats[index % 2];
        run->seed = 5 + index / 2;
        run->loss = std::move(loss);
        comparison.runs[index] = run;
    };
    put(0, {4.0, 3.0, 2.0, 1.0});
    put(1, {4.0, nan, nan, nan});
    put(2, {6.0, 5.0, 2.0, 3.0});
    return comparison;
}

TEST(ComparisonSummary, CurvesAreTheMeanAndRangeOfTheSeeds)
{
    const Comparison comparison = scripted();
    const CurveBand band = curveOf(comparison, 0, Quantity::Loss, 0.0);
    EXPECT_THAT(band.step, testing::ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(band.mean, testing::ElementsAre(5.0F, 4.0F, 2.0F, 2.0F));
    EXPECT_THAT(band.low, testing::ElementsAre(4.0F, 3.0F, 2.0F, 1.0F));
    EXPECT_THAT(band.high, testing::ElementsAre(6.0F, 5.0F, 2.0F, 3.0F));
    // Smoothed by 1/2: 4, (2 + 3) * 2/3 ... by hand for the first seed alone: 4, 10/3, 18/7, ...
    Comparison one = comparison;
    one.runs[2].reset();
    const CurveBand smooth = curveOf(one, 0, Quantity::Loss, 0.5);
    EXPECT_FLOAT_EQ(smooth.mean[1], 10.0F / 3.0F);
    EXPECT_FLOAT_EQ(smooth.mean[2], 18.0F / 7.0F);
    // Gaps where nothing is finite; the run under way counts, of its own format.
    EXPECT_THAT(curveOf(comparison, 1, Quantity::Loss, 0.0).step, testing::ElementsAre(1));
    ComparedRun now;
    now.format = "mixed-fp16";
    now.loss = {2.0, 8.0};
    const CurveBand live = curveOf(comparison, 1, Quantity::Loss, 0.0, &now);
    EXPECT_THAT(live.mean, testing::ElementsAre(3.0F, 8.0F));
    EXPECT_THAT(curveOf(comparison, 0, Quantity::Loss, 0.0, &now).mean, testing::Eq(band.mean));
}

TEST(ComparisonSummary, WhatDivergedIsCountedAndNotAveraged)
{
    const Comparison comparison = scripted();
    const std::vector<FormatSummary> rows = summarise(comparison);
    EXPECT_EQ(rows[0].finalLoss.mean, 2.0); // the last step of 4
    EXPECT_DOUBLE_EQ(rows[0].finalLoss.deviation, std::sqrt(2.0));
    EXPECT_EQ(rows[1].diverged, 1);
    EXPECT_EQ(rows[1].done, 1);
    EXPECT_THAT(comparisonText(comparison), HasSubstr("1 of 1 diverged"));
    EXPECT_THAT(comparisonMarkdown(comparison), HasSubstr("| FP32 |"));
    EXPECT_THAT(runsCsv(comparison), HasSubstr("mixed-fp16,5,,completed,,4,nan,"));
    EXPECT_THAT(curvesCsv(comparison), HasSubstr("fp32,6,3,2,,,\n"));
}

} // namespace
} // namespace halfscope
