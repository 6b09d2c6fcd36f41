// SPDX-License-Identifier: GPL-3.0-or-later
// The exponent histogram of the selected gradients against the format's range. Dragging the range sets the loss scale.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ui/plots/click_pair.h"
#include "ui/plots/scale_setting_plot.h"

namespace halfscope {

class SpectrumPlot : public ScaleSettingPlot {
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

    const FormatWindow& window() const { return m_window; } // of the shown scale, log2 unscaled
    QString headline() const;                               // the numbers below the plot in one sentence

    // Pixels, for tests and overlays. exponent: log2 of the unscaled magnitude.
    double pixelOf(double exponent) const;
    double exponentAt(double pixel) const;
    double barTop(int exponent) const;    // pixel height of a bin's bar; the lower edge of the plot when empty
    double ownBarTop(int exponent) const; // of the part that is held in the window's format

signals:
    void frozenStepChanged();

protected:
    void applyTheme() override;
    void updateLayout() override;
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
    bool canMoveScale() const override { return canDrag(); }
    bool holdsScale() const override { return m_grip != Grip::None && m_grip != Grip::Pan; }
    void letGo() override { m_grip = Grip::None; }
    bool showsPast() const override { return m_preview || m_frozen; }
    void releasePast() override;
    bool escape() override;
    // As if the window (on the scaled axis: the bars) had been dragged.
    int rightArrow() const override { return m_scaledAxis ? 1 : -1; }

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

    FormatWindow m_window;
    Grip m_grip = Grip::None;
    ClickPair m_clicks;
    double m_scaleAtPress = 1.0; // the one shown
};

// Words for a tap: "weight gradients", "activation gradients", "activations".
QString tapText(Tap tap);
// Words for a selection: "all layers", "h0.mlp.fc + h1.mlp.fc", "norms (9 layers)", "8 layers, h0.mlp.fc … lm_head".
QString selectionText(const RunModel& run);
// What a plot without data says, for the state the run is in.
QString emptyText(const RunModel* run);

} // namespace halfscope
