// SPDX-License-Identifier: GPL-3.0-or-later
// A plot over the steps: linked axis, crosshair, zoom, pan, box zoom, keyboard, skip marks.
#pragma once

#include <optional>
#include <tuple>

#include "ui/plots/click_pair.h"
#include "ui/plots/plot.h"
#include "ui/plots/step_axis_link.h"
#include "ui/precision_history.h"

namespace halfscope {

class StepPlot : public Plot {
    Q_OBJECT
public:
    explicit StepPlot(QWidget* parent = nullptr);

    // The axis to share; without one the plot has its own. Must outlive the plot.
    void setLink(StepAxisLink* link);
    StepAxisLink* link() const { return m_link; }
    void setStepLabelsShown(bool shown); // only the lowest of linked plots needs them

    void setExporting(bool exporting, bool paper = false) override; // a picture of its own has step labels
    void setRun(const RunModel* run) override;
    void refresh() override;

    void zoomX(double factor) override;
    void zoomY(double factor) override;
    void panX(double fraction) override;
    void resetView() override; // y fits by itself again, x follows the newest step in its first width

    // Where things are, in pixels of this widget; for tests and overlays.
    double pixelOfStep(double step) const;
    double stepOfPixel(double x) const;

    std::vector<MarkCluster> skipMarks() const; // of the current view, as drawn
    // The precision along the steps; one span where it never changed and is not going to: then nothing is drawn.
    const std::vector<PrecisionSpan>& precision() const { return m_precision; }

signals:
    void stepClicked(qint64 step);
    void doubleClicked(); // what a first click asked for was not meant

protected:
    virtual void refreshData() = 0;             // the run or the view changed
    virtual QCPRange fittingYRange() const = 0; // of what is visible
    // What the read-out says about a step; y: value under the pointer, if it is in this plot. Empty: nothing.
    virtual QStringList describeStep(std::int64_t step, std::optional<double> y) const = 0;

    const RunDigest& digest() const { return m_link->digest(); }
    // What is known of a step; where old records were thinned, the kept one before it, whose `step` says so. Nullopt:
    // there is no such step.
    std::optional<StepRecord> recordAt(std::int64_t step) const;
    std::vector<StepRecord> visibleRecords() const; // all that are kept, of the steps in view
    double yPixel(double value) const;
    double yValue(double pixel) const;
    void fitY();
    void resetY(); // back to fitting
    void updateMargins(int top);
    // The first step as a classifier; 0: there is none. No line is drawn from the step before to it.
    std::size_t headSwap() const { return static_cast<std::size_t>(digest().headSwapped); }
    // A series in the axis' units as a line, value of step n being element n - 1.
    void paintSeries(QCPPainter& painter, const MinMaxPyramid& series, const QPen& pen) const;
    void paintSkipMarks(QCPPainter& painter);  // along the top edge
    void paintHeadSwap(QCPPainter& painter);   // where a language model became a classifier, whose loss is another
    QString skipText(std::int64_t step) const; // "skipped: overflow in h1.mlp.fc"; empty when applied

    QString widestXLabel() const override;
    QString xTitle() const override { return tr("step"); }
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Drag { None, Pending, Pan, Box };

    void connectLink();
    void takeRange();
    void updateCrosshair();
    void paintPointer(QCPPainter& painter);
    void takePrecision();
    void paintPrecision(QCPPainter& painter);
    void finishBox(const QRectF& box);

    StepAxisLink m_ownLink;
    StepAxisLink* m_link = &m_ownLink;
    bool m_stepLabels = true;
    bool m_yByUser = false;
    int m_topMargin = 18;

    Drag m_drag = Drag::None;
    Qt::MouseButton m_dragButton = Qt::NoButton;
    bool m_dragBox = false;
    ClickPair m_clicks;
    QPointF m_dragStart;
    QPointF m_dragLast;
    std::optional<QPointF> m_pointer;
    std::vector<PrecisionSpan> m_precision;
    std::tuple<std::uint64_t, std::size_t, std::size_t, PrecisionSchedule> m_precisionOf; // what it was made from
};

} // namespace halfscope
