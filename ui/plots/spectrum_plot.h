// SPDX-License-Identifier: GPL-3.0-or-later
// The exponent histogram of the selected gradients against the format's range. Dragging the range sets the loss scale.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ui/plots/click_pair.h"
#include "ui/plots/plot.h"
#include "ui/plots/shown_scale.h"
#include "ui/plots/spectrum_data.h"

namespace halfscope {

class SpectrumPlot : public Plot {
    Q_OBJECT
public:
    explicit SpectrumPlot(QWidget* parent = nullptr);

    void refresh() override;
    QString title() const override; // "Gradient spectrum · h1.mlp.fc · weight gradients"
    QByteArray visibleCsv() const override;
    void zoomX(double factor) override;
    void zoomY(double factor) override;
    void panX(double fraction) override;
    void resetView() override;

    bool scaledAxis() const { return m_scaledAxis; }
    void setScaledAxis(bool scaled); // magnitudes times the loss scale; the window stands still, the bars move

    // Shows a step of the past instead of the newest one: while the pointer is on it, or until released.
    void previewStep(std::optional<qint64> step);
    // Holds it. A drag of the window lets go: the scale is of the present.
    void freezeStep(std::optional<qint64> step);
    std::optional<qint64> frozenStep() const { return m_frozen; }

    // The scale a drag asked for is shown until the run has it; this forgets it, as when the engine refused.
    void clearPendingScale();

    double shownScale() const { return m_scale; }
    const FormatWindow& window() const { return m_window; } // of the shown scale, log2 unscaled
    QString headline() const;                               // the numbers below the plot in one sentence

    // Pixels, for tests and overlays. exponent: log2 of the unscaled magnitude.
    double pixelOf(double exponent) const;
    double exponentAt(double pixel) const;
    double barTop(int exponent) const;    // pixel height of a bin's bar; the lower edge of the plot when empty
    double ownBarTop(int exponent) const; // of the part that is held in the window's format

signals:
    void scaleDragged(double scale); // while dragging, and for each key press
    void scaleDropped(double scale); // at the end
    void frozenStepChanged();

protected:
    void applyTheme() override;
    void updateLayout() override;
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
    static constexpr double kMinimumOctaves = 6.0; // on the axis
    enum class Grip { None, Flush, Overflow, Body, Pan };

    void takeData();
    void takeScale();
    void fitRanges();
    double shift() const; // added to an unscaled exponent to give its place on the axis
    double countTop(std::uint64_t count) const;
    bool canDrag() const;
    Grip gripAt(const QPointF& at) const;
    void dragTo(double pixel, bool free);
    void moveScale(double wanted, bool dropped);
    void releasePast();
    QPointF quietCorner(const QSizeF& box) const;
    void updateHover();
    QStringList describeBin(int exponent) const;
    QString windowClassText(int exponent) const;
    QString sourceText() const;

    void paintShading(QCPPainter& painter);
    void paintBars(QCPPainter& painter);
    void paintMarks(QCPPainter& painter);
    void paintCapsules(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
    void paintBar(QCPPainter& painter, int exponent, const QRectF& bar);
    void paintHeadline(QCPPainter& painter, const QRectF& rect);
    void paintHoverBin(QCPPainter& painter);

    bool m_scaledAxis = false;
    std::optional<qint64> m_preview;
    std::optional<qint64> m_frozen;

    SpectrumData m_data;
    double m_scale = 1.0; // 1 where the scale plays no part
    FormatWindow m_window;

    bool m_xByUser = false;
    bool m_yByUser = false;

    Grip m_grip = Grip::None;
    ClickPair m_clicks;
    QPointF m_pressed;
    QPointF m_lastPanned;
    double m_scaleAtPress = 1.0;  // the one shown
    double m_scaleToReturn = 1.0; // when the drag is taken back
    bool m_moved = false;
    ShownScale m_hand;
    std::optional<QPointF> m_pointer;
};

// Words for a tap: "weight gradients", "activation gradients", "activations".
QString tapText(Tap tap);
// Words for a selection: "all layers", "h0.mlp.fc + h1.mlp.fc", "norms (9 layers)", "8 layers, h0.mlp.fc … lm_head".
QString selectionText(const RunModel& run);
// What a plot without data says, for the state the run is in.
QString emptyText(const RunModel* run);

} // namespace halfscope
