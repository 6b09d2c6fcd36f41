// SPDX-License-Identifier: GPL-3.0-or-later
// The layers table and the event log.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>

#include "tests/ui/window_fixture.h"
#include "ui/models/event_log_model.h"
#include "ui/models/layers_model.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/frozen_column.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope::test {

namespace {

class TablesTest : public WindowTest {
protected:
    QModelIndex cell(int row, LayersModel::Column column)
    {
        return window->layers().table()->model()->index(row, column);
    }
    int rowOf(const QString& module)
    {
        const QAbstractItemModel* model = window->layers().table()->model();
        for (int row = 0; row < model->rowCount(); ++row) {
            if (model->index(row, LayersModel::ModuleColumn).data().toString() == module) {
                return row;
            }
        }
        return -1;
    }
    void click(int row, LayersModel::Column column, Qt::KeyboardModifiers modifiers = {})
    {
        LayersTable* table = window->layers().table();
        table->scrollTo(cell(row, column));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, modifiers, table->visualRect(cell(row, column)).center());
    }
    // Chooses a format in the list that is open in the table.
    void choose(const QString& key)
    {
        QComboBox* combo = nullptr;
        for (QComboBox* one : window->layers().table()->findChildren<QComboBox*>()) {
            combo = one;
        }
        ASSERT_NE(combo, nullptr);
        const int index = combo->findData(key);
        ASSERT_GE(index, 0);
        combo->hidePopup();
        combo->setCurrentIndex(index);
        emit combo->activated(index);
    }
    QStringList sentFormats() const
    {
        QStringList sent;
        for (const Command& command : engine->posted) {
            if (const auto* setting = std::get_if<SetSetting>(&command)) {
                sent << QString::fromStdString(setting->key + "=" + setting->value);
            }
        }
        sent.sort();
        return sent;
    }
};

} // namespace

TEST_F(TablesTest, RowsGoBackToTheOrderOfTheModel)
{
    open();
    poll(3);
    QHeaderView* header = window->layers().table()->horizontalHeader();
    const QString first = cell(0, LayersModel::ModuleColumn).data().toString();
    const auto click = [&] {
        QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                          QPoint(header->sectionViewportPosition(LayersModel::ModuleColumn) + 12, 8));
    };
    click();
    click();
    EXPECT_EQ(header->sortIndicatorOrder(), Qt::DescendingOrder);
    EXPECT_NE(cell(0, LayersModel::ModuleColumn).data().toString(), first);
    click();
    EXPECT_EQ(header->sortIndicatorSection(), -1);
    EXPECT_EQ(cell(0, LayersModel::ModuleColumn).data().toString(), first);
    window->actions().worstFirst->trigger();
    click();
    click();
    window->actions().modelOrder->trigger();
    EXPECT_EQ(header->sortIndicatorSection(), -1);
    EXPECT_FALSE(window->actions().worstFirst->isChecked());
    EXPECT_EQ(cell(0, LayersModel::ModuleColumn).data().toString(), first);
}

TEST_F(TablesTest, TheColumnOfFormatsIsAsWideAsTheyNeed)
{
    open();
    poll(3);
    LayersTable* table = window->layers().table();
    const int before = table->columnWidth(LayersModel::FormatColumn);
    TapSelection selection = window->controller().run().selection;
    selection.tap = Tap::ActivationGrad; // "FP32 → FP16"
    window->controller().select(selection);
    poll(2);
    QTest::qWait(200);
    EXPECT_GE(table->columnWidth(LayersModel::FormatColumn), before);
    selection.tap = Tap::WeightGrad;
    window->controller().select(selection);
    poll(2);
    QTest::qWait(200);
    EXPECT_EQ(table->columnWidth(LayersModel::FormatColumn), before);
}

TEST_F(TablesTest, ModelsKeepTheRulesOfModels)
{
    open();
    SessionController& controller = window->controller();
    LayersModel layers(controller);
    LayersSortModel sorted;
    sorted.setSourceModel(&layers);
    EventLogModel events(controller);
    EventFilterModel filter;
    filter.setSourceModel(&events);
    const auto mode = QAbstractItemModelTester::FailureReportingMode::Fatal;
    QAbstractItemModelTester a(&layers, mode);
    QAbstractItemModelTester b(&sorted, mode);
    QAbstractItemModelTester c(&events, mode);
    QAbstractItemModelTester d(&filter, mode);
    engine->spikeAt(5, "h0.mlp.fc", 65536.0);
    poll(30);
    layers.refresh();
    sorted.setWorstFirst(true);
    sorted.resort();
    filter.setShown(EventGroup::Scale, false);
    poll(30);
    controller.restart(false);
    poll(3);
    sorted.setWorstFirst(false);
    EXPECT_EQ(layers.rowCount(), static_cast<int>(controller.run().info.modules.size()));
}

TEST_F(TablesTest, RowsAreTheModulesInForwardOrder)
{
    open();
    poll(3);
    const auto& modules = window->controller().run().info.modules;
    ASSERT_EQ(window->layers().table()->model()->rowCount(), static_cast<int>(modules.size()));
    for (std::size_t i = 0; i < modules.size(); ++i) {
        EXPECT_EQ(cell(static_cast<int>(i), LayersModel::ModuleColumn).data().toString().toStdString(),
                  modules[i].name);
    }
}

TEST_F(TablesTest, ClickNarrowsTheSpectrumAndClearWidensItAgain)
{
    open();
    poll(3);
    const int fc = rowOf(QStringLiteral("h0.mlp.fc"));
    click(fc, LayersModel::ModuleColumn);
    EXPECT_EQ(window->controller().run().selection.modules, (std::vector<int>{fc}));
    EXPECT_TRUE(window->plots().spectrum()->title().contains(QStringLiteral("h0.mlp.fc")));
    click(fc + 2, LayersModel::ModuleColumn, Qt::ControlModifier);
    EXPECT_EQ(window->controller().run().selection.modules, (std::vector<int>{fc, fc + 2}));
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Show all layers in the spectrum")), Qt::LeftButton);
    EXPECT_TRUE(window->controller().run().selection.modules.empty());
    EXPECT_FALSE(window->layers().table()->selectionModel()->hasSelection());
    click(fc, LayersModel::ModuleColumn);
    QTest::keyClick(window->layers().table(), Qt::Key_Escape);
    EXPECT_TRUE(window->controller().run().selection.modules.empty());
}

TEST_F(TablesTest, FormatOfOneLayerChangesLive)
{
    open();
    poll(3);
    const int fc = rowOf(QStringLiteral("h0.mlp.fc"));
    EXPECT_EQ(cell(fc, LayersModel::FormatColumn).data().toString(), QStringLiteral("FP16"));
    engine->holdCommands = true;
    click(fc, LayersModel::FormatColumn);
    choose(QStringLiteral("bf16"));
    EXPECT_EQ(sentFormats(), QStringList{QStringLiteral("precision.h0.mlp.fc=bf16")});
    EXPECT_TRUE(cell(fc, LayersModel::FormatColumn).data(LayersModel::PendingRole).toBool());
    engine->holdCommands = false;
    poll(2);
    EXPECT_FALSE(cell(fc, LayersModel::FormatColumn).data(LayersModel::PendingRole).toBool());
    EXPECT_EQ(cell(fc, LayersModel::FormatColumn).data().toString(), QStringLiteral("BF16"));
    EXPECT_TRUE(window->controller().run().selection.modules.empty()); // a format's click is no filter
}

TEST_F(TablesTest, FormatOfSeveralSelectedLayersChangesTogetherByKeyboard)
{
    open();
    poll(3);
    const int qkv = rowOf(QStringLiteral("h0.attn.qkv"));
    const int fc = rowOf(QStringLiteral("h0.mlp.fc"));
    click(qkv, LayersModel::ModuleColumn);
    click(fc, LayersModel::ModuleColumn, Qt::ControlModifier);
    window->layers().table()->setFocus();
    QTest::keyClick(window->layers().table(), Qt::Key_Return);
    choose(QStringLiteral("fp32"));
    EXPECT_EQ(sentFormats(),
              (QStringList{QStringLiteral("precision.h0.attn.qkv=fp32"), QStringLiteral("precision.h0.mlp.fc=fp32")}));
}

TEST_F(TablesTest, TheLossHasNoOtherFormat)
{
    open();
    const int loss = rowOf(QStringLiteral("loss"));
    EXPECT_FALSE(cell(loss, LayersModel::FormatColumn).flags().testFlag(Qt::ItemIsEditable));
}

TEST_F(TablesTest, NumbersAreThoseOfTheSnapshot)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(3);
    window->layers().refreshNow();
    const RunModel& run = window->controller().run();
    const int fc = rowOf(QStringLiteral("h0.mlp.fc"));
    const TapStatistics* tap = run.tapOf(*run.latest, fc, Tap::WeightGrad);
    ASSERT_NE(tap, nullptr);
    const auto lost = tap->statistics.classes[ValueClass::Saturating];
    ASSERT_GT(lost, 0U);
    EXPECT_EQ(cell(fc, LayersModel::OverflowColumn).data(LayersModel::SortRole).toULongLong(), lost);
    EXPECT_TRUE(cell(fc, LayersModel::OverflowColumn).data(LayersModel::AlarmRole).toBool());
    EXPECT_EQ(cell(fc, LayersModel::SkipsColumn).data(LayersModel::SortRole).toInt(), 1);
    EXPECT_EQ(cell(fc, LayersModel::RmsColumn).data(LayersModel::SortRole).toDouble(), tap->statistics.rms());
    EXPECT_EQ(cell(fc, LayersModel::HeadroomColumn).data(LayersModel::SortRole).toDouble(),
              std::log2(65520.0 / run.latest->scale) - std::log2(static_cast<double>(tap->statistics.absMax)));
    // Overflows add up over the run even when several steps come at once.
    poll(5);
    window->layers().refreshNow();
    EXPECT_EQ(cell(fc, LayersModel::OverflowColumn).data(LayersModel::SortRole).toULongLong(), lost);
}

TEST_F(TablesTest, WorstFirstBringsTheCulpritToTheTop)
{
    open();
    engine->spikeAt(3, "h1.attn.proj", 65536.0 * 256.0);
    poll(3);
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Worst layers first")), Qt::LeftButton);
    EXPECT_EQ(cell(0, LayersModel::ModuleColumn).data().toString(), QStringLiteral("h1.attn.proj"));
    EXPECT_TRUE(window->actions().worstFirst->isChecked());
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Worst layers first")), Qt::LeftButton);
    EXPECT_EQ(cell(0, LayersModel::ModuleColumn).data().toString(), QStringLiteral("tok_emb"));
}

TEST_F(TablesTest, ColumnSortKeepsRowsWithoutNumbersLast)
{
    open();
    poll(3);
    QHeaderView* header = window->layers().table()->horizontalHeader();
    for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
        header->setSortIndicator(LayersModel::RmsColumn, order);
        const int rows = window->layers().table()->model()->rowCount();
        bool ended = false;
        double before = order == Qt::AscendingOrder ? -1e300 : 1e300;
        for (int row = 0; row < rows; ++row) {
            const double value = cell(row, LayersModel::RmsColumn).data(LayersModel::SortRole).toDouble();
            if (std::isnan(value)) {
                ended = true;
                continue;
            }
            EXPECT_FALSE(ended);
            EXPECT_TRUE(order == Qt::AscendingOrder ? value >= before : value <= before);
            before = value;
        }
        EXPECT_TRUE(ended); // attn.core and the loss have no weights
    }
}

TEST_F(TablesTest, TapOfTheTableIsThatOfTheSpectrum)
{
    open();
    poll(3);
    auto* combo = named<QComboBox>(QStringLiteral("What is measured"));
    combo->setFocus();
    QTest::keyClick(combo, Qt::Key_Down);
    EXPECT_EQ(window->controller().run().selection.tap, Tap::ActivationGrad);
    window->actions().tapActions.at(0)->trigger();
    EXPECT_EQ(combo->currentIndex(), 0);
}

TEST_F(TablesTest, ActivationsAreMeasuredOnceTheyAreLookedAt)
{
    open();
    poll(3);
    window->actions().tapActions.at(2)->trigger();
    ASSERT_NE(lastPosted<SetSetting>(), nullptr);
    EXPECT_EQ(lastPosted<SetSetting>()->key, "activations");
    EXPECT_EQ(lastPosted<SetSetting>()->value, "on");
    poll(2);
    engine->posted.clear();
    window->actions().tapActions.at(0)->trigger();
    window->actions().tapActions.at(2)->trigger();
    EXPECT_EQ(lastPosted<SetSetting>(), nullptr); // it is on already
}

TEST_F(TablesTest, TableIsCopiedAsText)
{
    open();
    poll(3);
    window->layers().table()->setFocus();
    QTest::keyClick(window->layers().table(), Qt::Key_C, Qt::ControlModifier);
    const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    ASSERT_EQ(lines.size(), window->layers().table()->model()->rowCount() + 1);
    const QStringList cells = lines.at(1).split(QLatin1Char('\t'));
    EXPECT_EQ(cells.first(), QStringLiteral("tok_emb"));
    // With all its digits, as other programs read it.
    EXPECT_EQ(cells.at(LayersModel::RmsColumn - 1).toDouble(),
              cell(0, LayersModel::RmsColumn).data(LayersModel::SortRole).toDouble());
}

TEST_F(TablesTest, FormatTheNumbersAreJudgedInIsShown)
{
    open();
    poll(3);
    const int norm = rowOf(QStringLiteral("h0.ln_1"));
    EXPECT_EQ(cell(norm, LayersModel::FormatColumn).data().toString(), QStringLiteral("FP32"));
    window->actions().tapActions.at(1)->trigger();
    EXPECT_EQ(cell(norm, LayersModel::FormatColumn).data().toString(), QStringLiteral("FP32 → FP16"));
    EXPECT_EQ(cell(norm, LayersModel::FormatColumn).data(LayersModel::MeasuredFormatKeyRole).toString(),
              QStringLiteral("fp16"));
    const QString toolTip = cell(norm, LayersModel::FormatColumn).data(Qt::ToolTipRole).toString();
    EXPECT_TRUE(toolTip.contains(QStringLiteral("arrive in FP16"))) << toolTip.toStdString();
    EXPECT_EQ(cell(rowOf(QStringLiteral("h0.mlp.fc")), LayersModel::FormatColumn).data().toString(),
              QStringLiteral("FP16"));
}

TEST_F(TablesTest, NothingInTheTableIsCut)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(3);
    LayersTable* table = window->layers().table();
    QFont larger = table->font();
    larger.setPointSizeF(larger.pointSizeF() * 1.5);
    for (const bool large : {false, true}) {
        if (large) {
            window->layers().setFont(larger);
        }
        for (const int tap : {0, 1}) {
            window->actions().tapActions.at(tap)->trigger();
            poll(1);
            window->layers().refreshNow();
            QTest::qWait(150);
            QFont bold = table->font();
            bold.setBold(true);
            for (int column = 0; column < LayersModel::ColumnCount; ++column) {
                if (table->isColumnHidden(column)) {
                    continue;
                }
                const QString title = table->model()->headerData(column, Qt::Horizontal).toString();
                EXPECT_GE(table->columnWidth(column), table->fontMetrics().horizontalAdvance(title) + 6);
                for (int row = 0; row < table->model()->rowCount(); ++row) {
                    const QString text = cell(row, static_cast<LayersModel::Column>(column)).data().toString();
                    const int frame = column == LayersModel::FormatColumn ? 26 : 6;
                    const bool alarm =
                        cell(row, static_cast<LayersModel::Column>(column)).data(LayersModel::AlarmRole).toBool();
                    const QFontMetrics metrics(alarm ? bold : table->font());
                    EXPECT_GE(table->columnWidth(column), metrics.horizontalAdvance(text) + frame)
                        << title.toStdString() << ": " << text.toStdString();
                }
            }
        }
    }
}

TEST_F(TablesTest, WholeTableIsInViewInAWideWindow)
{
    open(FakeEngine::smallConfig(), QSize(1680, 1050));
    poll(3);
    QTest::qWait(50);
    LayersTable* table = window->layers().table();
    EXPECT_LE(table->horizontalHeader()->length(), table->viewport()->width());
}

TEST_F(TablesTest, ModuleStaysInViewWhenTheTableIsScrolledSideways)
{
    open(FakeEngine::smallConfig(), QSize(1280, 720));
    poll(3);
    QTest::qWait(50);
    LayersTable* table = window->layers().table();
    auto* frozen = table->findChild<FrozenColumn*>();
    ASSERT_NE(frozen, nullptr);
    EXPECT_FALSE(frozen->isVisible());
    ASSERT_GT(table->horizontalScrollBar()->maximum(), 0);
    table->horizontalScrollBar()->setValue(table->horizontalScrollBar()->maximum());
    table->verticalScrollBar()->setValue(20);
    ASSERT_TRUE(frozen->isVisible());
    EXPECT_EQ(frozen->verticalScrollBar()->value(), 20);
    for (int row = 0; row < table->model()->rowCount(); ++row) {
        const QModelIndex index = cell(row, LayersModel::ModuleColumn);
        EXPECT_EQ(frozen->visualRect(index).y(), table->visualRect(index).y());
    }
    const int fc = rowOf(QStringLiteral("h0.mlp.fc"));
    QTest::mouseClick(frozen->viewport(), Qt::LeftButton, {},
                      frozen->visualRect(cell(fc, LayersModel::ModuleColumn)).center());
    EXPECT_EQ(window->controller().run().selection.modules, (std::vector<int>{fc}));
}

TEST_F(TablesTest, WorstFirstHoldsStillUnderThePointerAndForNoise)
{
    open();
    poll(3);
    LayersModel layers(window->controller());
    LayersSortModel sorted;
    sorted.setSourceModel(&layers);
    sorted.setWorstFirst(true);
    const auto order = [&] {
        QStringList names;
        for (int row = 0; row < sorted.rowCount(); ++row) {
            names << sorted.index(row, 0).data().toString();
        }
        return names;
    };
    const QStringList before = order();
    for (int i = 0; i < 10; ++i) {
        poll(1); // the same distributions with some noise
        sorted.resort();
        EXPECT_EQ(order(), before);
    }
    engine->spikeAt(engine->stepsDone() + 1, "h1.attn.proj", 65536.0 * 256.0);
    poll(1);
    sorted.resort();
    EXPECT_EQ(order().first(), QStringLiteral("h1.attn.proj"));

    // In the window: not while the pointer is there.
    window->layers().setWorstFirst(true);
    LayersTable* table = window->layers().table();
    QEnterEvent enter(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5));
    QApplication::sendEvent(table, &enter);
    engine->spikeAt(engine->stepsDone() + 1, "h0.mlp.fc", 65536.0 * 65536.0);
    poll(1);
    const QString first = cell(0, LayersModel::ModuleColumn).data().toString();
    QTest::qWait(2300);
    EXPECT_EQ(cell(0, LayersModel::ModuleColumn).data().toString(), first);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(table, &leave);
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return cell(0, LayersModel::ModuleColumn).data().toString() == QStringLiteral("h0.mlp.fc"); }, 4000));
}

TEST_F(TablesTest, SkipsByAnInjectedSpikeAreSaidToBe)
{
    open();
    poll(3);
    window->controller().injectSpike(QStringLiteral("h0.mlp.fc"), 65536.0 * 256.0, true);
    poll(1);
    const QString toolTip =
        cell(rowOf(QStringLiteral("h0.mlp.fc")), LayersModel::SkipsColumn).data(Qt::ToolTipRole).toString();
    EXPECT_TRUE(toolTip.contains(QStringLiteral("caused: 1, of these by an injected spike: 1")))
        << toolTip.toStdString();
}

TEST_F(TablesTest, ChoiceOfColumnsIsRemembered)
{
    open();
    window->layers().table()->horizontalHeader()->setSectionHidden(LayersModel::MeanColumn, true);
    window->close();
    window.reset();
    open();
    EXPECT_TRUE(window->layers().table()->isColumnHidden(LayersModel::MeanColumn));
    EXPECT_FALSE(window->layers().table()->isColumnHidden(LayersModel::RmsColumn));
}

TEST_F(TablesTest, SkipNamesTensorCountLargestValueAndScales)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(4);
    const RunModel& run = window->controller().run();
    const auto skip = std::find_if(run.events.begin(), run.events.end(),
                                   [](const Event& event) { return event.kind == EventKind::Overflow; });
    ASSERT_NE(skip, run.events.end());
    const QString text = eventText(*skip, run);
    EXPECT_TRUE(text.contains(QStringLiteral("h0.mlp.fc activation gradients"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("values overflowed"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("largest"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("2¹⁶ → 2¹⁵"))) << text.toStdString();
    const QString detail = eventDetail(*skip, run);
    EXPECT_TRUE(detail.contains(QStringLiteral("65\u202F536"))) << detail.toStdString();
}

TEST_F(TablesTest, ConsecutiveSkipsAreTiedTogether)
{
    open();
    for (const std::int64_t step : {3, 4, 5, 9}) {
        engine->spikeAt(step, "h0.mlp.fc", 65536.0 * 65536.0);
    }
    poll(10);
    QList<int> streaks;
    const QAbstractItemModel* model = window->events().table()->model();
    for (int row = 0; row < model->rowCount(); ++row) {
        const QModelIndex index = model->index(row, 0);
        if (index.data(EventLogModel::KindRole).toInt() == static_cast<int>(EventKind::Overflow)) {
            streaks << index.data(EventLogModel::StreakRole).toInt();
        }
    }
    EXPECT_EQ(streaks, (QList<int>{EventLogModel::NoStreak, EventLogModel::StreakTop, EventLogModel::StreakMiddle,
                                   EventLogModel::StreakBottom}));
}

TEST_F(TablesTest, ClickOnASkipShowsItsStepAndModule)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(20);
    QTableView* table = window->events().table();
    int row = 0;
    while (table->model()->index(row, 0).data(EventLogModel::KindRole).toInt() !=
           static_cast<int>(EventKind::Overflow)) {
        ASSERT_LT(++row, table->model()->rowCount());
    }
    const QModelIndex index = table->model()->index(row, EventLogModel::TextColumn);
    table->scrollTo(index);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
    EXPECT_EQ(window->plots().link().crosshair(), std::optional<std::int64_t>(3));
    EXPECT_EQ(window->plots().spectrum()->frozenStep(), std::optional<qint64>(3));
    const TapSelection& selection = window->controller().run().selection;
    EXPECT_EQ(selection.modules, (std::vector<int>{rowOf(QStringLiteral("h0.mlp.fc"))}));
    EXPECT_EQ(selection.tap, Tap::ActivationGrad); // the first to overflow in backward order
    window->actions().follow->trigger();
    EXPECT_EQ(window->plots().spectrum()->frozenStep(), std::nullopt);
}

TEST_F(TablesTest, EventsAreFilteredByKindAndCopied)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(60);
    QTableView* table = window->events().table();
    const int all = table->model()->rowCount();
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Show events: Scale")), Qt::LeftButton);
    const int without = table->model()->rowCount();
    EXPECT_LT(without, all);
    for (int row = 0; row < without; ++row) {
        EXPECT_NE(table->model()->index(row, 0).data(EventLogModel::GroupRole).toInt(),
                  static_cast<int>(EventGroup::Scale));
    }
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Copy events")), Qt::LeftButton);
    EXPECT_EQ(QApplication::clipboard()->text().count(QLatin1Char('\n')), without);
}

TEST_F(TablesTest, EventsOfTheNewRunOnlyAfterARestart)
{
    open();
    engine->spikeAt(3, "h0.mlp.fc", 65536.0 * 256.0);
    poll(60);
    window->controller().restart(false);
    poll();
    const QAbstractItemModel* model = window->events().table()->model();
    EXPECT_EQ(model->rowCount(), static_cast<int>(window->controller().run().events.size()));
    EXPECT_LE(model->rowCount(), 2);
}

} // namespace halfscope::test
