// SPDX-License-Identifier: GPL-3.0-or-later
// The loss scale, exact at every step, on the stability band ε/g_low ... M/g_max in which nothing much is lost.
#pragma once

#include "engine/amp/what_if.h"
#include "ui/plots/step_plot.h"

namespace halfscope {

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
