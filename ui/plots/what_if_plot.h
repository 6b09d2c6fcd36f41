// SPDX-License-Identifier: GPL-3.0-or-later
// What would be lost at every possible loss scale, from the bins of the step that the spectrum shows. A click or a drag
// sets the scale.
#pragma once

#include <optional>
#include <vector>

#include "engine/amp/what_if.h"
#include "ui/plots/plot.h"
#include "ui/plots/shown_scale.h"
#include "ui/plots/spectrum_data.h"

namespace halfscope {

class WhatIfPlot : public Plot {
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

    double shownScale() const { return m_scale; }
    const std::optional<ScaleRange>& range() const { return m_range; } // nothing: no scale matters
    // What becomes of the values at a scale; measured at the scale of their step, otherwise implied by the bins.
    ClassEstimate classesAt(double scale) const;
    QString headline() const; // the numbers at the shown scale in one sentence
    double scaleAt(double pixel) const;
    double pixelOf(double scale) const;
    double pixelOfShare(double share) const;

signals:
    void scaleDragged(double scale); // while dragging, and for each click and key press
    void scaleDropped(double scale); // at the end

protected:
    void applyTheme() override;
    QString widestXLabel() const override;
    QString xTitle() const override;
    QString yTitle() const override;
    QString screenXTitle() const override;
    void resizeEvent(QResizeEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Grip { None, Scale, Pan };
    struct Curve;

    void takeParts();
    void fitRanges();
    bool canMove() const;
    void moveScale(double wanted, bool dropped);
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
    SpectrumData m_data;
    std::vector<FormatPart> m_parts; // as they are judged: all as FP16 where nothing is in a narrow format
    std::vector<WhatIfPoint> m_points;
    std::optional<ScaleRange> m_range;
    double m_scale = 1.0;
    ShownScale m_hand;

    bool m_xByUser = false;
    bool m_yByUser = false;
    Grip m_grip = Grip::None;
    bool m_moved = false;
    QPointF m_pressed;
    QPointF m_lastPanned;
    double m_scaleToReturn = 1.0; // when the drag is taken back
    std::optional<QPointF> m_pointer;
};

} // namespace halfscope
