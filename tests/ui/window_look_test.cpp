// SPDX-License-Identifier: GPL-3.0-or-later
// The look of the window: a change of theme leaves nothing behind, marks of a state can be told apart.
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QToolBar>
#include <QToolButton>

#include "engine/model/precision_plan.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/shown_precision.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/run_notices.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/theme.h"

namespace halfscope::test {

namespace {

class LookTest : public WindowTest {
protected:
    void dress(int theme) // 1: light, 2: dark
    {
        window->actions().themeActions.at(theme)->trigger();
        QTest::qWait(20);
    }
    QColor colourOf(const QLabel* label) { return label->palette().color(QPalette::Active, QPalette::WindowText); }
    QString shown(const QString& id) { return window->banners().text(id); }
    QStringList offers()
    {
        QStringList texts;
        for (const QPushButton* button : window->banners().findChildren<QPushButton*>()) {
            if (button->isVisible()) {
                texts << button->text();
            }
        }
        return texts;
    }
    void openWithText(const std::string& text)
    {
        RunConfig config = FakeEngine::smallConfig();
        config.text = text;
        open(config);
    }
};

double contrast(const QColor& a, const QColor& b)
{
    const auto luminance = [](const QColor& color) {
        const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
    };
    const double x = luminance(a) + 0.05;
    const double y = luminance(b) + 0.05;
    return std::max(x, y) / std::min(x, y);
}

} // namespace

TEST_F(LookTest, AChangeOfThemeLeavesSizesAsTheyWere)
{
    open();
    poll(3);
    QTest::qWait(20);
    const int height = window->findChild<QToolBar*>()->height();
    for (const int theme : {1, 2, 1, 2}) {
        dress(theme);
        EXPECT_EQ(window->findChild<QToolBar*>()->height(), height);
    }
}

TEST_F(LookTest, TheScaleHasTheColourOfTheThemeInForce)
{
    open();
    poll(3);
    const auto* scale = window->findChild<QLabel*>(QStringLiteral("scale-now"));
    for (const int theme : {1, 2, 1, 2}) {
        dress(theme);
        EXPECT_EQ(colourOf(scale), currentTheme().accent) << theme;
    }
    engine->holdCommands = true;
    window->controller().setScale(1024);
    EXPECT_EQ(colourOf(scale), currentTheme().textDim);
    engine->holdCommands = false;
    poll(1);
    EXPECT_EQ(colourOf(scale), currentTheme().accent);
}

TEST_F(LookTest, FiltersThatAreOnCanBeToldFromThoseThatAreOff)
{
    open();
    poll(3);
    for (const int theme : {1, 2}) {
        dress(theme);
        auto* chip = named<QToolButton>(QStringLiteral("Show events: Scale"));
        const auto background = [&] {
            const QImage picture = chip->grab().toImage();
            return picture.pixelColor(picture.width() / 2, 4);
        };
        chip->setChecked(true);
        const QColor on = background();
        chip->setChecked(false);
        EXPECT_GT(contrast(on, background()), 1.2) << theme;
        chip->setChecked(true);
    }
}

TEST_F(LookTest, ThePlotWithTheKeyboardHasARingAllAround)
{
    open();
    poll(3);
    QWidget* plot = window->plots().scalePlot();
    QWidget* card = plot->parentWidget();
    const auto ring = [&] {
        const QImage picture = card->grab().toImage();
        const int x = picture.width() - 1;
        const int y = picture.height() - 1;
        int sides = 0;
        for (const QPoint at : {QPoint(x / 2, 0), QPoint(x / 2, y), QPoint(0, y / 2), QPoint(x, y / 2)}) {
            sides += picture.pixelColor(at) == currentTheme().accent ? 1 : 0;
        }
        return sides;
    };
    window->plots().spectrum()->setFocus();
    EXPECT_EQ(ring(), 0);
    const QRect before = plot->geometry();
    plot->setFocus();
    EXPECT_EQ(ring(), 4);
    QCoreApplication::processEvents();
    EXPECT_EQ(plot->geometry(), before);
    window->plots().spectrum()->setFocus();
    EXPECT_EQ(ring(), 0);
}

TEST_F(LookTest, ToolbarShowsThePrecisionWhole)
{
    open();
    poll(3);
    auto* combo = window->findChild<ChoiceCombo*>(QStringLiteral("precision"));
    window->controller().setSetting(QStringLiteral("precision.h0.mlp.fc"), QStringLiteral("fp32"));
    poll(1);
    EXPECT_TRUE(combo->currentText().contains(QStringLiteral("changed")));
    EXPECT_GE(combo->width(), combo->widthFor(combo->currentText()));
}

TEST_F(LookTest, ToolbarAndMenuNameThePresetThatTheScheduleMade)
{
    open();
    poll(3);
    auto* combo = window->findChild<ChoiceCombo*>(QStringLiteral("precision"));
    const auto checked = [this] {
        QStringList keys;
        for (const QAction* action : window->actions().precisionActions)
            keys << (action->isChecked() ? QStringList{action->data().toString()} : QStringList{});
        return keys.join(QLatin1Char(' '));
    };
    RunModel run;
    run.info.modules = window->controller().run().info.modules;
    run.live.config.precision = "mixed-fp16";
    run.live.plan = *makePlan("mixed-bf16", run.info.modules);
    EXPECT_EQ(shownPrecision(run).preset, "mixed-bf16"); // of the schedule; the configuration is as it was
    EXPECT_FALSE(shownPrecision(run).changed);
    run.live.plan.back() = FormatId::Fp16;
    EXPECT_EQ(shownPrecision(run).preset, "mixed-bf16");
    EXPECT_TRUE(shownPrecision(run).changed);

    // Layer by layer into what another preset is exactly.
    const PrecisionPlan wanted = *makePlan("mixed-bf16", run.info.modules);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] == FormatId::Bf16) {
            window->controller().setSetting(QStringLiteral("precision.") +
                                                QString::fromStdString(run.info.modules[i].name),
                                            QStringLiteral("bf16"));
        }
    }
    poll(2);
    EXPECT_EQ(combo->currentData().toString(), QStringLiteral("mixed-bf16"));
    EXPECT_FALSE(combo->currentText().contains(QStringLiteral("changed")));
    EXPECT_EQ(checked(), QStringLiteral("mixed-bf16"));
}

TEST_F(LookTest, FollowIsCheckedWhileTheAxesFollow)
{
    open();
    poll(50);
    QAction* follow = window->actions().follow;
    EXPECT_TRUE(follow->isChecked());
    window->plots().link().pan(-10);
    EXPECT_FALSE(follow->isChecked());
    follow->trigger();
    EXPECT_TRUE(follow->isChecked());
    EXPECT_EQ(window->plots().link().mode(), StepAxisLink::Mode::Follow);
    // Off again: the view stands.
    follow->trigger();
    EXPECT_FALSE(follow->isChecked());
    EXPECT_EQ(window->plots().link().mode(), StepAxisLink::Mode::Free);
    auto* bar = window->findChild<QToolBar*>();
    EXPECT_TRUE(bar->actions().contains(follow));
}

TEST_F(LookTest, HintGoesOnceTheScaleWasMoved)
{
    settings->setHintDismissed(false);
    open();
    poll(3);
    EXPECT_FALSE(shown(QStringLiteral("hint")).isEmpty());
    window->controller().setScale(1024);
    EXPECT_EQ(shown(QStringLiteral("hint")), QString());
    EXPECT_TRUE(settings->hintDismissed());
}

TEST_F(LookTest, NoHintInARunThatHasFailed)
{
    settings->setHintDismissed(false);
    open();
    engine->fail("the memory is gone");
    poll();
    EXPECT_EQ(shown(QStringLiteral("hint")), QString());
    window->controller().restart(false);
    poll();
    EXPECT_FALSE(shown(QStringLiteral("hint")).isEmpty());
}

TEST_F(LookTest, AFailedStartOffersWhatMendsIt)
{
    openWithText("/tmp/poem.txt");
    engine->fail("\"/tmp/poem.txt\" cannot be read");
    poll();
    EXPECT_FALSE(shown(RunNotices::kFailure).contains(QStringLiteral("shown so far")));
    EXPECT_TRUE(offers().contains(QStringLiteral("Open text…")));
    window.reset();
    open();
    engine->fail("there is not enough memory");
    poll();
    EXPECT_FALSE(shown(RunNotices::kFailure).contains(QStringLiteral("shown so far")));
    EXPECT_TRUE(offers().contains(QStringLiteral("New run…")));
    window.reset();
    open();
    poll(3);
    engine->fail("the memory is gone");
    poll();
    EXPECT_TRUE(shown(RunNotices::kFailure).contains(QStringLiteral("shown so far")));
    EXPECT_TRUE(offers().contains(QStringLiteral("Restart")));
}

} // namespace halfscope::test
