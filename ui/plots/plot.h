// SPDX-License-Identifier: GPL-3.0-or-later
// What all plots share: theme, high-DPI buffers, layers, hover read-out, empty state, and the hooks that export and the
// menus use. Subclasses draw with PaintLayer callbacks, which keeps a frame far below QCustomPlot's stock plottables
// and makes PNG, SVG and PDF come from the very same code.
#pragma once

#include <QStringList>
#include <functional>
#include <optional>
#include <qcustomplot.h>

#include "ui/run_model.h"
#include "ui/theme.h"

namespace halfscope {

// A layerable that paints through a function, clipped to the inside of the axes or not at all.
class PaintLayer : public QCPLayerable {
public:
    using Painter = std::function<void(QCPPainter&)>;
    PaintLayer(QCustomPlot* plot, const QString& layer, bool clipped, Painter painter);

protected:
    QRect clipRect() const override;
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
    void draw(QCPPainter* painter) override;

private:
    bool m_clipped;
    Painter m_painter;
};

class Plot : public QCustomPlot {
    Q_OBJECT
public:
    explicit Plot(QWidget* parent = nullptr);

    // The run to show; null shows the empty state. Must outlive the plot or be replaced first.
    virtual void setRun(const RunModel* run);
    // Takes over what is new in the run. Cheap when nothing is; queues at most one repaint.
    virtual void refresh() = 0;

    virtual QString title() const = 0;
    // What the plot is called however far the run has come: for files.
    virtual QString name() const { return title(); }
    // What is visible as RFC 4180 rows with a header, C locale, UTF-8.
    virtual QByteArray visibleCsv() const = 0;

    // View actions for menus and shortcuts. factor > 1 shows more detail.
    virtual void zoomX(double factor) = 0;
    virtual void zoomY(double factor) = 0;
    virtual void panX(double fraction) = 0; // of the visible range
    virtual void resetView() = 0;

    // The look of an exported picture: antialiased, with a title and titled axes; without anything that is bound to the
    // pointer or explains how to use the window. `paper`: dark on white, whatever the theme.
    virtual void setExporting(bool exporting, bool paper = false);
    bool isExporting() const { return m_exporting; }
    QColor background() const { return theme().panel; }

    QStringList readoutLines() const { return m_readoutLines; } // what the hover box says now; empty: no box
    QRectF readoutBox() const;                                  // where it is
    const RunModel* run() const { return m_run; }

    QSize sizeHint() const override { return {640, 220}; }
    QSize minimumSizeHint() const override { return {240, 110}; }

signals:
    void viewChanged();

protected:
    static inline const QString kShading = QStringLiteral("shading");
    static inline const QString kData = QStringLiteral("data");
    static inline const QString kMarks = QStringLiteral("marks");
    static inline const QString kPointer = QStringLiteral("pointer"); // buffered: repainted without the rest

    virtual void applyTheme();
    // As many marks as labels fit; a subclass says how wide a label below may be, and how many marks are enough.
    void updateLayout() override;
    virtual QString widestXLabel() const { return QString(); }
    void setMostMarks(int x, int y);
    // Titles of the axes, with units. On screen they are left out where the plot's own title says enough.
    virtual QString xTitle() const { return {}; }
    virtual QString yTitle() const { return {}; }
    virtual QString screenXTitle() const { return {}; }
    void updateAxisTitles();
    // At most one repaint a turn of the event loop; none while hidden (showing repaints anyway).
    void queueReplot()
    {
        if (isVisible())
            replot(QCustomPlot::rpQueuedReplot);
    }
    void replotPointer();
    QFont smallFont() const;
    QRectF inner() const { return axisRect()->rect(); }
    const Theme& theme() const { return m_paper ? paperTheme() : currentTheme(); }
    double captionTop() const { return axisRect()->outerRect().top() + 2.0; }

    // Beside the anchor, or with the box's upper left corner where the caller wants it.
    void showReadout(const QPointF& anchor, const QStringList& lines, std::optional<QPointF> corner = {});
    QSizeF readoutSize(const QStringList& lines) const;
    void hideReadout();
    void setEmptyText(const QString& text); // shown in the middle while not empty
    bool isEmptyShown() const { return !m_emptyText.isEmpty(); }

    bool event(QEvent* event) override;
    // Arrows move the view, plus and minus zoom (with Ctrl the values), 0 resets.
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void leaveEvent(QEvent* event) override;

    const RunModel* m_run = nullptr;

private:
    void updatePixelRatio();
    void paintReadout(QCPPainter& painter);
    void paintEmpty(QCPPainter& painter);

    bool m_exporting = false;
    bool m_paper = false;
    QCPLayoutElement* m_titleStrip = nullptr; // while exporting
    QCP::MarginSides m_screenMargins = QCP::msNone;
    int m_mostXMarks = 9;
    int m_mostYMarks = 5;
    QPointF m_readoutAnchor;
    std::optional<QPointF> m_readoutCorner;
    QStringList m_readoutLines;
    QString m_emptyText;
};

// The layout of margins that lines step axes of several plots up: the same space left and right in all of them.
QMargins stepPlotMargins(const QFontMetrics& metrics, bool withStepLabels, int top);

} // namespace halfscope
