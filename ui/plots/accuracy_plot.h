// SPDX-License-Identifier: GPL-3.0-or-later
// How many of the examples of a step are classified right, in per cent: smoothed, with that of the held-out examples
// and what guessing would come to.
#pragma once

#include "ui/plots/held_out_series.h"
#include "ui/plots/step_plot.h"

namespace halfscope {

class AccuracyPlot : public StepPlot {
    Q_OBJECT
public:
    explicit AccuracyPlot(QWidget* parent = nullptr);

    QString name() const override { return tr("Accuracy"); }
    QString title() const override; // with the newest and the best of the held-out examples
    QByteArray visibleCsv() const override;
    double smoothedAt(std::int64_t step) const; // share; nan when there is none

protected:
    void refreshData() override;
    QString yTitle() const override { return tr("accuracy, %"); }
    QCPRange fittingYRange() const override;
    QStringList describeStep(std::int64_t step, std::optional<double> y) const override;

private:
    void extendSeries();
    void paintAccuracy(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
    double guessing() const; // per cent; nan when there are no classes

    MinMaxPyramid m_smoothed; // per cent
    HeldOutSeries m_heldOut;
    RunningMean m_mean;
    SeriesSource m_source;
};

} // namespace halfscope
