// SPDX-License-Identifier: GPL-3.0-or-later
// What the events say, and that their list holds still for whoever reads it.
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>

#include "tests/ui/window_fixture.h"
#include "ui/models/event_log_model.h"
#include "ui/models/scaler_text.h"
#include "ui/panels/events_panel.h"

namespace halfscope::test {

namespace {

class EventsTest : public WindowTest {
protected:
    QTableView* table() const { return window->events().table(); }
    QString newest() const { return table()->model()->index(0, EventLogModel::TextColumn).data().toString(); }
    QToolButton* newer() const
    {
        for (QToolButton* button : table()->findChildren<QToolButton*>()) {
            if (button->isVisible() && button->text().contains(QStringLiteral("new"))) {
                return button;
            }
        }
        return nullptr;
    }
    void point(bool there)
    {
        QEvent leave(QEvent::Leave);
        QEnterEvent enter(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5));
        QApplication::sendEvent(table()->viewport(), there ? static_cast<QEvent*>(&enter) : &leave);
        QCoreApplication::processEvents();
    }
    int all() const { return static_cast<int>(window->controller().run().events.size()); }
    static QString newText(int count) { return QStringLiteral("%1 new").arg(count); }
    QString textOf(EventKind kind) const
    {
        const RunModel& run = window->controller().run();
        for (const Event& event : run.events) {
            if (event.kind == kind) {
                return eventText(event, run);
            }
        }
        return {};
    }
};

} // namespace

TEST_F(EventsTest, RowsStayUnderThePointer)
{
    open();
    poll(25); // grown once
    const int rows = table()->model()->rowCount();
    const QString first = newest();
    point(true);
    poll(60);
    EXPECT_EQ(table()->model()->rowCount(), rows);
    EXPECT_EQ(newest(), first);
    ASSERT_NE(newer(), nullptr);
    ASSERT_GT(all(), rows + 1);
    EXPECT_EQ(newer()->text(), newText(all() - rows));
    point(false);
    EXPECT_EQ(table()->model()->rowCount(), all());
    EXPECT_EQ(newer(), nullptr);
}

TEST_F(EventsTest, RowsStayWhileOneIsChosenAndTheButtonBringsTheNewOnes)
{
    open();
    poll(25);
    const int rows = all();
    table()->selectRow(0);
    poll(40);
    ASSERT_NE(newer(), nullptr);
    EXPECT_EQ(newer()->text(), newText(all() - rows));
    QTest::mouseClick(newer(), Qt::LeftButton);
    EXPECT_EQ(newer(), nullptr);
    EXPECT_FALSE(table()->selectionModel()->hasSelection());
    EXPECT_EQ(table()->model()->rowCount(), all());
    // And Esc does the same.
    table()->selectRow(0);
    poll(20);
    ASSERT_NE(newer(), nullptr);
    table()->setFocus();
    QTest::keyClick(table(), Qt::Key_Escape);
    EXPECT_EQ(newer(), nullptr);
}

TEST_F(EventsTest, RowsStayForWhoeverReadsFurtherDown)
{
    open();
    poll(800);
    QCoreApplication::processEvents();
    QScrollBar* bar = table()->verticalScrollBar();
    ASSERT_GT(bar->maximum(), 4);
    bar->setValue(4);
    const QString top = table()->model()->index(4, 1).data().toString();
    poll(40);
    EXPECT_EQ(bar->value(), 4);
    EXPECT_EQ(table()->model()->index(4, 1).data().toString(), top);
    ASSERT_NE(newer(), nullptr);
    QTest::mouseClick(newer(), Qt::LeftButton);
    EXPECT_EQ(bar->value(), 0);
    EXPECT_EQ(newer(), nullptr);
}

TEST_F(EventsTest, GroupsThatAreHiddenDoNotCountAsNew)
{
    open();
    poll(5);
    window->events().setShown(EventGroup::You, false);
    point(true);
    window->controller().setScale(1024);
    poll(1);
    EXPECT_EQ(newer(), nullptr);
    window->events().setShown(EventGroup::You, true);
    ASSERT_NE(newer(), nullptr);
    EXPECT_EQ(newer()->text(), newText(1));
}

TEST_F(EventsTest, ANewRunIsShownWhateverWasHeld)
{
    open();
    poll(25);
    table()->selectRow(0);
    window->controller().restart(false);
    poll(25);
    EXPECT_EQ(newer(), nullptr);
    EXPECT_EQ(table()->model()->rowCount(), all());
}

TEST_F(EventsTest, InjectionsAndTheSkipsTheyCauseSayWhatTheyAre)
{
    open();
    poll(3);
    window->controller().injectSpike(QStringLiteral("h0.mlp.fc"), 65536.0 * 256.0, true);
    poll(1);
    EXPECT_EQ(textOf(EventKind::Injected), QStringLiteral("You: h0.mlp.fc weight gradients × 2²⁴ in step 4"));
    EXPECT_TRUE(textOf(EventKind::Overflow).startsWith(QStringLiteral("Skipped (injected), scale")))
        << textOf(EventKind::Overflow).toStdString();
    const RunModel& run = window->controller().run();
    EXPECT_TRUE(run.isSpiked(4));
    EXPECT_FALSE(run.isSpiked(5));
    window->controller().restart(false);
    poll();
    EXPECT_FALSE(run.isSpiked(4));
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0); // an overflow of the run's own
    poll(4);
    EXPECT_TRUE(textOf(EventKind::Overflow).startsWith(QStringLiteral("Skipped, scale")));
}

TEST_F(EventsTest, ValuesAreInTheWordsOfThePanels)
{
    open();
    window->controller().setSetting(QStringLiteral("at-min"), QStringLiteral("pause"));
    poll();
    EXPECT_EQ(newest(), QStringLiteral("You: At the minimum keep skipping → pause"));
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("pytorch"));
    poll();
    EXPECT_EQ(newest(), QStringLiteral("You: every knob as in PyTorch GradScaler"));
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("megatron"));
    poll();
    EXPECT_EQ(newest(), QStringLiteral("You: Preset PyTorch GradScaler → Megatron-LM"));
}

TEST_F(EventsTest, SkipRateIsInOneUnit)
{
    RunModel run;
    run.live.config.scaler.growthInterval = 20;
    for (int i = 1; i <= 1000; ++i) {
        StepRecord record;
        record.step = i;
        record.skippedSteps = i / 24;
        run.steps.push_back(record);
    }
    EXPECT_EQ(skipRateText(run).replace(QChar(0x202F), QLatin1Char(' ')),
              QStringLiteral("Skipped 41 of 1 000 steps (4.1 %). Up to 4.8 % (1 in 21) is normal."));
}

} // namespace halfscope::test
