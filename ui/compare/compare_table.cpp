// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_table.h"

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/panels/status_text.h"

namespace halfscope {

namespace {

const QString& dash()
{
    static const QString text = QStringLiteral("–");
    return text;
}

QString computedWords(Computed computed)
{
    switch (computed) {
    case Computed::Native:
        return CompareTable::tr("natively");
    case Computed::LinearOnly:
        return CompareTable::tr("natively, attention emulated");
    case Computed::Emulated:
        break;
    }
    return CompareTable::tr("emulated exactly");
}

QString speedWords(const FormatSummary& row)
{
    if (row.speed != nullptr)
        return CompareTable::tr("%1 × (%2 steps/s)")
            .arg(roundedText(row.speed->relative, 3), roundedText(row.speed->stepsPerSecond, 3));
    return row.computed == Computed::Emulated ? CompareTable::tr("no claim") : dash();
}

QString spreadWords(const Spread& spread, double factor, int significant, const QString& unit = QString())
{
    if (spread.count == 0)
        return dash();
    QString text = roundedText(factor * spread.mean, significant);
    if (std::isfinite(spread.deviation))
        text += QStringLiteral(" ± ") + roundedText(factor * spread.deviation, 2);
    return text + unit;
}

QString rangeWords(const Spread& spread, const std::function<QString(double)>& number)
{
    if (spread.count == 0)
        return dash();
    return spread.min == spread.max ? number(spread.min)
                                    : CompareTable::tr("%1 to %2").arg(number(spread.min), number(spread.max));
}

QString lossWords(const FormatSummary& row)
{
    if (row.diverged == 0)
        return spreadWords(row.finalLoss, 1.0, 5);
    const QString diverged = CompareTable::tr("%1 of %2 diverged").arg(row.diverged).arg(row.completed);
    return row.finalLoss.count == 0 ? diverged
                                    : CompareTable::tr("%1, %2").arg(spreadWords(row.finalLoss, 1.0, 5), diverged);
}

QString shareWords(const Spread& spread) { return spreadWords(spread, 100.0, 4, QStringLiteral(" %")); }

} // namespace

CompareTable::CompareTable(QWidget* parent) : PlainTable(tr("Formats compared"), parent) {}

QList<CompareTable::Quantity> CompareTable::quantitiesOf(const Comparison& comparison,
                                                         const std::vector<FormatSummary>& rows)
{
    const auto any = [&](Spread FormatSummary::*of) {
        return std::any_of(rows.begin(), rows.end(), [of](const FormatSummary& row) { return (row.*of).count > 0; });
    };
    QList<Quantity> all;
    const auto add = [&all](const QString& title, const QString& help,
                            std::function<QString(const FormatSummary&)> text, bool number = true) {
        all.append({{title, help, number}, std::move(text)});
    };
    add(
        tr("Format"), tr("Preset of precision"), [](const FormatSummary& r) { return QString::fromStdString(r.name); },
        false);
    add(
        tr("Computed"),
        tr("Natively: by the processor's own instructions. Emulated exactly: every number is what hardware of that "
           "format would have computed, but the time is the emulation's."),
        [](const FormatSummary& r) { return r.computed ? computedWords(*r.computed) : dash(); }, false);
    add(tr("Speed"),
        tr("Relative to FP32: both trained in turn in blocks of steps, the median of the ratios. No claim is made for "
           "what is emulated."),
        speedWords);
    const auto addBytes = [&](const QString& title, const QString& help, double MemoryUse::*of) {
        add(title, help, [of](const FormatSummary& r) { return r.bytes ? byteText((*r.bytes).*of) : dash(); });
    };
    addBytes(tr("Weights"), tr("Masters in FP32, and copies to compute with"), &MemoryUse::weights);
    addBytes(tr("Gradients"), tr("Of all parameters"), &MemoryUse::gradients);
    addBytes(tr("Moments"), tr("Adam's, in FP32"), &MemoryUse::moments);
    addBytes(tr("Activations"), tr("Kept for the backward pass, and what it needs beside them"),
             &MemoryUse::activations);
    add(tr("Final loss"),
        tr("Mean of the last %1 steps of each run; then mean and sample deviation over the seeds")
            .arg(stepText(comparison.plan.lastSteps())),
        lossWords);
    add(tr("Lowest to highest"), tr("Final losses of the seeds"),
        [](const FormatSummary& r) { return rangeWords(r.finalLoss, [](double v) { return roundedText(v, 5); }); });
    if (any(&FormatSummary::finalAccuracy))
        add(tr("Accuracy"), tr("Of the training batches, over the same steps as the final loss"),
            [](const FormatSummary& r) { return shareWords(r.finalAccuracy); });
    if (any(&FormatSummary::heldOutLoss))
        add(tr("Held-out loss"), tr("Of examples never trained on, when it was last measured"),
            [](const FormatSummary& r) { return spreadWords(r.heldOutLoss, 1.0, 5); });
    if (any(&FormatSummary::heldOutAccuracy))
        add(tr("Held-out accuracy"), tr("Of examples never trained on, when it was last measured"),
            [](const FormatSummary& r) { return shareWords(r.heldOutAccuracy); });
    add(tr("Skipped"), tr("Steps skipped for an overflow, of each run"), [](const FormatSummary& r) {
        return rangeWords(r.skipped, [](double v) { return stepText(std::llround(v)); });
    });
    add(tr("Final scale"), tr("Loss scale at the end"), [](const FormatSummary& r) {
        if (r.finalScale.count > 0 && r.scaler == "off")
            return tr("none");
        return rangeWords(r.finalScale, [](double v) { return shortScaleText(v); });
    });
    add(tr("Runs"), tr("Completed, of those wanted"),
        [](const FormatSummary& r) { return tr("%1 of %2").arg(r.completed).arg(r.wanted); });
    return all;
}

void CompareTable::show(const Comparison& comparison)
{
    const std::vector<FormatSummary> summary = summarise(comparison);
    const QList<Quantity> quantities = quantitiesOf(comparison, summary);
    QList<Column> columns;
    for (const Quantity& quantity : quantities)
        columns << quantity.column;
    QList<QStringList> rows;
    for (const FormatSummary& format : summary) {
        QStringList row;
        for (const Quantity& quantity : quantities)
            row << quantity.text(format);
        rows << row;
    }
    setColumns(columns);
    setRows(rows);
    for (int r = 0; r < rowCount(); ++r) {
        const FormatSummary& format = summary[static_cast<std::size_t>(r)];
        for (int c = 0; !format.problem.empty() && c < columnCount(); ++c)
            item(r, c)->setToolTip(QString::fromStdString(format.problem));
    }
}

} // namespace halfscope
