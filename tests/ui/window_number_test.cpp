// SPDX-License-Identifier: GPL-3.0-or-later
// The number inspector's panel, and the ways into it.
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>

#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/event_log_model.h"
#include "ui/models/layers_model.h"
#include "ui/panels/bit_cells.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/number_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"
#include "ui/plots/what_if_plot.h"

namespace halfscope::test {

namespace {

class NumberTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        open();
        poll(3);
        window->actions().focusActions.at(10)->trigger();
        settleEvents();
    }
    NumberPanel& panel() { return window->numberPanel(); }
    void type(const QString& text)
    {
        panel().field()->setFocus();
        panel().field()->selectAll();
        QApplication::clipboard()->setText(text); // there are no keys for some of it
        panel().field()->paste();
    }
    void chooseForm(const QString& name)
    {
        auto* form = named<QComboBox>(QStringLiteral("What is typed"));
        form->setCurrentIndex(form->findText(name));
        emit form->activated(form->currentIndex());
    }
    QLabel* problem() { return panel().findChild<QLabel*>(QStringLiteral("rejection")); }
    std::uint32_t bits(FormatId format) { return panel().row(format)->cells()->bits(); }
    void clickBit(FormatId format, int bit)
    {
        BitCells* cells = panel().row(format)->cells();
        QTest::mouseClick(cells, Qt::LeftButton, {}, cells->cell(bit).center());
    }
    QAction* inMenu(const QString& words)
    {
        for (QMenu* menu : window->findChildren<QMenu*>()) {
            for (QAction* action : menu->actions()) {
                if (action->text().startsWith(words)) {
                    return action;
                }
            }
        }
        ADD_FAILURE() << "no entry begins with " << words.toStdString();
        return nullptr;
    }
};

} // namespace

TEST_F(NumberTest, WhatIsTypedIsShownInEveryFormat)
{
    type(QStringLiteral("0.1"));
    EXPECT_EQ(panel().value(), 0.1F);
    EXPECT_EQ(bits(FormatId::Fp32), 0x3dcccccdU);
    EXPECT_EQ(bits(FormatId::Fp16), 0x2e66U);
    EXPECT_EQ(bits(FormatId::Bf16), 0x3dcdU);
    EXPECT_EQ(bits(FormatId::Fp8E5M2), 0x2eU); // 0.09375
    const QString text = panel().row(FormatId::Fp16)->text();
    EXPECT_TRUE(text.contains(QStringLiteral("0.0999755859375"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("normal")));
    for (const QString& same : {QStringLiteral("2^-24"), QStringLiteral("0x1p-24"), QStringLiteral("2⁻²⁴"),
                                QStringLiteral("fp16:0x0001"), QStringLiteral("5.9604644775390625e-8")}) {
        type(QStringLiteral("1"));
        type(same);
        EXPECT_EQ(panel().value(), 0x1p-24F) << same.toStdString();
        EXPECT_FALSE(problem()->isVisible());
    }
    type(QStringLiteral("nonsense"));
    EXPECT_TRUE(problem()->isVisible());
    EXPECT_TRUE(problem()->text().contains(QStringLiteral("nonsense")));
    EXPECT_EQ(panel().value(), 0x1p-24F); // the last number stays
}

TEST_F(NumberTest, PatternsOfAChosenFormat)
{
    chooseForm(QStringLiteral("FP16 bits"));
    type(QStringLiteral("0x3c00"));
    EXPECT_EQ(panel().value(), 1.0F);
    type(QStringLiteral("7BFF"));
    EXPECT_EQ(panel().value(), 65504.0F);
    type(QStringLiteral("0x10000"));
    EXPECT_TRUE(problem()->text().contains(QStringLiteral("16 bits")));
    chooseForm(QStringLiteral("FP8 E4M3 bits")); // the same number in the other form
    EXPECT_EQ(panel().field()->text(), QStringLiteral("0x7f"));
    type(QStringLiteral("0b0_1111_110"));
    EXPECT_EQ(panel().value(), 448.0F);
    chooseForm(QStringLiteral("number"));
    EXPECT_EQ(panel().field()->text(), QStringLiteral("448"));
}

TEST_F(NumberTest, AClickFlipsABit)
{
    type(QStringLiteral("1"));
    clickBit(FormatId::Fp16, 0);
    EXPECT_EQ(panel().value(), 1.0009765625F);
    EXPECT_EQ(panel().field()->text(), QStringLiteral("1.0009765625"));
    clickBit(FormatId::Fp16, 15);
    EXPECT_EQ(panel().value(), -1.0009765625F);
    clickBit(FormatId::Fp16, 15);
    clickBit(FormatId::Fp16, 10); // the exponent's last: 01111 becomes 01110
    EXPECT_EQ(panel().value(), 0.50048828125F);
    // By keyboard: the first cell is the sign.
    BitCells* cells = panel().row(FormatId::Bf16)->cells();
    cells->setFocus();
    QTest::keyClick(cells, Qt::Key_Home);
    QTest::keyClick(cells, Qt::Key_Space);
    EXPECT_EQ(panel().value(), -0.5F); // what BF16 stores, negative
    QTest::keyClick(cells, Qt::Key_End);
    QTest::keyClick(cells, Qt::Key_Space);
    EXPECT_EQ(panel().value(), -0.50390625F); // 2^-7 of the octave more
}

TEST_F(NumberTest, ANansBitsStayAsTheyWereFlipped)
{
    type(QStringLiteral("inf"));
    EXPECT_EQ(bits(FormatId::Fp16), 0x7c00U);
    clickBit(FormatId::Fp16, 0);
    EXPECT_TRUE(std::isnan(panel().value()));
    EXPECT_EQ(bits(FormatId::Fp16), 0x7c01U);
    clickBit(FormatId::Fp16, 0);
    EXPECT_TRUE(std::isinf(panel().value()));
}

TEST_F(NumberTest, TheScaleIsTheRunsUntilAnotherIsTyped)
{
    EXPECT_EQ(panel().scale(), 65536.0);
    window->controller().setScale(1024.0);
    poll(1);
    EXPECT_EQ(panel().scale(), 1024.0);
    auto* edit = panel().findChild<NumberEdit*>(QStringLiteral("inspected-scale"));
    edit->setFocus();
    edit->selectAll();
    QTest::keyClicks(edit, QStringLiteral("2^10"));
    QTest::keyClick(edit, Qt::Key_Up);
    EXPECT_EQ(panel().scale(), 2048.0);
    EXPECT_FALSE(panel().findChild<QCheckBox*>()->isChecked());
    window->controller().setScale(4.0);
    poll(1);
    EXPECT_EQ(panel().scale(), 2048.0);
    edit->selectAll();
    QTest::keyClicks(edit, QStringLiteral("-3"));
    QTest::keyClick(edit, Qt::Key_Return);
    EXPECT_EQ(panel().scale(), 2048.0);
    panel().findChild<QCheckBox*>()->click();
    EXPECT_EQ(panel().scale(), 4.0);
    // What the scale saves.
    type(QStringLiteral("1e-8"));
    edit->setFocus();
    edit->selectAll();
    QTest::keyClicks(edit, QStringLiteral("65536"));
    QTest::keyClick(edit, Qt::Key_Return);
    const QString text = panel().row(FormatId::Fp16)->text();
    EXPECT_TRUE(text.contains(QStringLiteral("flushed to 0"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("65"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral(": normal, what remains is"))) << text.toStdString();
}

TEST_F(NumberTest, OpensFromABinOfTheSpectrum)
{
    SpectrumPlot* plot = window->plots().spectrum();
    const QPointF at(plot->pixelOf(-17.5), plot->axisRect()->rect().center().y());
    const auto number = window->plots().numberAt(plot, at);
    ASSERT_TRUE(number);
    EXPECT_EQ(number->value, 0x1p-18);
    EXPECT_EQ(number->scale, 65536.0);
    emit plot->customContextMenuRequested(at.toPoint());
    inMenu(QStringLiteral("Inspect number: 2⁻¹⁸"))->trigger();
    EXPECT_EQ(panel().value(), 0x1p-18F);
    EXPECT_EQ(panel().scale(), 65536.0);
    EXPECT_TRUE(panel().isVisible());
    EXPECT_TRUE(panel().field()->hasFocus());
}

TEST_F(NumberTest, OpensFromTheOtherPlots)
{
    poll(40);
    WaterfallPlot* waterfall = window->plots().waterfall();
    waterfall->refresh();
    const QPointF at(waterfall->pixelOfStep(2), waterfall->axisRect()->rect().center().y());
    const auto number = window->plots().numberAt(waterfall, at);
    ASSERT_TRUE(number);
    EXPECT_EQ(number->value, std::exp2(std::floor(waterfall->exponentAt(at.y()))));
    EXPECT_EQ(number->scale, 65536.0); // of that step; it has grown since
    WhatIfPlot* whatIf = window->plots().whatIf();
    window->actions().focusActions.at(9)->trigger();
    settleEvents();
    const QPointF there(whatIf->pixelOf(1024.0), whatIf->axisRect()->rect().center().y());
    const auto edge = window->plots().numberAt(whatIf, there);
    ASSERT_TRUE(edge);
    EXPECT_EQ(edge->value, 0x1p-35);
    EXPECT_EQ(edge->scale, 1024.0);
    EXPECT_FALSE(window->plots().numberAt(whatIf, QPointF(1, 1)));
    EXPECT_FALSE(window->plots().numberAt(window->plots().lossPlot(), at));
}

TEST_F(NumberTest, OpensFromACellOfTheLayers)
{
    LayersTable* table = window->layers().table();
    const RunModel& run = window->controller().run();
    const int fc = run.moduleId("h0.mlp.fc");
    const TapStatistics* tap = run.tapOf(*run.latest, fc, Tap::WeightGrad);
    table->setFocus();
    table->setCurrentIndex(table->model()->index(fc, LayersModel::RmsColumn));
    window->actions().inspect->trigger();
    EXPECT_EQ(panel().value(), static_cast<float>(tap->statistics.rms()));
    EXPECT_EQ(panel().scale(), static_cast<double>(run.latest->scale));
    table->setFocus();
    table->setCurrentIndex(table->model()->index(fc, LayersModel::ModuleColumn));
    window->actions().inspect->trigger();
    EXPECT_EQ(panel().value(), tap->statistics.absMax);
    emit table->customContextMenuRequested(table->visualRect(table->currentIndex()).center());
    inMenu(QStringLiteral("Inspect the smallest magnitude"))->trigger();
    EXPECT_EQ(panel().value(), tap->statistics.absMin);
}

TEST_F(NumberTest, OpensFromAnEvent)
{
    engine->spikeAt(5, "h0.mlp.fc", 65536.0);
    poll(4);
    window->actions().focusActions.at(7)->trigger();
    settleEvents();
    QTableView* table = window->events().table();
    int row = 0;
    while (row < table->model()->rowCount() &&
           std::isnan(table->model()->index(row, 0).data(EventLogModel::ScaleRole).toDouble())) {
        ++row;
    }
    ASSERT_LT(row, table->model()->rowCount());
    const QModelIndex index = table->model()->index(row, EventLogModel::TextColumn);
    emit table->customContextMenuRequested(table->visualRect(index).center());
    inMenu(QStringLiteral("Inspect number: "))->trigger();
    const Event* overflow = nullptr;
    for (const Event& event : window->controller().run().events) {
        overflow = event.kind == EventKind::Overflow ? &event : overflow;
    }
    ASSERT_NE(overflow, nullptr);
    EXPECT_EQ(panel().value(), overflow->largest / overflow->scale);
    EXPECT_EQ(panel().scale(), static_cast<double>(overflow->scale));
    EXPECT_TRUE(panel().row(FormatId::Fp16)->text().contains(QStringLiteral("overflows")));
}

} // namespace halfscope::test
