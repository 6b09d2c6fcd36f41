// SPDX-License-Identifier: GPL-3.0-or-later
// The loss of every step, its smoothed course, and that of the held-out examples. Steps whose loss was not finite are
// gaps.
#pragma once

#include "ui/plots/held_out_series.h"
#include "ui/plots/step_plot.h"

namespace halfscope {

class LossPlot : public StepPlot {
    Q_OBJECT
public:
    explicit LossPlot(QWidget* parent = nullptr);

    QString name() const override { return tr("Loss"); }
    QString title() const override; // with the newest and the best of the held-out examples
    QByteArray visibleCsv() const override;

    bool logarithmic() const { return m_logarithmic; }
    void setLogarithmic(bool on);
    // Weight of the past in the exponential moving average, 0 (off) to below 1. Raw values always stay visible.
    double smoothing() const { return m_smoothing; }
    void setSmoothing(double weight);
    double smoothedAt(std::int64_t step) const;    // nan when there is none
    bool hasShadow() const { return m_hasShadow; } // the loss of an FP32 run alongside is drawn too

protected:
    void refreshData() override;
    QString yTitle() const override;
    QCPRange fittingYRange() const override;
    QStringList describeStep(std::int64_t step, std::optional<double> y) const override;

private:
    void extendSeries();
    void paintLoss(QCPPainter& painter);
    void paintMarks(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
    double drawn(double value) const; // nan where it has no logarithm

    bool m_logarithmic = false;
    double m_smoothing = 0.95;
    MinMaxPyramid m_raw;      // as drawn: log10 when logarithmic
    MinMaxPyramid m_smoothed; // as drawn
    MinMaxPyramid m_shadow;   // of the FP32 run alongside, smoothed, as drawn

    HeldOutSeries m_heldOut;

    RunningMean m_mean;
    RunningMean m_shadowMean;
    bool m_hasShadow = false;
    SeriesSource m_source;
};

} // namespace halfscope
