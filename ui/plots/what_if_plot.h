// SPDX-License-Identifier: GPL-3.0-or-later
// What would be lost at every possible loss scale, from the bins of the step that the spectrum shows. A click or a drag
// sets the scale.
#pragma once

#include <optional>
#include <vector>

#include "engine/amp/what_if.h"
#include "ui/plots/scale_setting_plot.h"

namespace halfscope {

class WhatIfPlot : public ScaleSettingPlot {
    Q_OBJECT
public:
    explicit WhatIfPlot(QWidget* parent = nullptr);

    void refresh() override;
    QString title() const override; // "What if · h1.mlp.fc · weight gradients"
    QByteArray visibleCsv() const override;
    void zoomX(double factor) override;
    void zoomY(double factor) override;
    void panX(double fraction) override;
    void resetView() override;

    // A step of the past instead of the newest one. A scale that is set lets go of it.
    void showStep(std::optional<qint64> step);
    void clearPendingScale(); // as when the engine refused

    const std::optional<ScaleRange>& range() const { return m_range; } // nothing: no scale matters
    // What becomes of the values at a scale; measured at the scale of their step, otherwise implied by the bins.
    ClassEstimate classesAt(double scale) const;
    QString headline() const; // the numbers at the shown scale in one sentence
    double scaleAt(double pixel) const;
    double pixelOf(double scale) const;
    double pixelOfShare(double share) const;

protected:
    void applyTheme() override;
    QString widestXLabel() const override;
    QString xTitle() const override;
    QString yTitle() const override;
    QString screenXTitle() const override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    bool canMoveScale() const override;
    bool holdsScale() const override { return m_grip == Grip::Scale; }
    void letGo() override { m_grip = Grip::None; }
    bool showsPast() const override { return m_step.has_value(); }
    void releasePast() override { m_step.reset(); }

private:
    enum class Grip { None, Scale, Pan };
    struct Curve;

    void takeParts();
    void fitRanges();
    void updateHover();
    double total() const;
    QString boundedText(const Bounded& count) const;
    bool skipsAt(double scale) const;
    QStringList describe(double scale) const;

    void paintShading(QCPPainter& painter);
    void paintCurves(QCPPainter& painter);
    void paintMarks(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
    void paintHover(QCPPainter& painter);
    std::vector<Curve> curves() const;
    void paintCurve(QCPPainter& painter, const Curve& curve);
    void paintFlag(QCPPainter& painter, double x, int row, const QString& text, const QColor& color);

    std::optional<qint64> m_step;
    std::vector<FormatPart> m_parts; // as they are judged: all as FP16 where nothing is in a narrow format
    std::vector<WhatIfPoint> m_points;
    std::optional<ScaleRange> m_range;
    Grip m_grip = Grip::None;
};

} // namespace halfscope
