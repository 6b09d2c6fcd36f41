// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot.h"

#include <QEvent>
#include <QWindow>
#include <algorithm>
#include <utility>

#include "ui/plots/axis_tickers.h"
#include "ui/plots/strip_element.h"

namespace halfscope {

PaintLayer::PaintLayer(QCustomPlot* plot, const QString& layer, bool clipped, Painter painter)
    : QCPLayerable(plot, layer), m_clipped(clipped), m_painter(std::move(painter))
{
}

QRect PaintLayer::clipRect() const { return m_clipped ? mParentPlot->axisRect()->rect() : mParentPlot->viewport(); }

void PaintLayer::applyDefaultAntialiasingHint(QCPPainter* painter) const
{
    painter->setAntialiasing(static_cast<Plot*>(mParentPlot)->isExporting());
}

void PaintLayer::draw(QCPPainter* painter) { m_painter(*painter); }

Plot::Plot(QWidget* parent) : QCustomPlot(parent)
{
    setNotAntialiasedElements(QCP::aeAll);
    setAutoAddPlottableToLegend(false);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setContextMenuPolicy(Qt::PreventContextMenu); // the right button also draws zoom boxes; see StepPlot

    // background < shading < grid < data < axes < marks < pointer
    addLayer(kShading, layer(QStringLiteral("grid")), QCustomPlot::limBelow);
    addLayer(kData, layer(QStringLiteral("main")), QCustomPlot::limAbove);
    addLayer(kMarks, layer(QStringLiteral("legend")), QCustomPlot::limAbove);
    addLayer(kPointer, layer(QStringLiteral("overlay")), QCustomPlot::limAbove);
    layer(kPointer)->setMode(QCPLayer::lmBuffered);

    new PaintLayer(this, kMarks, false, [this](QCPPainter& painter) { paintEmpty(painter); });
    // The last of the pointer layer's children: nothing is drawn over the read-out.
    QMetaObject::invokeMethod(
        this,
        [this] {
            new PaintLayer(this, kPointer, false, [this](QCPPainter& painter) { paintReadout(painter); });
            replotPointer();
        },
        Qt::QueuedConnection);

    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setTicker(QSharedPointer<QCPAxisTicker>(new NumberTicker)); // a RoomTicker, as a subclass sets as well
        axis->setTickLengthIn(0);
        axis->setTickLengthOut(0);
        axis->setSubTicks(false);
        axis->setTickLabelPadding(6);
        axis->setBasePen(Qt::NoPen);
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    connect(&ThemeManager::instance(), &ThemeManager::changed, this, [this] {
        applyTheme();
        queueReplot();
    });
    Plot::applyTheme();
}

void Plot::setRun(const RunModel* run)
{
    m_run = run;
    refresh();
}

void Plot::setExporting(bool exporting, bool paper)
{
    m_paper = exporting && paper;
    if (exporting != m_exporting) {
        m_exporting = exporting;
        if (exporting) {
            auto* strip = new StripElement(this, [this](QCPPainter& painter, const QRectF& rect) {
                QFont bold = font();
                bold.setBold(true);
                painter.setFont(bold);
                painter.setPen(theme().text);
                const QRectF room = rect.adjusted(8, 0, -8, 0);
                painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                                 QFontMetricsF(bold).elidedText(title(), Qt::ElideRight, room.width()));
            });
            strip->setLayer(kMarks);
            strip->setHeight(QFontMetrics(font()).height() + 8);
            plotLayout()->insertRow(0);
            plotLayout()->addElement(0, 0, strip);
            m_titleStrip = strip;
            m_screenMargins = axisRect()->autoMargins();
            axisRect()->setAutoMargins(QCP::msLeft | QCP::msBottom); // the titles of the axes have their room
        } else {
            plotLayout()->remove(m_titleStrip);
            plotLayout()->simplify();
            m_titleStrip = nullptr;
            axisRect()->setAutoMargins(m_screenMargins);
        }
    }
    applyTheme();
    for (QCPAxis* axis : {xAxis, yAxis}) // on paper the area has no shade of its own
        axis->setBasePen(exporting ? QPen(theme().textDim, 0) : QPen(Qt::NoPen));
    updateAxisTitles();
    setNotAntialiasedElements(exporting ? QCP::aeNone : QCP::aeAll);
    setAntialiasedElements(exporting ? QCP::aeAll : QCP::aeNone);
    layer(kPointer)->setVisible(!exporting);
}

void Plot::applyTheme()
{
    const Theme& t = theme();
    setBackground(QBrush(t.panel));
    axisRect()->setBackground(QBrush(t.plotArea));
    for (QCPAxis* axis : {xAxis, yAxis}) {
        axis->setTickLabelColor(t.textDim);
        axis->setLabelColor(t.textDim);
        axis->setTickLabelFont(smallFont());
        axis->setLabelFont(smallFont());
        axis->setTickPen(QPen(t.grid, 0));
        axis->grid()->setPen(QPen(t.grid, 0));
    }
}

void Plot::updateAxisTitles()
{
    xAxis->setLabel(m_exporting ? xTitle() : screenXTitle());
    yAxis->setLabel(m_exporting ? yTitle() : QString());
}

void Plot::setMostMarks(int x, int y)
{
    m_mostXMarks = x;
    m_mostYMarks = y;
}

void Plot::updateLayout()
{
    QCustomPlot::updateLayout();
    const QFontMetricsF metrics(smallFont());
    const double width =
        std::max(20.0, metrics.horizontalAdvance(widestXLabel())) + 2.0 * metrics.averageCharWidth() + 4;
    auto* across = static_cast<RoomTicker*>(xAxis->ticker().get());
    auto* up = static_cast<RoomTicker*>(yAxis->ticker().get());
    const double x = std::clamp(inner().width() / width, 1.0, double(m_mostXMarks));
    const double y = std::clamp(inner().height() / (1.4 * metrics.height()), 1.0, double(m_mostYMarks));
    if (x == across->room() && y == up->room())
        return;
    across->setRoom(x);
    up->setRoom(y);
    QCustomPlot::updateLayout(); // with these marks
}

QFont Plot::smallFont() const
{
    QFont f = font();
    if (f.pointSizeF() > 0)
        f.setPointSizeF(std::max(7.0, f.pointSizeF() * 0.88));
    return f;
}

void Plot::replotPointer()
{
    if (isVisible() && layer(kPointer)->visible())
        layer(kPointer)->replot();
}

void Plot::showReadout(const QPointF& anchor, const QStringList& lines, std::optional<QPointF> corner)
{
    if (lines == m_readoutLines && anchor == m_readoutAnchor && corner == m_readoutCorner)
        return;
    m_readoutAnchor = anchor;
    m_readoutCorner = corner;
    m_readoutLines = lines;
    replotPointer();
}

QSizeF Plot::readoutSize(const QStringList& lines) const
{
    if (lines.isEmpty())
        return {};
    QFont bold = smallFont();
    bold.setBold(true);
    const QFontMetricsF metrics(smallFont());
    const QFontMetricsF boldMetrics(bold);
    double width = boldMetrics.horizontalAdvance(lines.first());
    for (const QString& line : lines)
        width = std::max(width, metrics.horizontalAdvance(line));
    return {width + 16, std::max(metrics.height(), boldMetrics.height()) * double(lines.size()) + 10};
}

QRectF Plot::readoutBox() const
{
    const QSizeF size = readoutSize(m_readoutLines);
    const QRectF room = QRectF(viewport()).adjusted(2, 2, -2, -2);
    // Right of and above the pointer; pushed to the other side where there is no room.
    QPointF corner = m_readoutCorner.value_or(m_readoutAnchor + QPointF(14, -size.height() - 8));
    if (!m_readoutCorner && corner.x() + size.width() > room.right())
        corner.setX(m_readoutAnchor.x() - 14 - size.width());
    corner.setX(std::clamp(corner.x(), room.left(), std::max(room.left(), room.right() - size.width())));
    corner.setY(std::clamp(corner.y(), room.top(), std::max(room.top(), room.bottom() - size.height())));
    return {corner, size};
}

void Plot::hideReadout()
{
    if (m_readoutLines.isEmpty())
        return;
    m_readoutLines.clear();
    replotPointer();
}

void Plot::setEmptyText(const QString& text)
{
    if (text == m_emptyText)
        return;
    m_emptyText = text;
    queueReplot();
}

void Plot::paintReadout(QCPPainter& painter)
{
    if (m_readoutLines.isEmpty())
        return;
    QFont bold = smallFont();
    bold.setBold(true);
    const double lineHeight = std::max(QFontMetricsF(smallFont()).height(), QFontMetricsF(bold).height());
    const QRectF box = readoutBox();
    painter.setAntialiasing(true);
    painter.setPen(QPen(theme().readoutBorder, 1));
    painter.setBrush(theme().readout);
    painter.drawRoundedRect(box, 5, 5);
    painter.setPen(theme().text);
    double y = box.top() + 5;
    bool first = true;
    for (const QString& line : std::as_const(m_readoutLines)) {
        painter.setFont(first ? bold : smallFont());
        painter.drawText(QRectF(box.left() + 8, y, box.width() - 14, lineHeight), Qt::AlignLeft | Qt::AlignVCenter,
                         line);
        y += lineHeight;
        first = false;
    }
}

void Plot::paintEmpty(QCPPainter& painter)
{
    if (m_emptyText.isEmpty())
        return;
    painter.setFont(font());
    painter.setPen(theme().textDim);
    const QRectF room = inner().adjusted(12, 4, -12, -4);
    constexpr int kFlags = Qt::AlignCenter | Qt::TextWordWrap;
    painter.fillRect(painter.boundingRect(room, kFlags, m_emptyText).adjusted(-8, -3, 8, 3), theme().plotArea);
    painter.drawText(room, kFlags, m_emptyText);
}

void Plot::updatePixelRatio()
{
    if (bufferDevicePixelRatio() != devicePixelRatioF()) {
        setBufferDevicePixelRatio(devicePixelRatioF());
        queueReplot();
    }
}

bool Plot::event(QEvent* event)
{
    if (event->type() == QEvent::ScreenChangeInternal)
        updatePixelRatio();
    return QCustomPlot::event(event);
}

void Plot::keyPressEvent(QKeyEvent* event)
{
    constexpr double kZoom = 1.25;
    const bool control = event->modifiers() & Qt::ControlModifier;
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
        panX(event->key() == Qt::Key_Left ? -0.1 : 0.1);
        break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        control ? zoomY(kZoom) : zoomX(kZoom);
        break;
    case Qt::Key_Minus:
        control ? zoomY(1 / kZoom) : zoomX(1 / kZoom);
        break;
    case Qt::Key_0:
        resetView();
        break;
    default:
        QCustomPlot::keyPressEvent(event);
    }
}

void Plot::changeEvent(QEvent* event)
{
    QCustomPlot::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        applyTheme();
        queueReplot();
    }
}

void Plot::showEvent(QShowEvent* event)
{
    QCustomPlot::showEvent(event);
    updatePixelRatio();
    refresh();
    queueReplot();
}

void Plot::leaveEvent(QEvent* event)
{
    QCustomPlot::leaveEvent(event);
    hideReadout();
}

QMargins stepPlotMargins(const QFontMetrics& metrics, bool withStepLabels, int top)
{
    return {metrics.horizontalAdvance(QStringLiteral("10⁻⁸⁸⁸")) + 14, top, metrics.averageCharWidth() * 2 + 4,
            withStepLabels ? metrics.height() + 10 : 6};
}

} // namespace halfscope
