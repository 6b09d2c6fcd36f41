// SPDX-License-Identifier: GPL-3.0-or-later
// The page about this machine.
#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QPushButton>

#include "tests/ui/window_fixture.h"
#include "ui/dialogs/machine_dialog.h"
#include "ui/panels/plain_table.h"
#include "ui/panels/window_actions.h"

namespace halfscope::test {

namespace {

class MachineTest : public WindowTest {
protected:
    MachineDialog* openDialog()
    {
        window->actions().thisMachine->trigger();
        auto* dialog = window->findChild<MachineDialog*>();
        EXPECT_NE(dialog, nullptr);
        dialog->setSeconds(0.02);
        return dialog;
    }
    static QPushButton* button(MachineDialog* dialog, const QString& text)
    {
        for (QPushButton* one : dialog->findChildren<QPushButton*>()) {
            if (one->text().remove(QLatin1Char('&')) == text)
                return one;
        }
        ADD_FAILURE() << text.toStdString();
        return nullptr;
    }
    static PlainTable* table(MachineDialog* dialog, const QString& name)
    {
        for (PlainTable* one : dialog->findChildren<PlainTable*>()) {
            if (one->accessibleName() == name)
                return one;
        }
        ADD_FAILURE() << name.toStdString();
        return nullptr;
    }
};

} // namespace

TEST_F(MachineTest, SaysWhatThereIsBeforeAnythingIsMeasured)
{
    open();
    MachineDialog* dialog = openDialog();
    const PlainTable* gpus = table(dialog, QStringLiteral("What GPUs compute natively"));
    EXPECT_EQ(gpus->cell(QStringLiteral("Volta"), QStringLiteral("FP16")), QStringLiteral("tensor cores"));
    EXPECT_EQ(gpus->cell(QStringLiteral("Volta"), QStringLiteral("BF16")), QStringLiteral("no"));
    EXPECT_EQ(gpus->cell(QStringLiteral("Ampere"), QStringLiteral("FP8")), QStringLiteral("no"));
    EXPECT_EQ(gpus->cell(QStringLiteral("Hopper"), QStringLiteral("FP8")), QStringLiteral("tensor cores"));
    EXPECT_FALSE(dialog->rates());
    EXPECT_FALSE(dialog->products().isVisible());
}

TEST_F(MachineTest, MeasuresBesideTheWindow)
{
    open();
    MachineDialog* dialog = openDialog();
    QTest::mouseClick(button(dialog, QStringLiteral("Measure")), Qt::LeftButton);
    poll();
    EXPECT_EQ(engine->live().state, EngineState::Paused);
    ASSERT_TRUE(QTest::qWaitFor([&] { return dialog->rates().has_value(); }, 60000));
    EXPECT_EQ(dialog->status(), QStringLiteral("Measured."));
    poll();
    EXPECT_EQ(engine->live().state, EngineState::Running);
    const PlainTable& products = dialog->products();
    EXPECT_TRUE(products.isVisible());
    EXPECT_EQ(products.cell(QStringLiteral("FP32"), QStringLiteral("Computed")), QStringLiteral("natively"));
    EXPECT_EQ(products.cell(QStringLiteral("FP8 E4M3"), QStringLiteral("Computed")),
              QStringLiteral("emulated exactly"));
    EXPECT_EQ(products.cell(QStringLiteral("FP16"), QStringLiteral("Of FP32")), QStringLiteral("no claim"));
    button(dialog, QStringLiteral("Copy as"))->menu()->actions().at(1)->trigger();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(QStringLiteral("\nproduct,cpu,FP32,")));
    button(dialog, QStringLiteral("Copy as"))->menu()->actions().at(0)->trigger();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(QStringLiteral("GFLOP/s")));
}

TEST_F(MachineTest, CancelsAndLeavesTheRunGoing)
{
    open();
    MachineDialog* dialog = openDialog();
    dialog->setSeconds(20);
    QTest::mouseClick(button(dialog, QStringLiteral("Measure")), Qt::LeftButton);
    QTest::qWait(50);
    QTest::keyClick(dialog, Qt::Key_Escape);
    ASSERT_TRUE(QTest::qWaitFor([&] { return dialog->status() == QStringLiteral("Cancelled."); }, 20000));
    EXPECT_TRUE(dialog->isVisible());
    poll();
    EXPECT_EQ(engine->live().state, EngineState::Running);
    // A run that somebody paused stays paused.
    window->controller().pause();
    poll();
    QTest::mouseClick(button(dialog, QStringLiteral("Measure")), Qt::LeftButton);
    QTest::qWait(50);
    window->close(); // in the middle of it
    window.reset();
}

} // namespace halfscope::test
