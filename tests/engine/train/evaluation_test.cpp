// SPDX-License-Identifier: GPL-3.0-or-later
// Held-out examples, predictions and samples: right, and without a trace in the training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>

#include "engine/train/task.h"
#include "engine/train/training_thread.h"
#include "tests/engine/train/task_support.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

TEST(Evaluation, TrainingIsBitIdenticalWithAndWithoutLooking)
{
    for (const std::string task : {"language-model", "shapes", "brackets"}) {
        for (const char* precision : {"mixed-fp16", "pure-fp16"}) {
            const auto run = [&](bool look) {
                RunConfig config = smallTask(task);
                config.precision = precision;
                config.model.dropout = 0.2F;
                config.statisticsInterval = 2;
                config.measureActivations = true;
                config.validationInterval = look ? 2 : 0;
                config.validationExamples = 19; // not a multiple of the batch
                Trainer trainer(config);
                std::vector<double> told;
                for (int i = 0; i < 6; ++i) {
                    if (look) {
                        trainer.answer(RequestValidation{});
                        if (task == "language-model")
                            trainer.answer(RequestSample{"", 5, 1.0, 3});
                        else
                            trainer.answer(RequestPredictions{2, 9});
                    }
                    if (i == 3)
                        trainer.apply(InjectSpike{"h1.mlp.fc", 0x1p30, false}); // waits while we look
                    if (look)
                        trainer.answer(RequestValidation{});
                    const Trainer::StepResult& r = trainer.step();
                    EXPECT_EQ(std::isnan(r.record.validationLoss), !look || i % 2 == 0);
                    EXPECT_EQ(r.record.outcome, i == 3 ? StepOutcome::SkippedOverflow : StepOutcome::Applied);
                    told.insert(told.end(), {r.record.loss, r.record.accuracy, static_cast<double>(r.record.scaleNext),
                                             static_cast<double>(r.record.forwardSaturatedModule)});
                    if (!r.snapshot)
                        continue;
                    for (const TapStatistics& t : r.snapshot->taps) {
                        for (const std::uint64_t n : t.statistics.classes.of)
                            told.push_back(static_cast<double>(n));
                        told.insert(told.end(), {t.statistics.sum, t.statistics.sumSquares,
                                                 static_cast<double>(t.statistics.absMax)});
                    }
                }
                return std::pair(told, stateBits(trainer));
            };
            const auto [told, bits] = run(true);
            const auto [toldAlone, bitsAlone] = run(false);
            EXPECT_EQ(told, toldAlone) << task << ' ' << precision;
            EXPECT_TRUE(sameBits(bits, bitsAlone)) << task << ' ' << precision;
        }
    }
}

// Example by example, in a model of one row: what a batch gives cannot depend on its size or on what fills it up.
TEST(Evaluation, ValidationIsTheMeanOverItsExamples)
{
    RunConfig config = smallTask("shapes");
    config.validationInterval = 4;
    config.validationExamples = 21;
    Trainer trainer(config);
    for (int i = 0; i < 3; ++i)
        trainer.step();
    const Trainer::StepResult& r = trainer.step();
    ASSERT_TRUE(r.evaluation && r.evaluation->validation);
    const Validation& v = *r.evaluation->validation;
    EXPECT_EQ(r.evaluation->step, 4);
    EXPECT_EQ(r.evaluation->commandId, 0U);
    EXPECT_EQ(v.examples, 21);

    const std::unique_ptr<Dataset> data = makeDataset(datasetRequest(config));
    Transformer one(trainer.model(), 1);
    const auto classes = static_cast<std::size_t>(one.config().classes);
    double loss = 0;
    int right = 0;
    std::vector<std::int64_t> confusion(classes * classes, 0);
    for (std::size_t i = 0; i < 21; ++i) {
        Examples example;
        data->validationExamples(i, 1, example);
        loss += one.evaluate({example.tokens, example.targets, example.patches}) / 21;
        std::vector<float> logits(classes);
        trainer.backend().download(one.logits(), logits);
        const auto predicted = std::max_element(logits.begin(), logits.end()) - logits.begin();
        right += predicted == example.targets.front() ? 1 : 0;
        ++confusion[static_cast<std::size_t>(example.targets.front()) * classes + static_cast<std::size_t>(predicted)];
    }
    EXPECT_NEAR(v.loss, loss, 1e-12 * loss); // sums of doubles in another order
    EXPECT_EQ(v.accuracy, right / 21.0);
    EXPECT_EQ(v.confusion, confusion);
    EXPECT_EQ(r.record.validationLoss, v.loss);
    EXPECT_EQ(r.record.validationAccuracy, v.accuracy);

    const std::vector<Prediction> predictions = trainer.answer(RequestPredictions{3, 14}, 7)->predictions;
    ASSERT_EQ(predictions.size(), 14U);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        const Prediction& p = predictions[i];
        Examples example;
        data->validationExamples(3 + i, 1, example);
        EXPECT_EQ(p.index, 3 + i);
        EXPECT_EQ(p.target, example.targets.front());
        EXPECT_EQ(p.patches, example.patches);
        EXPECT_EQ(p.text, data->decode(example.tokens.data(), example.tokens.size()));
        ASSERT_EQ(p.probabilities.size(), classes);
        EXPECT_NEAR(std::accumulate(p.probabilities.begin(), p.probabilities.end(), 0.0), 1.0, 1e-6);
        EXPECT_EQ(std::max_element(p.probabilities.begin(), p.probabilities.end()) - p.probabilities.begin(),
                  p.predicted);
    }
}

TEST(Evaluation, RequestsAreAnsweredOrRefusedInASentence)
{
    RunConfig config = smallTask("digits");
    Trainer classifier(config);
    const auto refusal = [](Trainer& trainer, const Command& request) -> std::string {
        try {
            trainer.answer(request);
            return "answered";
        } catch (const std::runtime_error& e) {
            return e.what();
        }
    };
    const std::size_t heldOut = makeDataset(datasetRequest(config))->validationSize();
    EXPECT_EQ(classifier.answer(RequestPredictions{heldOut - 2, 100})->predictions.size(), 2U);
    EXPECT_EQ(refusal(classifier, RequestPredictions{heldOut, 1}),
              "There are only " + std::to_string(heldOut) + " held-out examples.");
    EXPECT_EQ(refusal(classifier, RequestPredictions{0, 0}), "Ask for 1 to 1024 predictions.");
    EXPECT_EQ(refusal(classifier, RequestSample{}), "This model classifies; only a language model writes text.");
    EXPECT_EQ(classifier.answer(RequestValidation{}, 9)->commandId, 9U);
    EXPECT_EQ(classifier.answer(Pause{}), nullptr);

    Trainer writer(smallTask("language-model"));
    EXPECT_THAT(refusal(writer, RequestPredictions{0, 1}), HasSubstr("only a classifier"));
    EXPECT_TRUE(writer.answer(RequestValidation{})->validation->confusion.empty());
    EXPECT_THAT(refusal(writer, RequestSample{"", 0}), HasSubstr("1 to 4096"));
    EXPECT_THAT(refusal(writer, RequestSample{"", 5, -1.0}), HasSubstr("temperature"));
    EXPECT_THAT(refusal(writer, RequestSample{"", 5, std::numeric_limits<double>::infinity()}),
                HasSubstr("temperature"));
    EXPECT_EQ(refusal(writer, RequestSample{"\xff", 5}), "The prompt is not UTF-8.");
    EXPECT_EQ(refusal(writer, RequestSample{"\u4e2d", 5}),
              "No character of the prompt is in what the model was trained on.");
}

std::size_t characters(const std::string& utf8)
{
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Evaluation, SamplesFollowTheirSeed)
{
    RunConfig config = smallTask("language-model");
    config.optimizer.learningRate = 1e-2F;
    Trainer trainer(config);
    for (int i = 0; i < 40; ++i)
        trainer.step();
    const auto sample = [&](const RequestSample& request) { return *trainer.answer(request)->sample; };
    const TextSample a = sample({"1+2=", 50, 1.0, 3});
    EXPECT_EQ(a.prompt, "1+2=");
    EXPECT_EQ(characters(a.text), 50U);
    EXPECT_EQ(sample({"1+2=", 50, 1.0, 3}).text, a.text);
    EXPECT_NE(sample({"1+2=", 50, 1.0, 4}).text, a.text);
    EXPECT_NE(sample({"1+2=", 50, 0.0, 3}).text, a.text);
    EXPECT_EQ(sample({"1+2=", 50, 0.0, 3}).text, sample({"1+2=", 50, 0.0, 4}).text) << "the likeliest, always";
    EXPECT_EQ(sample({"1+\u4e2d2=", 5, 1.0, 3}).prompt, "1+2=");
    const TextSample heldOut = sample({"", 5, 1.0, 3});
    EXPECT_EQ(characters(heldOut.prompt), 4U); // a quarter of the context
}

// The likeliest next character, one at a time, by the model of a whole batch: 16 characters fit, then the window moves.
TEST(Evaluation, AGreedySampleIsTheArgmaxOfTheLogits)
{
    RunConfig config = smallTask("language-model");
    config.optimizer.learningRate = 1e-2F;
    Trainer trainer(config);
    for (int i = 0; i < 20; ++i)
        trainer.step();
    const std::string drawn = trainer.answer(RequestSample{"(12", 30, 0.0, 1})->sample->text;
    const std::unique_ptr<Dataset> data = makeDataset(datasetRequest(config));
    std::vector<std::int32_t> text = data->encode("(12");
    Transformer reader(trainer.model(), 2);
    std::vector<std::int32_t> columns(32);
    for (int i = 0; i < 30; ++i) {
        const std::size_t seen = std::min<std::size_t>(text.size(), 16);
        std::vector<std::int32_t> inputs(32, 1);
        std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), inputs.begin() + 16);
        reader.evaluate({inputs, std::vector<std::int32_t>(32, 0)});
        trainer.backend().argmax(reader.logits(), columns);
        text.push_back(columns[16 + seen - 1]);
    }
    EXPECT_EQ(data->decode(text.data() + 3, 30), drawn);
}

TEST(Evaluation, TheThreadAnswersWhilePausedAndPublishesValidations)
{
    RunConfig config = smallTask("digits");
    config.validationInterval = 3;
    TrainingThread engine(config, true);
    Telemetry all;
    const auto until = [&](const std::function<bool()>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            Telemetry now;
            engine.drain(now);
            all.steps.insert(all.steps.end(), now.steps.begin(), now.steps.end());
            all.events.insert(all.events.end(), now.events.begin(), now.events.end());
            all.evaluations.insert(all.evaluations.end(), now.evaluations.begin(), now.evaluations.end());
        }
        return true;
    };
    const std::uint64_t asked = engine.post(RequestPredictions{0, 3});
    ASSERT_TRUE(until([&] { return !all.evaluations.empty(); }));
    EXPECT_EQ(all.evaluations.front()->commandId, asked);
    EXPECT_EQ(all.evaluations.front()->predictions.size(), 3U);
    EXPECT_EQ(all.evaluations.front()->step, 0);
    const std::uint64_t refused = engine.post(RequestSample{});
    ASSERT_TRUE(until([&] { return !all.events.empty() && all.events.back().commandId == refused; }));
    EXPECT_EQ(all.events.back().kind, EventKind::Rejected);
    all.evaluations.clear();
    engine.post(RunSteps{6});
    ASSERT_TRUE(until([&] { return all.steps.size() == 6; }));
    ASSERT_TRUE(until([&] { return !all.evaluations.empty() && all.evaluations.back()->step == 6; }));
    EXPECT_EQ(all.steps[5].validationLoss, all.evaluations.back()->validation->loss);
    EXPECT_TRUE(std::isnan(all.steps[4].validationLoss));
}

} // namespace
} // namespace halfscope
