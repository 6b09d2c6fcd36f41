// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows of formats beyond FP16: scales of their own, precision along the steps, updates of the weights.
#include <QCheckBox>
#include <QComboBox>
#include <QPushButton>
#include <QTableWidget>

#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/schedule_dialog.h"
#include "ui/dialogs/updates_dialog.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/plain_table.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/spectrum_data.h"
#include "ui/plots/update_plot.h"
#include "ui/precision_history.h"

namespace halfscope::test {
namespace {

Event change(std::int64_t step, const char* key, const char* value, EventKind kind = EventKind::Command)
{
    Event e;
    e.step = step;
    e.kind = kind;
    e.key = key;
    e.newValue = value;
    return e;
}

RunModel someRun(int steps)
{
    FakeEngine engine;
    engine.run(steps);
    RunModel run;
    collect(run, engine);
    return run;
}

TEST(PrecisionHistory, FollowsCommandsTheScheduleAndWhatIsPlanned)
{
    RunModel run = someRun(10);
    run.events.push_back(change(4, "precision", "fp32"));
    run.events.push_back(change(6, "growth-interval", "5"));
    run.events.push_back(change(8, "precision.lm_head", "bf16", EventKind::Scheduled));
    run.events.push_back(change(9, "precision", "tf32", EventKind::Rejected));
    std::string problem;
    run.live.config.precisionSchedule = *parseSchedule("3:fp8;20:pure-fp16;15:lm_head=fp32", problem);
    const std::vector<PrecisionSpan> spans = precisionHistory(run);
    ASSERT_EQ(spans.size(), 5U);
    EXPECT_EQ(spans[0].name, QStringLiteral("Mixed FP16"));
    EXPECT_EQ(spans[0].first, 1);
    EXPECT_EQ(spans[0].last, 3);
    EXPECT_EQ(spans[0].format, FormatId::Fp16);
    EXPECT_EQ(spans[1].name, QStringLiteral("FP32"));
    EXPECT_EQ(spans[1].last, 7);
    EXPECT_EQ(spans[2].name, QStringLiteral("FP32, lm_head BF16"));
    EXPECT_FALSE(spans[2].planned);
    EXPECT_EQ(spans[3].first, 15) << "what is planned for step 3 has passed";
    EXPECT_EQ(spans[3].name, QStringLiteral("FP32"));
    EXPECT_TRUE(spans[3].planned);
    EXPECT_EQ(spans[4].name, QStringLiteral("Pure FP16"));
    EXPECT_EQ(spans[4].last, 0);
    EXPECT_EQ(spanAt(spans, 7)->first, 4);
    EXPECT_EQ(spanAt(spans, 1000)->first, 20);
    EXPECT_EQ(spanAt(spans, 0), nullptr);
}

TEST(SpectrumOfOwnScales, IsDrawnAtTheScaleOfTheTensor)
{
    RunModel run = someRun(3);
    auto changed = std::make_shared<Snapshot>(*run.latest);
    const int fc = run.moduleId("h0.mlp.fc");
    for (TapStatistics& tap : changed->taps) {
        if (tap.module == fc) {
            tap.format = FormatId::Fp8E5M2;
            tap.ownScale = 4096.0F;
        }
    }
    run.latest = changed;
    SpectrumData data;
    run.selection = {{fc}, Tap::WeightGrad};
    data.take(&run, {});
    EXPECT_TRUE(data.hasOwnScale());
    EXPECT_EQ(data.measuredScale(), 4096.0);
    EXPECT_EQ(data.format().id, FormatId::Fp8E5M2);
    EXPECT_TRUE(data.numbersAt(4096.0).exact);
    // Among others it stands aside: the window is theirs, and every value is counted once.
    run.selection = {{}, Tap::WeightGrad};
    data.take(&run, {});
    EXPECT_FALSE(data.hasOwnScale());
    EXPECT_EQ(data.format().id, FormatId::Fp16);
    EXPECT_EQ(data.measuredScale(), static_cast<double>(run.latest->scale));
    EXPECT_TRUE(data.otherName().contains(QStringLiteral("FP8 E5M2 with its own scale")) ||
                data.otherName() == QStringLiteral("other formats"));
    EXPECT_EQ(data.otherShortName(), QStringLiteral("others"));
    const SpectrumNumbers n = data.numbersAt(2.0 * data.measuredScale());
    EXPECT_NEAR(n.zero + n.flushed + n.subnormal + n.normal + n.overflow + n.other, n.total, 1e-6 * n.total);
    EXPECT_EQ(n.total, static_cast<double>(data.all().count()));
}

class PrecisionViews : public WindowTest {};

TEST_F(PrecisionViews, TheScheduleIsEditedInATable)
{
    open();
    poll(5);
    window->actions().precisionSchedule->trigger();
    auto* dialog = this->dialog<ScheduleDialog>();
    ASSERT_NE(dialog, nullptr);
    dialog->addRow(QStringLiteral("200"), QString(), QStringLiteral("fp32"));
    dialog->addRow(QStringLiteral("2e"), QStringLiteral("lm_head"), QStringLiteral("fp8"));
    EXPECT_EQ(dialog->schedule(), QStringLiteral("200:fp32;2e:lm_head=fp8"));
    EXPECT_TRUE(dialog->problem().isEmpty()) << dialog->problem().toStdString();
    auto* apply = named<QPushButton>(QStringLiteral("Apply"));
    ASSERT_NE(apply, nullptr);
    dialog->table().item(0, 0)->setText(QStringLiteral("soon"));
    EXPECT_TRUE(dialog->problem().startsWith(QStringLiteral("“soon” is no step to begin at")));
    EXPECT_FALSE(apply->isEnabled());
    dialog->addRow(QStringLiteral("400"), QStringLiteral("h9.mlp.fc"), QStringLiteral("fp32"));
    dialog->table().item(0, 0)->setText(QStringLiteral("300"));
    EXPECT_TRUE(dialog->problem().startsWith(QStringLiteral("This model has no module h9.mlp.fc")));
    dialog->table().removeRow(2);
    dialog->table().item(0, 0)->setText(QStringLiteral("300 "));
    EXPECT_TRUE(apply->isEnabled());
    apply->click();
    const auto* posted = lastPosted<SetSetting>();
    ASSERT_NE(posted, nullptr);
    EXPECT_EQ(posted->key, "precision-schedule");
    EXPECT_EQ(posted->value, "300:fp32;2e:lm_head=fp8");
}

TEST_F(PrecisionViews, UpdatesAreMeasuredWhenAskedForAndShown)
{
    open();
    poll(5);
    window->actions().weightUpdates->trigger();
    auto* dialog = this->dialog<UpdatesDialog>();
    ASSERT_NE(dialog, nullptr);
    EXPECT_FALSE(dialog->plot().updates().has_value());
    auto* measure = dialog->findChild<QCheckBox*>();
    ASSERT_NE(measure, nullptr);
    measure->click();
    const auto* posted = lastPosted<SetSetting>();
    ASSERT_NE(posted, nullptr);
    EXPECT_EQ(posted->key, "measure-updates");
    EXPECT_EQ(posted->value, "on");
}

TEST(UpdatePlotTest, ShowsTheBandOfTheFormat)
{
    RunModel run = someRun(2);
    auto changed = std::make_shared<Snapshot>(*run.latest);
    ModuleUpdates update;
    update.module = static_cast<std::int16_t>(run.moduleId("h0.mlp.fc"));
    update.format = FormatId::Fp16;
    update.statistics.weights = 1000;
    update.statistics.lost = 250;
    update.statistics.ratios.at(-13) = 250;
    update.statistics.ratios.at(-9) = 750;
    changed->updates = {update};
    run.latest = changed;
    UpdatePlot plot;
    plot.resize(600, 300);
    plot.setRun(&run);
    ASSERT_TRUE(plot.band().has_value());
    EXPECT_EQ(plot.band()->lower, -12.0);
    EXPECT_EQ(plot.band()->upper, -11.0);
    EXPECT_TRUE(plot.headline().contains(QStringLiteral("25"))) << plot.headline().toStdString();
    EXPECT_TRUE(plot.xAxis->range().contains(-13));
    EXPECT_EQ(plot.visibleCsv().count('\n'), 3);
    run.selection = {{run.moduleId("lm_head")}, Tap::WeightGrad};
    plot.refresh();
    EXPECT_FALSE(plot.updates().has_value());
}

} // namespace
} // namespace halfscope::test
