// SPDX-License-Identifier: GPL-3.0-or-later
// A step of the past that the spectrum holds: how it comes to be, and all the ways back.
#include <QDialog>
#include <QMenu>
#include <QPointer>
#include <QPushButton>

#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/run_steps_dialog.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"

namespace halfscope::test {

namespace {

class HoldTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        open();
        poll(60);
    }
    SpectrumPlot* spectrum() { return window->plots().spectrum(); }
    StepPlot* steps() { return window->plots().waterfall(); }
    QPoint atStep(double step) { return {int(steps()->pixelOfStep(step)), steps()->axisRect()->rect().center().y()}; }
    void holdByClick()
    {
        hover(*steps(), atStep(20));
        drag(*steps(), atStep(20), atStep(20));
        ASSERT_EQ(spectrum()->frozenStep(), std::optional<qint64>(20));
    }
    // The key goes where the keyboard is, as from the window system.
    void escape() { QTest::keyClick(window->windowHandle(), Qt::Key_Escape); }
    QPushButton* button() { return window->findChild<QPushButton*>(QStringLiteral("to-newest")); }
};

} // namespace

TEST_F(HoldTest, EscapeReleasesWhereverTheKeyboardIs)
{
    const QList<QWidget*> places = {spectrum(),
                                    steps(),
                                    window->plots().lossPlot(),
                                    window->layers().table(),
                                    window->events().table(),
                                    window->findChild<NumberEdit*>()};
    for (QWidget* place : places) {
        holdByClick(); // the pointer stays on the step plot
        place->setFocus();
        ASSERT_TRUE(window->actions().releaseStep->isEnabled());
        escape();
        EXPECT_EQ(spectrum()->frozenStep(), std::nullopt) << place->metaObject()->className();
        EXPECT_EQ(window->plots().link().crosshair(), std::nullopt);
        EXPECT_TRUE(spectrum()->accessibleDescription().startsWith(QStringLiteral("step 60"))) << "the newest is shown";
        EXPECT_FALSE(window->actions().releaseStep->isEnabled()); // Esc is free again
        QTest::qWait(QApplication::doubleClickInterval() + 20);
    }
}

TEST_F(HoldTest, FieldsDialogsAndMenusKeepTheirEscape)
{
    holdByClick();
    auto* field = named<NumberEdit>(QStringLiteral("Growth interval"));
    ASSERT_NE(field, nullptr);
    field->setFocus();
    const QString before = field->text();
    QTest::keyClicks(field, QStringLiteral("7"));
    ASSERT_TRUE(field->isEdited());
    escape();
    EXPECT_EQ(field->text(), before);
    EXPECT_TRUE(spectrum()->frozenStep().has_value());

    window->actions().runSteps->trigger();
    const QPointer<RunStepsDialog> asked = dialog<RunStepsDialog>();
    ASSERT_NE(asked, nullptr);
    ASSERT_TRUE(QTest::qWaitForWindowActive(asked));
    QTest::keyClick(asked->windowHandle(), Qt::Key_Escape);
    EXPECT_TRUE(asked.isNull() || !asked->isVisible()); // it goes once it is closed
    EXPECT_TRUE(spectrum()->frozenStep().has_value());
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    window->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));

    emit steps()->customContextMenuRequested(QPoint(50, 50));
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_NE(menu, nullptr);
    QTest::keyClick(menu->windowHandle(), Qt::Key_Escape);
    EXPECT_EQ(QApplication::activePopupWidget(), nullptr);
    EXPECT_TRUE(spectrum()->frozenStep().has_value());
    window->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
    escape();
    EXPECT_FALSE(spectrum()->frozenStep().has_value());
}

TEST_F(HoldTest, ADoubleClickLeavesNoHoldBehind)
{
    hover(*steps(), atStep(30));
    drag(*steps(), atStep(30), atStep(30));
    EXPECT_TRUE(spectrum()->frozenStep().has_value());
    sendMouse(*steps(), QEvent::MouseButtonDblClick, atStep(30), Qt::LeftButton);
    sendMouse(*steps(), QEvent::MouseButtonRelease, atStep(30), Qt::LeftButton);
    EXPECT_EQ(spectrum()->frozenStep(), std::nullopt);
    EXPECT_FALSE(button()->isVisible());
}

TEST_F(HoldTest, TheButtonIsSeenAndReleases)
{
    EXPECT_FALSE(button()->isVisible());
    settleEvents();
    const int height = spectrum()->height();
    holdByClick();
    ASSERT_TRUE(button()->isVisible());
    settleEvents();
    EXPECT_TRUE(button()->text().contains(QStringLiteral("20")));
    EXPECT_GE(button()->width(), button()->fontMetrics().horizontalAdvance(button()->text()));
    QCoreApplication::processEvents();
    EXPECT_EQ(spectrum()->height(), height); // nothing jumps
    QTest::mouseClick(button(), Qt::LeftButton);
    EXPECT_EQ(spectrum()->frozenStep(), std::nullopt);
    EXPECT_FALSE(button()->isVisible());
}

TEST_F(HoldTest, SettingTheScaleByWhateverMeansReleases)
{
    holdByClick();
    window->actions().doubleScale->trigger();
    EXPECT_EQ(spectrum()->frozenStep(), std::nullopt);
    QTest::qWait(QApplication::doubleClickInterval() + 20);
    holdByClick();
    const double y = spectrum()->axisRect()->rect().center().y();
    const QPointF edge(spectrum()->pixelOf(spectrum()->window().overflow), y);
    drag(*spectrum(), edge, edge - QPointF(60, 0));
    EXPECT_EQ(spectrum()->frozenStep(), std::nullopt);
    EXPECT_EQ(window->plots().link().crosshair(), std::nullopt);
    ASSERT_NE(lastPosted<SetScale>(), nullptr);
    EXPECT_GT(lastPosted<SetScale>()->scale, 131072.0);
}

TEST_F(HoldTest, ReleasingReturnsToTheNewestStepsOnlyIfTheyWereLeftForThis)
{
    window->plots().link().setRange(5, 25);
    window->plots().showStep(10); // in view
    window->plots().releaseStep();
    EXPECT_EQ(window->plots().link().mode(), StepAxisLink::Mode::Free);
    window->plots().link().reset();
    window->plots().link().zoom(window->plots().link().range().size() / 10, 0);
    ASSERT_FALSE(window->plots().link().range().contains(3));
    window->plots().showStep(3);
    ASSERT_EQ(window->plots().link().mode(), StepAxisLink::Mode::Free);
    window->plots().releaseStep();
    EXPECT_EQ(window->plots().link().mode(), StepAxisLink::Mode::Follow);
}

} // namespace halfscope::test
