// SPDX-License-Identifier: GPL-3.0-or-later
// Steps by exponents as a colour map, with the format's window moving through it as the scale changes.
#pragma once

#include "ui/plots/step_plot.h"
#include "ui/plots/waterfall_image.h"

namespace halfscope {

class WaterfallPlot : public StepPlot {
    Q_OBJECT
public:
    explicit WaterfallPlot(QWidget* parent = nullptr);

    void setExporting(bool exporting, bool paper = false) override;
    QString title() const override;
    QByteArray visibleCsv() const override;
    const WaterfallImage& image() const { return m_image; }
    double exponentAt(double pixel) const { return yValue(pixel); } // log2 of the magnitude at this height

protected:
    void applyTheme() override;
    void refreshData() override;
    QString yTitle() const override;
    QCPRange fittingYRange() const override;
    QStringList describeStep(std::int64_t step, std::optional<double> y) const override;

private:
    void paintMap(QCPPainter& painter);
    void paintWindow(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);

    WaterfallImage m_image;
    bool m_continues = false; // the rest of the picture comes with the next turn of the event loop
    mutable QCPRange m_fitted{-44, 8};
};

} // namespace halfscope
