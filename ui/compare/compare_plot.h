// SPDX-License-Identifier: GPL-3.0-or-later
// The curves of a comparison over one another: the mean of the seeds as a line, their range as a band.
#pragma once

#include <functional>
#include <vector>

#include "engine/compare/comparison_summary.h"
#include "ui/plots/step_plot.h"

namespace halfscope {

class ComparePlot : public StepPlot {
    Q_OBJECT
public:
    explicit ComparePlot(QWidget* parent = nullptr);

    struct Series {
        QString name;
        QString key;
        int style = 0; // number of its series style
        CurveBand band;
    };
    // `steps` of a run: what the axis spans.
    void setSeries(std::vector<Series> series, Quantity quantity, std::int64_t steps);
    const std::vector<Series>& series() const { return m_series; }
    Quantity quantity() const { return m_quantity; }

    QString title() const override;
    QByteArray visibleCsv() const override;

protected:
    void refreshData() override;
    QString yTitle() const override;
    QCPRange fittingYRange() const override;
    QStringList describeStep(std::int64_t step, std::optional<double> y) const override;

private:
    struct Range { // points of a series
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    Range visible(const CurveBand& band) const;
    // From step and value to a pixel; made once for many points, as asking the plot for its area takes long.
    std::function<QPointF(std::int64_t, float)> mapping() const;
    void paintBand(QCPPainter& painter, const Series& series);
    void paintMean(QCPPainter& painter, const Series& series);
    void paintCaption(QCPPainter& painter);
    QString valueName() const;

    std::vector<Series> m_series;
    Quantity m_quantity = Quantity::Loss;
    RunModel m_axis; // nothing but as many steps as a run has
};

} // namespace halfscope
