// SPDX-License-Identifier: GPL-3.0-or-later
// Undo and redo, and layers selected by pattern.
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSlider>
#include <QTableView>
#include <QToolButton>

#include "engine/train/settings_registry.h"
#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/change_history.h"
#include "ui/models/layers_model.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/pattern_bar.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/scale_setting_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/what_if_plot.h"

namespace halfscope::test {

namespace {

class EditTest : public WindowTest {
protected:
    SessionController& run() { return window->controller(); }
    const RunConfig& config() { return run().run().live.config; }
    void set(const char* key, const char* value)
    {
        run().setSetting(QString::fromLatin1(key), QString::fromLatin1(value));
        poll();
    }
    void undo()
    {
        window->history().undo();
        poll();
    }
    void redo()
    {
        window->history().redo();
        poll();
    }
    QString undoText() { return window->actions().undo->text(); }
    FormatId formatOf(const char* module)
    {
        return run().run().live.plan[static_cast<std::size_t>(run().run().moduleId(module))];
    }
    QLineEdit* pattern() { return window->layers().pattern()->field(); }
    std::vector<std::string> selected()
    {
        std::vector<std::string> names;
        for (const int module : run().run().selection.modules) {
            names.push_back(run().run().info.modules[static_cast<std::size_t>(module)].name);
        }
        return names;
    }
    QString count() { return pattern()->parentWidget()->findChild<QLabel*>()->text(); }
};

} // namespace

TEST_F(EditTest, ASettingIsTakenBackAndMadeAgain)
{
    open();
    poll(3);
    EXPECT_FALSE(window->actions().undo->isEnabled());
    EXPECT_EQ(undoText(), QStringLiteral("&Undo"));
    set("growth-interval", "100");
    ASSERT_TRUE(window->actions().undo->isEnabled());
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: Growth interval 20 → 100"));
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    // It is a command of the run, and an event.
    ASSERT_NE(lastPosted<SetSetting>(), nullptr);
    EXPECT_EQ(lastPosted<SetSetting>()->key, "growth-interval");
    EXPECT_EQ(lastPosted<SetSetting>()->value, "20");
    EXPECT_EQ(run().run().events.back().newValue, "20");
    EXPECT_FALSE(window->actions().undo->isEnabled());
    EXPECT_EQ(window->actions().redo->text(), QStringLiteral("&Redo: Growth interval 20 → 100"));
    redo();
    EXPECT_EQ(config().scaler.growthInterval, 100);
    // Another change cuts off what could have been made again.
    undo();
    set("learning-rate", "0.01");
    EXPECT_FALSE(window->actions().redo->isEnabled());
    EXPECT_EQ(window->history().count(), 1);
}

TEST_F(EditTest, KeysUndoAndRedo)
{
    open();
    poll(3);
    set("growth-interval", "100");
    QTest::keyClick(window.get(), Qt::Key_Z, Qt::ControlModifier);
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    QTest::keyClick(window.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 100);
    // From a field in which nothing has been typed, too; while something is, the field's own undo has the key.
    auto* field = window->findChild<NumberEdit*>(QStringLiteral("growth-interval"));
    field->setFocus();
    QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    field->selectAll();
    QTest::keyClicks(field, QStringLiteral("7"));
    QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    EXPECT_EQ(field->text(), QStringLiteral("20"));
}

TEST_F(EditTest, WhatIsRefusedIsNotOnTheStack)
{
    open();
    poll(3);
    set("growth-interval", "0");
    EXPECT_EQ(window->history().count(), 0);
    engine->rejectNext("not now");
    run().setScale(1024.0);
    poll();
    EXPECT_EQ(window->history().count(), 0);
    set("growth-interval", "20"); // what it is already
    EXPECT_EQ(window->history().count(), 0);
}

TEST_F(EditTest, ARefusedUndoIsStillToBeDone)
{
    open();
    poll(3);
    set("growth-interval", "100");
    engine->rejectNext("not now");
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 100);
    EXPECT_TRUE(window->actions().undo->isEnabled());
    EXPECT_FALSE(window->actions().redo->isEnabled());
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 20);
}

TEST_F(EditTest, APresetIsTakenBackKnobByKnob)
{
    open();
    poll(3);
    set("growth-interval", "77");
    set("hysteresis", "3");
    set("min-scale", "4");
    const ScalerConfig before = config().scaler;
    set("scaler", "megatron");
    const ScalerConfig preset = config().scaler;
    ASSERT_NE(preset, before);
    EXPECT_TRUE(undoText().startsWith(QStringLiteral("&Undo: Preset "))) << undoText().toStdString();
    undo();
    EXPECT_EQ(config().scaler, before);
    redo();
    EXPECT_EQ(config().scaler, preset);
    undo();
    EXPECT_EQ(config().scaler, before);
    // All the way back.
    undo();
    undo();
    undo();
    EXPECT_EQ(config().scaler, FakeEngine::smallConfig().scaler);
    EXPECT_FALSE(window->history().canUndo());
}

TEST_F(EditTest, AnyPresetAfterAnyOther)
{
    open();
    poll(2);
    std::vector<ScalerConfig> states = {config().scaler};
    for (const ScalerPreset& preset : scalerPresets()) {
        set("scaler", std::string(preset.key).c_str());
        if (config().scaler != states.back()) {
            states.push_back(config().scaler);
        }
    }
    ASSERT_GT(states.size(), 10U);
    ASSERT_EQ(window->history().count(), static_cast<int>(states.size()) - 1);
    for (std::size_t i = states.size() - 1; i-- > 0;) {
        undo();
        EXPECT_EQ(config().scaler, states[i]) << i;
    }
    for (std::size_t i = 1; i < states.size(); ++i) {
        redo();
        EXPECT_EQ(config().scaler, states[i]) << i;
    }
}

TEST_F(EditTest, ThePyTorchDefaultsAreOneChange)
{
    open();
    poll(3);
    run().setScale(512.0);
    poll();
    window->actions().pytorchDefaults->trigger();
    poll();
    EXPECT_EQ(window->history().count(), 2);
    EXPECT_EQ(config().scaler.growthInterval, 2000);
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    EXPECT_EQ(run().run().live.scaler.scale, 512.0);
    redo();
    EXPECT_EQ(config().scaler.growthInterval, 2000);
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
}

TEST_F(EditTest, AScaleIsSetBackByACommand)
{
    open();
    poll(3);
    window->actions().halveScale->trigger();
    poll();
    window->actions().halveScale->trigger();
    poll();
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: loss scale 2¹⁵ → 2¹⁴"));
    poll(5);
    const std::size_t steps = run().run().steps.size();
    undo();
    EXPECT_EQ(run().run().live.scaler.scale, 32768.0);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 32768.0);
    EXPECT_EQ(run().run().steps.size(), steps); // the steps since are what they were
    undo();
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
}

TEST_F(EditTest, ADragIsOneChangeHoweverManyScalesItSets)
{
    open();
    poll(3);
    WhatIfPlot* plot = window->plots().whatIf();
    window->actions().focusActions.at(9)->trigger();
    settleEvents();
    ASSERT_TRUE(plot->isVisible());
    const auto at = [&](double log2Scale) {
        return QPointF(plot->pixelOf(std::exp2(log2Scale)), plot->axisRect()->rect().center().y());
    };
    sendMouse(*plot, QEvent::MouseButtonPress, at(16), Qt::LeftButton);
    for (const double to : {15.0, 14.0, 13.0, 12.0}) {
        sendMouse(*plot, QEvent::MouseMove, at(to), Qt::LeftButton);
        poll(1); // each of them is applied
    }
    sendMouse(*plot, QEvent::MouseButtonRelease, at(12), Qt::LeftButton);
    poll();
    EXPECT_EQ(run().run().live.scaler.scale, 4096.0);
    EXPECT_EQ(window->history().count(), 1);
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: loss scale 2¹⁶ → 2¹²"));
    // The next drag is another change.
    drag(*plot, at(12), at(10));
    poll();
    EXPECT_EQ(window->history().count(), 2);
    undo();
    EXPECT_EQ(run().run().live.scaler.scale, 4096.0);
    undo();
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
    // There and back is none.
    window->history().clear();
    sendMouse(*plot, QEvent::MouseButtonPress, at(16), Qt::LeftButton);
    for (const double to : {15.0, 14.0, 16.0}) {
        sendMouse(*plot, QEvent::MouseMove, at(to), Qt::LeftButton);
        poll();
    }
    sendMouse(*plot, QEvent::MouseButtonRelease, at(16), Qt::LeftButton);
    poll();
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
    EXPECT_EQ(window->history().count(), 0);
}

TEST_F(EditTest, TheSpectrumsDragIsOneChangeToo)
{
    open();
    poll(3);
    SpectrumPlot* plot = window->plots().spectrum();
    plot->refresh();
    const auto at = [&](double exponent) {
        return QPointF(plot->pixelOf(exponent), plot->axisRect()->rect().center().y());
    };
    const double edge = plot->window().overflow;
    sendMouse(*plot, QEvent::MouseButtonPress, at(edge), Qt::LeftButton);
    for (const double by : {1.0, 2.0, 3.0}) {
        sendMouse(*plot, QEvent::MouseMove, at(edge) + QPointF((at(edge + by) - at(edge)).x(), 0), Qt::LeftButton);
        poll();
    }
    sendMouse(*plot, QEvent::MouseButtonRelease, at(edge), Qt::LeftButton);
    poll();
    EXPECT_EQ(window->history().count(), 1);
    undo();
    EXPECT_EQ(run().run().live.scaler.scale, 65536.0);
}

// A key that is held down sets a scale each time it repeats, but is one change; the next press is another.
TEST_F(EditTest, AnArrowKeyHeldDownIsOneChange)
{
    open();
    poll(3);
    for (ScaleSettingPlot* plot : window->findChildren<ScaleSettingPlot*>()) {
        const double scale = run().run().live.scaler.scale;
        const auto press = [&](bool repeated) {
            QKeyEvent event(QEvent::KeyPress, Qt::Key_Right, Qt::NoModifier, QString(), repeated);
            QApplication::sendEvent(plot, &event);
            poll();
        };
        press(false);
        for (int i = 0; i < 4; ++i)
            press(true);
        EXPECT_EQ(window->history().count(), 1); // what was undone before is cut off
        EXPECT_NE(run().run().live.scaler.scale, scale);
        press(false);
        EXPECT_EQ(window->history().count(), 2);
        undo();
        undo();
        EXPECT_EQ(run().run().live.scaler.scale, scale);
    }
}

TEST_F(EditTest, TheScaleIsBackAfterTheScalerWasOff)
{
    open();
    poll(3);
    run().setScale(2048.0);
    poll(3);
    set("scaler", "off");
    EXPECT_EQ(run().run().live.scaler.scale, 1.0);
    undo();
    EXPECT_TRUE(config().scaler.enabled);
    EXPECT_EQ(run().run().live.scaler.scale, 2048.0);
}

TEST_F(EditTest, PrecisionPresetsAndSingleLayers)
{
    open();
    poll(3);
    set("precision.h0.mlp.fc", "fp32");
    set("precision", "pure-fp16");
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp16);
    EXPECT_EQ(formatOf("tok_emb"), FormatId::Fp16);
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: Precision Mixed FP16 → Pure FP16"));
    undo();
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp32);
    EXPECT_EQ(formatOf("h0.mlp.proj"), FormatId::Fp16);
    EXPECT_EQ(formatOf("tok_emb"), FormatId::Fp32);
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: Format of h0.mlp.fc FP16 → FP32"));
    undo();
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp16);
    redo();
    redo();
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp16);
    EXPECT_EQ(formatOf("tok_emb"), FormatId::Fp16);
}

TEST_F(EditTest, WaitsForWhatHasNotBeenAnswered)
{
    open();
    poll(3);
    set("growth-interval", "50");
    engine->holdCommands = true;
    set("growth-interval", "60"); // the step takes long
    window->history().undo();     // means this one
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 50);
    engine->holdCommands = false;
    poll();
    poll();
    EXPECT_EQ(config().scaler.growthInterval, 50);
    EXPECT_EQ(window->actions().redo->text(), QStringLiteral("&Redo: Growth interval 50 → 60"));
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 20);
}

TEST_F(EditTest, ARestartKeepsTheSettingsAndForgetsTheScales)
{
    open();
    poll(3);
    set("growth-interval", "50");
    run().setScale(512.0);
    poll();
    set("learning-rate", "0.5");
    EXPECT_EQ(window->history().count(), 3);
    undo(); // the learning rate, which could be made again
    run().restart(false);
    poll();
    poll(2);
    EXPECT_EQ(window->history().count(), 2);
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: Growth interval 20 → 50"));
    EXPECT_TRUE(window->actions().redo->isEnabled());
    const auto sent = engine->posted.size();
    EXPECT_EQ(config().scaler.growthInterval, 50);
    EXPECT_EQ(engine->posted.size(), sent); // moving the stack has sent nothing
    undo();
    EXPECT_EQ(config().scaler.growthInterval, 20);
    redo();
    redo();
    EXPECT_FLOAT_EQ(config().optimizer.learningRate, 0.5F);
    // Another run is another matter.
    window->startRun(FakeEngine::smallConfig());
    poll(2);
    EXPECT_EQ(window->history().count(), 0);
    EXPECT_FALSE(window->actions().undo->isEnabled());
}

TEST_F(EditTest, WhatTheWindowAsksForByItselfIsNotTheUsersChange)
{
    open();
    poll(3);
    window->actions().tapActions.at(2)->trigger(); // switches their measuring on
    poll(2);
    ASSERT_TRUE(config().measureActivations);
    EXPECT_EQ(window->history().count(), 0);
    set("growth-interval", "50");
    undo();
    EXPECT_TRUE(config().measureActivations);
}

TEST_F(EditTest, AFailedRunHasNothingToUndo)
{
    open();
    poll(3);
    set("growth-interval", "50");
    engine->fail("the memory is gone");
    poll();
    EXPECT_FALSE(window->actions().undo->isEnabled());
}

TEST(CommandsTowards, EveryOrderIsAllowed)
{
    // Bounds above the scale's and below it: neither setting may go first blindly.
    RunConfig from;
    from.scaler.minScale = 1024;
    from.scaler.maxScale = 2048;
    from.scaler.initialScale = 2048;
    RunConfig to = from;
    for (const auto& [key, value] :
         commandsTowards(from, {{"max-scale", "65536"}, {"min-scale", "32768"}, {"initial-scale", "65536"}})) {
        ASSERT_EQ(editSetting(to, key, value), std::nullopt) << key;
    }
    EXPECT_EQ(to.scaler.minScale, 32768);
    EXPECT_EQ(to.scaler.maxScale, 65536);
    EXPECT_EQ(to.scaler.initialScale, 65536);
    EXPECT_TRUE(commandsTowards(to, {}).empty());
    EXPECT_EQ(settingDifferences(from, to).size(), 3U);
}

TEST_F(EditTest, APatternSelectsLayersAndTheSpectrumShowsTheirSum)
{
    open();
    poll(3);
    window->actions().selectLayers->trigger();
    EXPECT_TRUE(pattern()->hasFocus());
    QTest::keyClicks(pattern(), QStringLiteral("h*.mlp.*"));
    EXPECT_EQ(selected(), (std::vector<std::string>{"h0.mlp.fc", "h0.mlp.proj", "h1.mlp.fc", "h1.mlp.proj"}));
    EXPECT_EQ(count(), QStringLiteral("4 of %1").arg(run().run().info.modules.size()));
    EXPECT_EQ(window->plots().spectrum()->title(),
              QStringLiteral("Gradient spectrum · h*.mlp.* (4 layers) · weight gradients"));
    EXPECT_EQ(window->layers().table()->selectionModel()->selectedRows().size(), 4);
    // The sum, exactly.
    std::uint64_t total = 0;
    for (const int module : run().run().selection.modules) {
        total += run().run().tapOf(*run().run().latest, module, Tap::WeightGrad)->statistics.count();
    }
    EXPECT_EQ(run().run().selected(*run().run().latest)->count(), total);
    // What matches nothing says so and shows everything.
    pattern()->selectAll();
    QTest::keyClicks(pattern(), QStringLiteral("x9"));
    EXPECT_TRUE(selected().empty());
    EXPECT_EQ(count(), QStringLiteral("matches none"));
    pattern()->clear();
    EXPECT_EQ(count(), QString());
    // A click in the table is a selection without a pattern.
    window->layers().pattern()->select(QStringLiteral("norms"));
    EXPECT_EQ(pattern()->text(), QStringLiteral("norms"));
    window->layers().table()->selectRow(2);
    EXPECT_EQ(pattern()->text(), QString());
    EXPECT_EQ(selected().size(), 1U);
    window->layers().table()->clearSelection();
    EXPECT_EQ(count(), QString());
}

TEST_F(EditTest, KindsAreInTheMenu)
{
    open();
    poll(3);
    QStringList chosen;
    for (QAction* action : window->layers().pattern()->groupsMenu()->actions()) {
        action->trigger();
        chosen << pattern()->text();
        EXPECT_FALSE(selected().empty()) << pattern()->text().toStdString();
    }
    EXPECT_EQ(chosen, (QStringList{QStringLiteral("norms"), QStringLiteral("linear"), QStringLiteral("attention"),
                                   QStringLiteral("embeddings"), QStringLiteral("head"), QStringLiteral("sensitive")}));
    EXPECT_EQ(window->plots().spectrum()->title().contains(QStringLiteral("sensitive (")), true);
}

TEST_F(EditTest, AFormatGoesToAllSelectedLayersAsOneChange)
{
    open();
    poll(3);
    window->layers().pattern()->select(QStringLiteral("h0.mlp, *.qkv, loss"));
    ASSERT_EQ(selected().size(), 5U);
    QAction* bf16 = nullptr;
    for (QAction* action : window->actions().formatActions) {
        bf16 = action->data().toString() == QStringLiteral("bf16") ? action : bf16;
    }
    ASSERT_NE(bf16, nullptr);
    bf16->trigger();
    poll();
    for (const char* module : {"h0.mlp.fc", "h0.mlp.proj", "h0.attn.qkv", "h1.attn.qkv"}) {
        EXPECT_EQ(formatOf(module), FormatId::Bf16) << module;
    }
    EXPECT_EQ(formatOf("loss"), FormatId::Fp32); // it has no other
    EXPECT_EQ(formatOf("h1.mlp.fc"), FormatId::Fp16);
    EXPECT_EQ(window->history().count(), 1);
    EXPECT_EQ(undoText(), QStringLiteral("&Undo: format of 4 layers → BF16"));
    undo();
    for (const char* module : {"h0.mlp.fc", "h0.mlp.proj", "h0.attn.qkv", "h1.attn.qkv"}) {
        EXPECT_EQ(formatOf(module), FormatId::Fp16) << module;
    }
    redo();
    EXPECT_EQ(formatOf("h1.attn.qkv"), FormatId::Bf16);
}

TEST_F(EditTest, TheRowsMenuSetsFormats)
{
    open();
    poll(3);
    window->layers().pattern()->select(QStringLiteral("h?.mlp.fc"));
    LayersTable* table = window->layers().table();
    const QModelIndex row = table->selectionModel()->selectedRows(LayersModel::RmsColumn).first();
    emit table->customContextMenuRequested(table->visualRect(row).center());
    QMenu* menu = nullptr;
    for (QMenu* one : window->layers().findChildren<QMenu*>()) {
        menu = one->actions().size() > 3 && one->actions().front()->menu() != nullptr ? one : menu;
    }
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(menu->actions().front()->text(), QStringLiteral("Set format of 2 layers"));
    QStringList words;
    for (QAction* action : menu->actions().front()->menu()->actions()) {
        words << action->text();
        if (action->text() == QStringLiteral("FP32")) {
            action->trigger();
        }
    }
    EXPECT_TRUE(words.contains(QStringLiteral("FP16")) && words.contains(QStringLiteral("BF16")));
    menu->close();
    poll();
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp32);
    EXPECT_EQ(formatOf("h1.mlp.fc"), FormatId::Fp32);
    EXPECT_EQ(formatOf("h0.mlp.proj"), FormatId::Fp16);
}

TEST_F(EditTest, TheRowsMenuIsAboutTheRowUnderThePointer)
{
    open();
    poll(3);
    window->layers().pattern()->select(QStringLiteral("h?.mlp.fc"));
    LayersTable* table = window->layers().table();
    QModelIndex row;
    for (int r = 0; r < table->model()->rowCount(); ++r) {
        const QModelIndex index = table->model()->index(r, LayersModel::ModuleColumn);
        row = index.data().toString() == QStringLiteral("h0.mlp.proj") ? index : row;
    }
    ASSERT_TRUE(row.isValid());
    emit table->customContextMenuRequested(table->visualRect(row).center());
    QMenu* menu = nullptr;
    for (QMenu* one : window->layers().findChildren<QMenu*>()) {
        menu = one->actions().size() > 3 && one->actions().front()->menu() != nullptr ? one : menu;
    }
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(menu->actions().front()->text(), QStringLiteral("Set format"));
    for (QAction* action : menu->actions().front()->menu()->actions()) {
        if (action->text() == QStringLiteral("FP32")) {
            action->trigger();
        }
    }
    menu->close();
    poll();
    EXPECT_EQ(formatOf("h0.mlp.proj"), FormatId::Fp32);
    EXPECT_EQ(formatOf("h0.mlp.fc"), FormatId::Fp16);
}

TEST_F(EditTest, APatternOutlivesARestart)
{
    open();
    poll(3);
    window->layers().pattern()->select(QStringLiteral("*.ln_1"));
    EXPECT_EQ(selected().size(), 2U);
    run().restart(true);
    poll(2);
    EXPECT_EQ(selected().size(), 2U);
    EXPECT_EQ(pattern()->text(), QStringLiteral("*.ln_1"));
}

} // namespace halfscope::test
