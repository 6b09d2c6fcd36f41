// SPDX-License-Identifier: GPL-3.0-or-later
// The loss scale, exact at every step, on the stability band ε/g_low ... M/g_max in which nothing much is lost.
#pragma once

#include "ui/plots/step_plot.h"

namespace halfscope {

// The scales that lose nothing at one step, as log2. ε: the largest magnitude that rounds to zero; M: the smallest that
// overflows.
struct StabilityBand {
    double low = 0.0;         // ε / low quantile of the gradients (an estimate: the quantile is a bin's edge)
    double trueMinimum = 0.0; // ε / smallest gradient
    double high = 0.0;        // M / largest gradient
};

class ScalePlot : public StepPlot {
    Q_OBJECT
public:
    explicit ScalePlot(QWidget* parent = nullptr);

    QString title() const override;
    QByteArray visibleCsv() const override;
    std::optional<StabilityBand> bandAt(std::int64_t step) const; // nullopt: not measured at this step

protected:
    void refreshData() override;
    QString yTitle() const override { return tr("loss scale"); }
    QCPRange fittingYRange() const override;
    QStringList describeStep(std::int64_t step, std::optional<double> y) const override;

private:
    void paintBand(QCPPainter& painter);
    void paintScale(QCPPainter& painter);
    void paintMarks(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
};

} // namespace halfscope
