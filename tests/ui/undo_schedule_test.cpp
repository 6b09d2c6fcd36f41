// SPDX-License-Identifier: GPL-3.0-or-later
// Undo against a precision schedule in force: a change that is taken back was never made, and what the schedule has set
// since stays. Over the real trainer, one step at a time.
#include <algorithm>
#include <random>

#include <QApplication>
#include <gtest/gtest.h>

#include "engine/train/settings_registry.h"
#include "tests/engine/train/small_run.h"
#include "tests/ui/stepped_engine.h"
#include "ui/change_history.h"
#include "ui/precision_history.h"
#include "ui/session_controller.h"

namespace halfscope::test {

namespace {

class UndoSchedule : public ::testing::Test {
protected:
    void start(const char* precision, const char* schedule, const char* task = "language-model")
    {
        RunConfig config = smallRun();
        ASSERT_EQ(applySetting(config, "task", task), std::nullopt);
        ASSERT_EQ(applySetting(config, "precision", precision), std::nullopt);
        ASSERT_EQ(applySetting(config, "precision-schedule", schedule), std::nullopt);
        auto made = std::make_unique<SteppedEngine>(config);
        engine = made.get();
        controller = std::make_unique<SessionController>(std::move(made));
        controller->poll();
        history = std::make_unique<ChangeHistory>(*controller, nullptr);
    }
    void TearDown() override
    {
        history.reset();
        controller.reset();
    }
    void steps(int count)
    {
        for (int i = 0; i < count; ++i) {
            engine->step();
        }
        controller->poll();
    }
    void settle()
    {
        engine->obey();
        controller->poll();
    }
    void set(const std::string& key, const std::string& value)
    {
        controller->setSetting(QString::fromStdString(key), QString::fromStdString(value));
        settle();
    }
    void undo()
    {
        history->undo();
        settle();
    }
    void redo()
    {
        history->redo();
        settle();
    }
    const RunModel& run() const { return controller->run(); }
    std::string inForce() const { return planKey(run().live.plan, run().info.modules); }
    std::string configured(const std::string& key = "precision") const { return settingValue(run().live.config, key); }

    SteppedEngine* engine = nullptr;
    std::unique_ptr<SessionController> controller;
    std::unique_ptr<ChangeHistory> history;
};

} // namespace

TEST_F(UndoSchedule, WhatTheScheduleSetAfterTheChangeStays)
{
    start("mixed-fp16", "4:mixed-bf16");
    set("precision", "fp32");
    steps(5);
    ASSERT_EQ(inForce(), "mixed-bf16");
    undo();
    EXPECT_EQ(configured(), "mixed-fp16");
    EXPECT_EQ(inForce(), "mixed-bf16");
    // The ribbon shows what held.
    steps(1);
    std::vector<PrecisionSpan> spans = precisionHistory(run());
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0].format, FormatId::Fp32);
    EXPECT_EQ(spans[0].last, 3);
    EXPECT_EQ(spans[1].format, FormatId::Bf16);
    redo();
    EXPECT_EQ(configured(), "fp32");
    EXPECT_EQ(inForce(), "mixed-bf16");
}

TEST_F(UndoSchedule, WhatTheScheduleSetBeforeTheChangeIsBack)
{
    start("mixed-fp16", "2:mixed-bf16;3:lm_head=fp32");
    steps(4);
    const PrecisionPlan scheduled = run().live.plan;
    set("precision", "fp8");
    ASSERT_EQ(inForce(), "fp8");
    steps(1);
    undo();
    EXPECT_EQ(run().live.plan, scheduled);
    EXPECT_EQ(configured(), "mixed-fp16");
    steps(1);
    EXPECT_EQ(precisionHistory(run()).back().format, FormatId::Bf16);
    redo();
    EXPECT_EQ(inForce(), "fp8");
    // What the configuration says already is a change, too, if the schedule says otherwise.
    undo();
    set("precision", "mixed-fp16");
    EXPECT_EQ(inForce(), "mixed-fp16");
    ASSERT_TRUE(history->canUndo());
    undo();
    EXPECT_EQ(run().live.plan, scheduled);
    redo();
    EXPECT_EQ(inForce(), "mixed-fp16");
}

// A classifier's last layers are undone like those that every model has.
TEST_F(UndoSchedule, LayersThatOnlyAClassifierHas)
{
    start("mixed-fp16", "", "brackets");
    for (const char* layer : {"precision.head", "precision.pool"}) {
        const std::string before = configured(layer);
        set(layer, "bf16");
        ASSERT_EQ(configured(layer), "bf16") << layer;
        ASSERT_TRUE(history->canUndo()) << layer;
        undo();
        EXPECT_EQ(configured(layer), before) << layer;
        redo();
        EXPECT_EQ(configured(layer), "bf16") << layer;
    }
}

// Storms of changes: what is in force is what the changes that were not taken back and the schedule's, one after the
// other, lead to.
TEST_F(UndoSchedule, AnyChangesInAnyOrder)
{
    struct Change {
        std::string key;
        std::string value;
        bool scheduled = false;
        bool made = true;
    };
    const std::vector<std::string> presets = {"fp32", "mixed-fp16", "mixed-bf16", "pure-fp16", "fp8"};
    const std::vector<std::string> formats = {"fp32", "fp16", "bf16"};
    const std::vector<std::string> modules = {"lm_head", "h0.mlp.fc", "h0.ln_1"};
    for (unsigned seed = 1; seed <= 25; ++seed) {
        start("mixed-fp16", "2:fp32;5:lm_head=bf16;5:h0.mlp.fc=bf16;8:mixed-bf16;11:h0.mlp.fc=fp32;14:pure-fp16");
        std::mt19937 random(seed);
        const auto pick = [&](const auto& of) { return of[random() % of.size()]; };
        std::vector<Change> log;
        std::vector<std::size_t> done; // the user's, in the log
        std::vector<std::size_t> undone;
        std::size_t seen = run().events.size();
        for (int action = 0; action < 60; ++action) {
            const auto what = random() % 10;
            if (what < 3) {
                steps(1);
                for (; seen < run().events.size(); ++seen) {
                    const Event& event = run().events[seen];
                    if (event.kind == EventKind::Scheduled) {
                        log.push_back({event.key, event.newValue, true});
                    }
                }
            } else if (what < 6) {
                const Change change = random() % 2 == 0 ? Change{"precision", pick(presets)}
                                                        : Change{"precision." + pick(modules), pick(formats)};
                const QString before = history->undoText();
                const int count = history->count();
                const PrecisionPlan plan = run().live.plan;
                const bool couldRedo = history->canRedo();
                set(change.key, change.value);
                if (history->count() == count && history->undoText() == before && history->canRedo() == couldRedo) {
                    EXPECT_EQ(run().live.plan, plan) << "a change that cannot be taken back";
                } else {
                    log.push_back(change);
                    done.push_back(log.size() - 1);
                    undone.clear();
                }
            } else if (what < 8) {
                undo();
                if (!done.empty()) {
                    undone.push_back(done.back());
                    done.pop_back();
                    log[undone.back()].made = false;
                }
            } else {
                redo();
                if (!undone.empty()) {
                    done.push_back(undone.back());
                    undone.pop_back();
                    log[done.back()].made = true;
                }
            }
            seen = run().events.size();
            PrecisionPlan expected = makePlan("mixed-fp16", run().info.modules).value();
            for (const Change& one : log) {
                if (!one.made) {
                    continue;
                }
                if (one.key == "precision") {
                    expected = makePlan(one.value, run().info.modules).value();
                } else {
                    expected[static_cast<std::size_t>(run().moduleId(one.key.substr(10)))] =
                        parseModuleFormat(one.value).value();
                }
            }
            ASSERT_EQ(run().live.plan, expected) << "seed " << seed << ", action " << action;
            ASSERT_EQ(history->canUndo(), !done.empty());
            ASSERT_EQ(history->canRedo(), !undone.empty());
        }
    }
}

} // namespace halfscope::test
