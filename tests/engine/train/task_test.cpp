// SPDX-License-Identifier: GPL-3.0-or-later
// Classifiers of texts, images, and images with a text: that they train as exactly as language models do.
#include "engine/train/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "engine/core/cpu_features.h"
#include "engine/train/experiments.h"
#include "engine/train/settings_registry.h"
#include "tests/engine/train/task_support.h"
#include "tests/support/only_problem.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kKinds = {"brackets", "digits", "shapes"}; // text, image, image and text

TEST(Task, ModelFollowsTheData)
{
    const std::map<std::string, std::set<std::string>> firstModules = {{"brackets", {"tok_emb", "pos_emb"}},
                                                                       {"digits", {"patch_emb", "pos_emb"}},
                                                                       {"shapes", {"patch_emb", "tok_emb", "pos_emb"}}};
    for (const std::string& task : kKinds) {
        Trainer trainer(smallTask(task));
        const RunInfo& info = trainer.info();
        EXPECT_EQ(info.model.classes, info.data.classes);
        EXPECT_EQ(info.model.context, info.data.context());
        std::set<std::string> names;
        for (const ModuleInfo& m : info.modules) {
            if (m.name.find('.') == std::string::npos && m.name != "ln_f")
                names.insert(m.name);
        }
        std::set<std::string> expected = firstModules.at(task);
        expected.insert({"pool", "head", "loss"});
        EXPECT_EQ(names, expected);
        std::int64_t parameters = 0;
        for (const ModuleInfo& m : info.modules)
            parameters += m.parameters;
        EXPECT_EQ(parameters, info.parameterCount) << task;
    }
}

TEST(Task, EveryWeightGradientIsCountedOnce)
{
    for (const std::string& task : kKinds) {
        for (const PrecisionPreset& preset : precisionPresets()) {
            RunConfig config = smallTask(task);
            config.precision = preset.key;
            config.model.dropout = 0.1F;
            Trainer trainer(config);
            const SnapshotPtr snapshot = trainer.step().snapshot;
            std::int64_t counted = 0;
            for (const TapStatistics& t : snapshot->taps) {
                EXPECT_EQ(t.statistics.count(), t.statistics.classes.total());
                counted += t.tap == Tap::WeightGrad ? static_cast<std::int64_t>(t.statistics.count()) : 0;
                const std::string& name = trainer.info().modules[static_cast<std::size_t>(t.module)].name;
                const TransformerConfig& model = trainer.info().model;
                std::int64_t rows = -1; // that the module's output has
                if (name == "pool")
                    rows = model.batch;
                else if (name == "patch_emb")
                    rows = std::int64_t{model.batch} * model.patches;
                else if (name == "tok_emb")
                    rows = std::int64_t{model.batch} * (model.context - model.patches);
                else if (name == "pos_emb")
                    rows = model.tokens();
                if (t.tap == Tap::ActivationGrad && rows >= 0) {
                    EXPECT_EQ(static_cast<std::int64_t>(t.statistics.count()), rows * model.width)
                        << task << ' ' << preset.key << ' ' << name;
                }
            }
            EXPECT_EQ(counted, trainer.info().parameterCount) << task << ' ' << preset.key;
        }
    }
}

TEST(Task, BitIdenticalForAnyThreadsAndInstructionSet)
{
    for (const std::string& task : kKinds) {
        std::vector<std::vector<float>> reference;
        std::vector<double> losses;
        for (const SimdLevel level : {SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512}) {
            if (level > bestSimdLevel())
                continue;
            setSimdLevel(level);
            for (const int threads : {1, 3}) {
                RunConfig config = smallTask(task);
                config.threads = threads;
                config.model.dropout = 0.1F;
                config.validationInterval = 2;
                config.validationExamples = 20;
                Trainer trainer(config);
                std::vector<double> now;
                for (int i = 0; i < 4; ++i) {
                    const StepRecord& r = trainer.step().record;
                    now.insert(now.end(), {r.loss, r.gradNorm, r.accuracy});
                    if (i % 2 == 1)
                        now.insert(now.end(), {r.validationLoss, r.validationAccuracy});
                }
                if (reference.empty()) {
                    reference = stateBits(trainer);
                    losses = now;
                }
                EXPECT_TRUE(sameBits(stateBits(trainer), reference)) << task << ' ' << simdLevelName(level) << threads;
                EXPECT_EQ(now, losses) << task << ' ' << simdLevelName(level) << threads;
            }
        }
        setSimdLevel(bestSimdLevel());
    }
}

TEST(Task, Fp32TrainingIsBitIdenticalForEveryPowerOfTwoScale)
{
    for (const std::string& task : kKinds) {
        std::vector<std::vector<float>> reference;
        for (const int exponent : {0, -12, 16, 30}) {
            RunConfig config = smallTask(task);
            config.precision = "fp32";
            config.scaler.dynamic = false;
            config.scaler.initialScale = std::ldexp(1.0, exponent);
            Trainer trainer(config);
            for (int i = 0; i < 4; ++i)
                ASSERT_EQ(trainer.step().record.outcome, StepOutcome::Applied);
            if (reference.empty())
                reference = stateBits(trainer);
            EXPECT_TRUE(sameBits(stateBits(trainer), reference)) << task << " 2^" << exponent;
        }
    }
}

TEST(Task, ASpikeIsFoundWhereItWasInjected)
{
    for (const std::string& task : kKinds) {
        RunConfig config = smallTask(task);
        config.precision = "pure-fp16";
        Trainer trainer(config);
        trainer.step();
        for (const ModuleInfo& m : trainer.info().modules) {
            for (const bool weight : {false, true}) {
                const int id = trainer.model().moduleId(m.name);
                if (!trainer.model().hasTap(id, weight ? Tap::WeightGrad : Tap::ActivationGrad))
                    continue;
                const auto before = stateBits(trainer);
                trainer.apply(SetScale{0x1p12});
                ASSERT_EQ(trainer.apply(InjectSpike{m.name, 1e30, weight}).kind, EventKind::Injected) << m.name;
                const StepRecord& r = trainer.step().record;
                ASSERT_EQ(r.outcome, StepOutcome::SkippedOverflow) << task << ' ' << m.name;
                EXPECT_EQ(trainer.info().modules[static_cast<std::size_t>(r.overflowModule)].name, m.name) << task;
                EXPECT_EQ(r.overflowTap, static_cast<int>(weight ? Tap::WeightGrad : Tap::ActivationGrad));
                EXPECT_TRUE(sameBits(stateBits(trainer), before)) << m.name;
            }
        }
    }
}

TEST(Task, AccuracyIsTheShareOfLargestLogitsThatAreTheTargets)
{
    RunConfig config = smallTask("digits");
    config.validationInterval = 0;
    Trainer trainer(config);
    const std::unique_ptr<Dataset> data = makeDataset(datasetRequest(config));
    Rng rng(hash64(config.seed, 2)); // the trainer's stream of batches
    for (int i = 0; i < 5; ++i) {
        Examples examples;
        data->sample(rng, 8, examples);
        const double accuracy = trainer.step().record.accuracy;
        std::vector<float> logits(80);
        trainer.backend().download(trainer.model().logits(), logits);
        int right = 0;
        for (std::size_t e = 0; e < 8; ++e) {
            const auto row = logits.begin() + static_cast<std::ptrdiff_t>(10 * e);
            right += std::max_element(row, row + 10) - row == examples.targets[e] ? 1 : 0;
        }
        EXPECT_EQ(accuracy, right / 8.0);
    }
}

// A stated accuracy in few steps, from a fixed seed: the whole chain learns.
TEST(Task, LearnsDigitsInFewSteps)
{
    RunConfig config = smallTask("digits");
    config.model.batch = 32;
    config.optimizer.learningRate = 3e-3F;
    config.validationInterval = 150;
    Trainer trainer(config);
    for (int i = 0; i < 149; ++i)
        trainer.step();
    EXPECT_GT(trainer.step().record.validationAccuracy, 0.45); // it is 0.57; one in ten would be chance
}

// Beyond `chance` by five deviations of a share of that many examples: luck gets there once in three million.
double beyondLuck(double chance, double examples) { return chance + 5 * std::sqrt(chance * (1 - chance) / examples); }

double heldOutAccuracy(const RunConfig& config, int steps)
{
    Trainer trainer(config);
    for (int i = 0; i < steps; ++i)
        trainer.step();
    return trainer.answer(RequestValidation{})->validation->accuracy;
}

// Three numbers of two digits; half of the lists ascend.
TEST(Task, LearnsSortednessFromAnswersAlone)
{
    RunConfig config = smallTask("sortedness");
    config.model.context = 8;
    config.model.batch = 32;
    config.statisticsInterval = 100;
    config.validationInterval = 0;
    config.validationExamples = 1000;
    const auto examples =
        static_cast<double>(std::min<std::size_t>(1000, makeDataset(datasetRequest(config))->validationSize()));
    EXPECT_GT(heldOutAccuracy(config, 900), beyondLuck(0.5, examples));
}

// Answers are balanced, so who understands the question but does not see the image is right with one in 5 of the 5
// numbers, one in 6 of the 6 colours, one in 4 of the 4 shapes and one in 2 of yes and no: with 4 of the 17 answers.
TEST(Task, LearnsShapesFromImageAndQuestion)
{
    RunConfig config = smallTask("shapes");
    config.patchSize = 16;
    config.model.batch = 32;
    config.statisticsInterval = 100;
    config.validationInterval = 0;
    config.validationExamples = 1000;
    EXPECT_GT(heldOutAccuracy(config, 300), beyondLuck(4.0 / 17.0, 1000));
}

TEST(Task, EpochsAreCountedByTheTrainingPart)
{
    const test::TemporaryFolder folder;
    std::string rows = "label,text\n";
    for (int i = 0; i < 100; ++i)
        rows += (i % 2 == 0 ? "even,number " : "odd,number ") + std::to_string(i) + "\n";
    RunConfig config = smallTask("csv");
    config.data = folder.write("rows.csv", rows);
    config.validationInterval = 0;
    Trainer trainer(config);
    const RunInfo& info = trainer.info();
    EXPECT_EQ(info.data.classNames, (std::vector<std::string>{"even", "odd"}));
    const std::int64_t perEpoch = info.stepsPerEpoch;
    ASSERT_GE(perEpoch, 2);
    ASSERT_LE(perEpoch, 13); // 100 rows, some held out, 8 a step
    double loss = 0;
    for (std::int64_t step = 1; step <= 2 * perEpoch; ++step) {
        const Trainer::StepResult& r = trainer.step();
        loss += r.record.loss;
        ASSERT_EQ(r.events.size(), step % perEpoch == 0 ? 1U : 0U);
        if (step % perEpoch == 0) {
            EXPECT_EQ(r.events.front().kind, EventKind::Epoch);
            EXPECT_EQ(r.events.front().count, static_cast<std::uint64_t>(step / perEpoch));
            std::array<char, 32> text{};
            std::snprintf(text.data(), text.size(), "loss %.4f", loss / static_cast<double>(perEpoch));
            EXPECT_THAT(r.events.front().text, HasSubstr(text.data()));
            loss = 0;
        }
    }
}

TEST(Task, WhatDoesNotFitTogetherIsSaidBeforeAnythingIsRead)
{
    EXPECT_EQ(onlyProblem({{"task", "digits"}, {"tied-head", "on"}}),
              "tied-head = on is for a language model; the task digits has classes, so set tied-head to off.");
    EXPECT_EQ(onlyProblem({{"task", "digits"}, {"pretrain-steps", "5"}}),
              "pretrain-steps = 5 is for classifiers of text, which the task digits is not; set it to 0.");
    EXPECT_EQ(onlyProblem({{"pretrain-steps", "5"}}),
              "pretrain-steps = 5 is for classifiers of text, which the task language-model is not; set it to 0.");
    EXPECT_EQ(onlyProblem({{"task", "csv"}}), "The task csv needs a file; set data to its path.");
    EXPECT_THAT(onlyProblem({{"task", "digits"}, {"precision.lm_head", "fp32"}}),
                HasSubstr("there is no module \"lm_head\""));
    EXPECT_THAT(onlyProblem({{"precision.pool", "fp32"}}), HasSubstr("there is no module \"pool\""));
    for (const char* module : {"patch_emb", "pool", "head"}) {
        RunConfig config;
        config.task = "digits";
        config.modulePrecision[module] = FormatId::Bf16;
        EXPECT_TRUE(validate(config).empty()) << module;
    }
    // Only the data tell that digits have no tokens.
    RunConfig config = smallTask("digits");
    config.modulePrecision["tok_emb"] = FormatId::Bf16;
    try {
        const Trainer trainer(config);
        ADD_FAILURE();
    } catch (const std::runtime_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("there is no module \"tok_emb\""));
    }
}

TEST(Experiments, AreValidAndTheFirstIsTheDefault)
{
    EXPECT_TRUE(experiments().front().config == defaultExperiment());
    std::set<std::string_view> keys;
    for (const Experiment& e : experiments()) {
        EXPECT_TRUE(validate(e.config).empty()) << e.key;
        EXPECT_TRUE(keys.insert(e.key).second) << e.key;
        EXPECT_EQ(findExperiment(e.key), &e);
        EXPECT_TRUE((e.steps > 0) != (e.epochs > 0)) << e.key;
        EXPECT_TRUE(std::string_view(e.description).ends_with('.')) << e.key;
    }
    EXPECT_EQ(findExperiment("nonsense"), nullptr);
    const RunConfig& article = findExperiment("article")->config;
    EXPECT_EQ(article.model.width, 256);
    EXPECT_EQ(article.model.heads, 4);
    EXPECT_EQ(article.model.depth, 2);
    EXPECT_FALSE(article.model.preNorm);
    EXPECT_EQ(article.model.activation, Activation::Relu);
    EXPECT_EQ(article.optimizer.learningRate, 1e-3F);
    EXPECT_EQ(article.optimizer.weightDecay, 0.0F);
    EXPECT_EQ(findExperiment("article")->epochs, 10);
}

} // namespace
} // namespace halfscope
