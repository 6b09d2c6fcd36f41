// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor's panel: findings come and go, their buttons do what they say, and so do the steps of debugging.
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "tests/ui/window_fixture.h"
#include "ui/models/layers_model.h"
#include "ui/panels/advisor_panel.h"
#include "ui/panels/finding_card.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"

namespace halfscope::test {

namespace {

class AdvisorTest : public WindowTest {
protected:
    void openWith(const std::string& precision, double scale = 65536.0)
    {
        RunConfig config = FakeEngine::smallConfig();
        config.precision = precision;
        config.scaler.initialScale = scale;
        open(config);
    }
    void more(std::int64_t steps)
    {
        poll(steps);
        window->advisor().refreshNow();
    }
    FindingCard* card(FindingKind kind)
    {
        for (FindingCard* one : window->advisor().cards()) {
            if (one->finding().kind == kind) {
                return one;
            }
        }
        return nullptr;
    }
    static QPushButton* button(const QWidget* in, const QString& text)
    {
        for (QPushButton* one : in->findChildren<QPushButton*>()) {
            if (one->text() == text && !one->isHidden()) {
                return one;
            }
        }
        ADD_FAILURE() << "no button " << text.toStdString();
        return nullptr;
    }
    std::string shown(FindingCard* of)
    {
        std::string all;
        for (const QLabel* label : of->findChildren<QLabel*>()) {
            all += label->text().toStdString() + "\n";
        }
        return all;
    }
    QString status() { return window->findChild<QToolButton*>(QStringLiteral("status-advice"))->text(); }
};

TEST_F(AdvisorTest, SaysSoWhenThereIsNothing)
{
    openWith("mixed-fp16");
    more(3);
    EXPECT_EQ(window->advisor().count(), 0);
    EXPECT_EQ(status(), QStringLiteral("Advisor: nothing"));
    EXPECT_FALSE(window->actions().adviceApply->isEnabled());
    bool said = false;
    for (const QLabel* label : window->advisor().findChildren<QLabel*>()) {
        said = said || (!label->isHidden() && label->text().startsWith(QStringLiteral("Nothing stands out.")));
    }
    EXPECT_TRUE(said);
}

TEST_F(AdvisorTest, ARemedyIsOneClickAndOneEvent)
{
    openWith("mixed-bf16");
    more(3);
    FindingCard* useless = card(FindingKind::ScalerUseless);
    ASSERT_NE(useless, nullptr);
    EXPECT_EQ(status(), QStringLiteral("Advisor: 1 finding"));
    EXPECT_EQ(useless->accessibleName(), QStringLiteral("Note: The loss scale is of no use here"));
    QTest::mouseClick(button(useless, QStringLiteral("Loss scale off")), Qt::LeftButton);
    const auto* posted = lastPosted<SetSetting>();
    ASSERT_NE(posted, nullptr);
    EXPECT_EQ(posted->key, "scaler-mode");
    EXPECT_EQ(posted->value, "off");
    more(1);
    const Event& event = window->controller().run().events.back();
    EXPECT_EQ(event.kind, EventKind::Command);
    EXPECT_EQ(event.key, "scaler-mode");
    EXPECT_EQ(window->advisor().count(), 0) << "mended";
    EXPECT_EQ(status(), QStringLiteral("Advisor: nothing"));
}

TEST_F(AdvisorTest, TheKeyboardAloneWillDo)
{
    openWith("mixed-bf16");
    more(3);
    window->actions().adviceApply->trigger();
    ASSERT_NE(lastPosted<SetSetting>(), nullptr);
    EXPECT_EQ(lastPosted<SetSetting>()->key, "scaler-mode");
    for (const QPushButton* one : card(FindingKind::ScalerUseless)->findChildren<QPushButton*>()) {
        EXPECT_NE(one->focusPolicy() & Qt::TabFocus, 0);
        EXPECT_FALSE(one->accessibleName().isEmpty());
        EXPECT_FALSE(one->toolTip().isEmpty()) << "says what it sets";
    }
    window->actions().adviceDismiss->trigger();
    EXPECT_EQ(window->advisor().count(), 0);
    more(5);
    EXPECT_EQ(window->advisor().count(), 0) << "dismissed findings stay away while they last";
    window->actions().undo->trigger(); // the remedy
    window->controller().restart(false);
    more(3);
    EXPECT_EQ(window->advisor().count(), 1) << "in a new run it is news";
}

TEST_F(AdvisorTest, FlushedLayersAreNamedAndShown)
{
    openWith("mixed-fp16", 0x1p-6);
    more(12);
    FindingCard* flushing = nullptr;
    for (FindingCard* one : window->advisor().cards()) {
        if (one->finding().kind == FindingKind::Flushing) {
            flushing = one;
        }
    }
    ASSERT_NE(flushing, nullptr);
    EXPECT_NE(shown(flushing).find("become zero at scale 2⁻⁶"), std::string::npos) << shown(flushing);
    QTest::mouseClick(button(flushing, QStringLiteral("Show me")), Qt::LeftButton);
    const TapSelection& selection = window->controller().run().selection;
    const std::vector<std::int16_t>& modules = flushing->finding().modules;
    EXPECT_EQ(selection.modules.size(), modules.size());
    EXPECT_EQ(static_cast<int>(selection.tap), flushing->finding().tap);
    EXPECT_TRUE(window->plots().holdsStep());
    // The first remedy sets the scale that mends it.
    const Remedy remedy = flushing->finding().remedies.front();
    ASSERT_EQ(remedy.kind, RemedyKind::SetScale);
    window->controller().apply(remedy);
    ASSERT_NE(lastPosted<SetScale>(), nullptr);
    EXPECT_EQ(lastPosted<SetScale>()->scale, remedy.value);
    more(12);
    EXPECT_EQ(card(FindingKind::Flushing), nullptr);
}

TEST_F(AdvisorTest, CardsStayWhereTheyAreWhileTheirNumbersChange)
{
    openWith("mixed-fp16", 0x1p-6);
    more(12);
    const QList<FindingCard*> before = window->advisor().cards();
    ASSERT_FALSE(before.isEmpty());
    QPushButton* show = button(before.first(), QStringLiteral("Show me"));
    show->setFocus();
    more(3);
    EXPECT_EQ(window->advisor().cards(), before);
    EXPECT_TRUE(show->hasFocus());
}

TEST_F(AdvisorTest, WhatIsOverIsListedAsEarlier)
{
    openWith("mixed-bf16");
    more(2);
    window->controller().setSetting(QStringLiteral("precision"), QStringLiteral("mixed-fp16"));
    more(2);
    EXPECT_EQ(card(FindingKind::ScalerUseless), nullptr);
    QToolButton* earlier = named<QToolButton>(QStringLiteral("Earlier (1)"));
    ASSERT_NE(earlier, nullptr);
    earlier->setChecked(true);
    bool listed = false;
    for (const QLabel* label : window->advisor().findChildren<QLabel*>()) {
        listed =
            listed || (!label->isHidden() && label->text().contains(QStringLiteral("The loss scale is of no use")));
    }
    EXPECT_TRUE(listed);
}

TEST_F(AdvisorTest, StepsOfDebugging)
{
    openWith("pure-fp16");
    more(3);
    const WindowActions& a = window->actions();
    a.stepHalve->trigger();
    ASSERT_NE(lastPosted<SetScale>(), nullptr);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 32768.0);
    a.stepSensitive->trigger();
    more(1);
    const RunModel& run = window->controller().run();
    for (std::size_t i = 0; i < run.info.modules.size(); ++i) {
        const ModuleInfo& module = run.info.modules[i];
        const bool sensitive = module.kind == ModuleKind::Embedding || module.kind == ModuleKind::Norm ||
                               module.name == "lm_head" || module.kind == ModuleKind::Loss;
        EXPECT_EQ(run.live.plan[i] == FormatId::Fp32, sensitive) << module.name;
    }
    EXPECT_FALSE(a.stepSensitive->isEnabled()) << "they are";
    QTest::mouseClick(button(&window->advisor(), QStringLiteral("Mixed precision off")), Qt::LeftButton);
    more(1);
    EXPECT_EQ(run.live.config.precision, "fp32");
    EXPECT_FALSE(a.stepFp32->isEnabled());
    EXPECT_FALSE(button(&window->advisor(), QStringLiteral("Mixed precision off"))->isEnabled());
}

TEST_F(AdvisorTest, ARemedyLeavesTheKeyboardWhereItWas)
{
    openWith("mixed-bf16");
    more(3);
    QWidget* before = QApplication::focusWidget();
    ASSERT_NE(before, nullptr);
    QTest::mouseClick(card(FindingKind::ScalerUseless)->findChildren<QPushButton*>().first(), Qt::LeftButton);
    more(1);
    EXPECT_EQ(window->advisor().count(), 0);
    EXPECT_EQ(QApplication::focusWidget(), before);
    // And what goes while it has the keyboard gives it to no button that does something.
    auto* fp32 = button(&window->advisor(), QStringLiteral("Mixed precision off"));
    fp32->setFocus();
    QTest::keyClick(fp32, Qt::Key_Space);
    more(1);
    EXPECT_FALSE(fp32->isEnabled());
    EXPECT_EQ(qobject_cast<QAbstractButton*>(QApplication::focusWidget()), nullptr);
}

TEST_F(AdvisorTest, MeanAndDeviationOfEachLayer)
{
    openWith("mixed-fp16");
    more(3);
    QHeaderView* header = window->layers().table()->horizontalHeader();
    header->setSectionHidden(LayersModel::MeanColumn, true);
    window->actions().stepStatistics->trigger();
    EXPECT_FALSE(header->isSectionHidden(LayersModel::MeanColumn));
    EXPECT_EQ(header->sortIndicatorSection(), LayersModel::DeviationColumn);
    EXPECT_EQ(header->sortIndicatorOrder(), Qt::DescendingOrder);
    const auto deviation = [&](int row) {
        return window->layers()
            .table()
            ->model()
            ->index(row, LayersModel::DeviationColumn)
            .data(LayersModel::SortRole)
            .toDouble();
    };
    const QString title = window->layers()
                              .table()
                              ->model()
                              ->headerData(LayersModel::DeviationColumn, Qt::Horizontal, Qt::DisplayRole)
                              .toString();
    EXPECT_EQ(title, QStringLiteral("Dev. ▾"));
    EXPECT_GE(deviation(0), deviation(1));
    EXPECT_GE(deviation(1), deviation(2));
}

TEST_F(AdvisorTest, TheComparisonWithFp32HasColumns)
{
    openWith("mixed-fp16");
    more(3);
    const QAbstractItemModel* table = window->layers().table()->model();
    EXPECT_TRUE(window->layers().table()->isColumnHidden(LayersModel::CosineColumn));
    window->actions().stepCompare->trigger();
    ASSERT_NE(lastPosted<SetSetting>(), nullptr);
    EXPECT_EQ(lastPosted<SetSetting>()->key, "shadow-interval");
    more(1);
    EXPECT_FALSE(window->layers().table()->isColumnHidden(LayersModel::CosineColumn));
    EXPECT_EQ(table->index(2, LayersModel::CosineColumn).data().toString(), QStringLiteral("–"));
    ShadowReport report;
    report.step = 5;
    report.modules.push_back({2, {0.875, 0.5, 2.0, 1.0}});
    engine->compared(report);
    more(1);
    EXPECT_EQ(table->index(2, LayersModel::CosineColumn).data(LayersModel::SortRole).toDouble(), 0.875);
    EXPECT_EQ(table->index(2, LayersModel::ErrorColumn).data(LayersModel::SortRole).toDouble(), 0.5);
    EXPECT_TRUE(table->index(2, LayersModel::CosineColumn).data(LayersModel::AlarmRole).toBool());
    EXPECT_EQ(table->index(3, LayersModel::CosineColumn).data().toString(), QStringLiteral("–"));
    EXPECT_TRUE(window->actions().stepCompare->isChecked());
    window->actions().stepCompare->trigger();
    more(1);
    EXPECT_TRUE(window->layers().table()->isColumnHidden(LayersModel::CosineColumn));
}

TEST_F(AdvisorTest, TheStatusBarOpensIt)
{
    openWith("mixed-fp16");
    more(2);
    auto* dock = window->findChild<QDockWidget*>(QStringLiteral("advisor"));
    dock->close();
    EXPECT_FALSE(window->advisor().isVisible());
    window->findChild<QToolButton*>(QStringLiteral("status-advice"))->click();
    EXPECT_TRUE(window->advisor().isVisible());
}

} // namespace
} // namespace halfscope::test
