// SPDX-License-Identifier: GPL-3.0-or-later
// A language model that becomes a classifier in the middle of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/train/task.h"
#include "tests/engine/train/task_support.h"

namespace halfscope {
namespace {

RunConfig pretraining(std::int64_t steps)
{
    RunConfig config = smallTask("brackets");
    config.pretrainSteps = steps;
    config.validationInterval = 2;
    config.scaler.initialScale = 1024; // no step is skipped
    return config;
}

TEST(FineTuning, TheHeadIsSwappedAfterPretraining)
{
    Trainer trainer(pretraining(4));
    const std::vector<ModuleInfo> before = trainer.info().modules;
    const std::int64_t parametersBefore = trainer.info().parameterCount;
    EXPECT_TRUE(trainer.live().pretraining);
    std::size_t taps = 0;
    for (int step = 1; step <= 8; ++step) {
        const Trainer::StepResult& r = trainer.step();
        EXPECT_EQ(r.record.outcome, StepOutcome::Applied);
        EXPECT_EQ(r.headSwapped, step == 5);
        EXPECT_EQ(trainer.live().pretraining, step < 5);
        const bool told = std::any_of(r.events.begin(), r.events.end(),
                                      [](const Event& e) { return e.kind == EventKind::HeadSwapped; });
        EXPECT_EQ(told, step == 5);
        if (r.evaluation) {
            EXPECT_EQ(r.evaluation->validation->confusion.size(), step < 5 ? 0U : 4U);
        }
        if (step == 1)
            taps = r.snapshot->taps.size();
        EXPECT_EQ(r.snapshot->taps.size(), taps) << "the same rows in every step";
        for (const TapStatistics& t : r.snapshot->taps) {
            const std::string& name = before[static_cast<std::size_t>(t.module)].name;
            if (name == "pool") {
                EXPECT_EQ(t.statistics.count(), step < 5 ? 0U : 8U * 32U);
            } else if (name == "head" && t.tap == Tap::ActivationGrad) {
                const std::uint64_t logits =
                    step < 5 ? 8U * 16U * static_cast<std::uint64_t>(trainer.info().data.vocabulary) : 8U * 2U;
                EXPECT_EQ(t.statistics.count(), logits);
            }
        }
    }
    const std::vector<ModuleInfo>& after = trainer.info().modules;
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i)
        EXPECT_EQ(after[i].name, before[i].name);
    const std::int64_t vocabulary = trainer.info().data.vocabulary;
    EXPECT_EQ(parametersBefore - trainer.info().parameterCount, (vocabulary - 2) * 32 + (vocabulary - 2));
}

TEST(FineTuning, OnlyTheHeadIsNew)
{
    Trainer trainer(pretraining(1000));
    for (int i = 0; i < 3; ++i)
        trainer.step();
    const auto before = stateBits(trainer);
    Transformer& model = trainer.model();
    model.swapHead(5);
    const auto after = stateBits(trainer);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        const Parameter& p = model.parameters()[i / 3];
        if (i % 3 != 0) {
            EXPECT_EQ(after[i], std::vector<float>(after[i].size(), 0.0F)) << "moments of " << p.name;
        } else if (!p.name.starts_with("head.")) {
            EXPECT_EQ(after[i], before[i]) << p.name;
        }
    }
    EXPECT_EQ(model.parameters().back().master.size(), 2);
    EXPECT_FALSE(model.config().predictsNext());
}

// A seed set while it runs is that of the next start; the head to come is still the one of this run.
TEST(FineTuning, TheHeadIsOfTheSeedTheRunStartedWith)
{
    std::vector<std::vector<std::vector<float>>> states;
    for (const bool edited : {false, true}) {
        Trainer trainer(pretraining(2));
        trainer.step();
        if (edited) {
            EXPECT_EQ(trainer.apply(SetSetting{"seed", "77"}).kind, EventKind::Command);
        }
        for (int i = 0; i < 3; ++i)
            trainer.step();
        states.push_back(stateBits(trainer));
    }
    EXPECT_TRUE(sameBits(states[0], states[1]));
}

// The new head's FP8 tensors begin as in a first step, at the scale 1; the others keep what they know.
TEST(FineTuning, TheNewHeadsFp8ScalesAreNew)
{
    RunConfig config = pretraining(4);
    config.precision = "fp8";
    config.scaler.enabled = false;
    Trainer trainer(config);
    const auto scaleOf = [&](const Snapshot& snapshot, const char* module) {
        const int id = trainer.model().moduleId(module);
        const auto tap = std::ranges::find_if(
            snapshot.taps, [&](const TapStatistics& t) { return t.module == id && t.tap == Tap::ActivationGrad; });
        return tap->ownScale;
    };
    for (int step = 1; step <= 6; ++step) {
        const SnapshotPtr snapshot = trainer.step().snapshot;
        EXPECT_EQ(scaleOf(*snapshot, "head") == 1.0F, step == 1 || step == 5) << step;
        EXPECT_EQ(scaleOf(*snapshot, "h0.mlp.fc") == 1.0F, step == 1) << step;
    }
}

// "Swap now" is the setting with the number of steps done, so it is recorded and replayed as any other edit.
TEST(FineTuning, SwappingNowIsPretrainStepsSetToTheStepsDone)
{
    std::vector<std::vector<float>> planned;
    {
        Trainer trainer(pretraining(3));
        for (int i = 0; i < 6; ++i)
            trainer.step();
        planned = stateBits(trainer);
    }
    Trainer trainer(pretraining(1000));
    for (int i = 0; i < 3; ++i)
        trainer.step();
    const Event e = trainer.apply(SwapHead{});
    EXPECT_EQ(e.kind, EventKind::Command);
    EXPECT_EQ(e.key, "pretrain-steps");
    EXPECT_EQ(e.newValue, "3");
    EXPECT_EQ(e.step, 4);
    for (int i = 0; i < 3; ++i)
        trainer.step();
    EXPECT_TRUE(sameBits(stateBits(trainer), planned));
    const Event again = trainer.apply(SwapHead{});
    EXPECT_EQ(again.kind, EventKind::Rejected);
    EXPECT_THAT(again.text, testing::HasSubstr("only a classifier in pretraining"));
    EXPECT_THAT(trainer.apply(SetSetting{"pretrain-steps", "9"}).text, testing::HasSubstr("from the next restart"));
}

TEST(FineTuning, WritesTextUntilTheHeadIsSwapped)
{
    Trainer trainer(pretraining(2));
    trainer.step();
    const TextSample sample = *trainer.answer(RequestSample{"([x", 10, 1.0, 2})->sample;
    EXPECT_EQ(sample.prompt, "([");
    EXPECT_EQ(sample.text.find_first_not_of("()[]{}"), std::string::npos);
    EXPECT_THROW(trainer.answer(RequestPredictions{0, 1}), std::runtime_error);
    trainer.step();
    trainer.step();
    EXPECT_THROW(trainer.answer(RequestSample{}), std::runtime_error);
    EXPECT_EQ(trainer.answer(RequestPredictions{0, 1})->predictions.size(), 1U);
}

TEST(FineTuning, ALanguageModelHasNoHeadToSwap)
{
    Trainer trainer(smallTask("language-model"));
    EXPECT_EQ(trainer.apply(SwapHead{}).kind, EventKind::Rejected);
    EXPECT_EQ(trainer.apply(SetSetting{"pretrain-steps", "9"}).kind, EventKind::Rejected);
}

// Where the next token is not in the example nothing is predicted; otherwise it is the example's own next token.
TEST(FineTuning, PretrainingPredictsTheExamplesNextTokens)
{
    TransformerConfig model;
    model.vocabulary = 9;
    model.context = 4;
    model.batch = 2;
    model.classes = 2;
    model.pretraining = true;
    Examples examples;
    examples.tokens = {1, 2, 3, 4, 5, 6, 7, 8};
    examples.targets = {0, 1};
    const Transformer::Batch batch = batchOf(model, examples);
    EXPECT_EQ(std::vector<std::int32_t>(batch.targets.begin(), batch.targets.end()),
              (std::vector<std::int32_t>{2, 3, 4, -1, 6, 7, 8, -1}));
    EXPECT_EQ(batch.inputs.size(), 8U);
}

std::vector<float> outputsOf(Trainer& trainer, const std::vector<std::int32_t>& tokens)
{
    Transformer one(trainer.model(), 1);
    const std::vector<std::int32_t> targets(static_cast<std::size_t>(one.config().predictions()), 0);
    one.evaluate({tokens, targets});
    std::vector<float> logits(static_cast<std::size_t>(one.logits().size()));
    trainer.backend().download(one.logits(), logits);
    return logits;
}

// What is predicted may not be seen: in pretraining the last token changes its own predictions alone.
TEST(FineTuning, PretrainingLooksBackOnly)
{
    Trainer trainer(pretraining(1000));
    trainer.step();
    std::vector<std::int32_t> tokens(16, 1);
    const std::vector<float> before = outputsOf(trainer, tokens);
    tokens.back() = 2;
    const std::vector<float> after = outputsOf(trainer, tokens);
    const auto lastRow = before.end() - trainer.info().data.vocabulary;
    EXPECT_TRUE(std::equal(before.begin(), lastRow, after.begin()));
    EXPECT_FALSE(std::equal(lastRow, before.end(), after.end() - trainer.info().data.vocabulary));
}

// Without positions, attention that looks both ways does not know the order of the tokens, and neither does the mean.
TEST(FineTuning, AClassifierLooksBothWaysUnlessItIsCausal)
{
    for (const bool causal : {false, true}) {
        RunConfig config = pretraining(1);
        config.precision = "fp32";
        config.model.causal = causal;
        config.optimizer.learningRate = 0.03F; // so that the outputs differ from those of a start
        Trainer trainer(config);
        for (int i = 0; i < 5; ++i)
            trainer.step();
        for (Parameter& p : trainer.model().parameters()) {
            if (p.name == "pos_emb.weight")
                trainer.backend().fillZero(p.master);
        }
        std::vector<std::int32_t> tokens(16);
        for (std::size_t i = 0; i < tokens.size(); ++i)
            tokens[i] = static_cast<std::int32_t>(i / 3);
        const std::vector<float> forwards = outputsOf(trainer, tokens);
        std::reverse(tokens.begin(), tokens.end());
        const std::vector<float> backwards = outputsOf(trainer, tokens);
        const double difference = std::abs(static_cast<double>(forwards[0] - backwards[0]));
        // The same terms summed in another order: some hundred roundings of numbers of the outputs' size.
        const double rounding = 1000 * 0x1p-24 * (1 + std::abs(static_cast<double>(forwards[0])));
        if (causal)
            EXPECT_GT(difference, 10 * rounding);
        else
            EXPECT_LT(difference, rounding);
    }
}

} // namespace
} // namespace halfscope
