// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/step_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/axis_tickers.h"
#include "ui/plots/marks.h"
#include "ui/plots/step_path.h"

namespace halfscope {

namespace {
constexpr double kDragThreshold = 4.0; // pixels before a press becomes a drag
constexpr double kRibbon = 5.0;        // height of the band that shows the precision
} // namespace

StepPlot::StepPlot(QWidget* parent) : Plot(parent)
{
    xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new StepTicker));
    axisRect()->setAutoMargins(QCP::msNone);
    new PaintLayer(this, kMarks, true, [this](QCPPainter& painter) { paintPrecision(painter); });
    new PaintLayer(this, kPointer, false, [this](QCPPainter& painter) { paintPointer(painter); });
    updateMargins(m_topMargin);
    connectLink();
}

void StepPlot::setLink(StepAxisLink* link)
{
    disconnect(m_link, nullptr, this, nullptr);
    m_link = link != nullptr ? link : &m_ownLink;
    connectLink();
    if (m_link->run() == nullptr && m_run != nullptr)
        m_link->setRun(m_run);
    takeRange();
}

void StepPlot::connectLink()
{
    connect(m_link, &StepAxisLink::rangeChanged, this, &StepPlot::takeRange);
    connect(m_link, &StepAxisLink::crosshairChanged, this, &StepPlot::updateCrosshair);
    connect(m_link, &StepAxisLink::dataChanged, this, [this] {
        m_run = m_link->run();
        if (!isVisible()) // showing it refreshes it
            return;
        takePrecision();
        refreshData();
        fitY();
        updateCrosshair();
        queueReplot();
    });
    xAxis->setRange(m_link->range());
}

QString StepPlot::widestXLabel() const { return stepText(std::llround(std::max(10.0, xAxis->range().upper))); }

void StepPlot::setExporting(bool exporting, bool paper)
{
    Plot::setExporting(exporting, paper);
    xAxis->setTickLabels(m_stepLabels || exporting);
    updateMargins(m_topMargin);
}

void StepPlot::setStepLabelsShown(bool shown)
{
    m_stepLabels = shown;
    xAxis->setTickLabels(shown);
    updateMargins(m_topMargin);
    queueReplot();
}

void StepPlot::setRun(const RunModel* run)
{
    if (m_link->run() != run)
        m_link->setRun(run);
    Plot::setRun(run);
}

void StepPlot::refresh()
{
    m_link->refresh(); // the first of the linked plots does the work and tells the others
    takePrecision();
    refreshData();
    fitY();
    updateCrosshair();
    queueReplot();
}

void StepPlot::takeRange()
{
    m_run = m_link->run(); // another of the linked plots may have been given the run first
    xAxis->setRange(m_link->range());
    refreshData();
    fitY();
    if (m_pointer)
        m_link->setCrosshair(std::llround(stepOfPixel(m_pointer->x())));
    updateCrosshair();
    queueReplot();
    emit viewChanged();
}

double StepPlot::pixelOfStep(double step) const
{
    const QCPRange range = m_link->range();
    return inner().left() + (step - range.lower) / range.size() * inner().width();
}

double StepPlot::stepOfPixel(double x) const
{
    const QCPRange range = m_link->range();
    return range.lower + (x - inner().left()) / std::max(1.0, inner().width()) * range.size();
}

double StepPlot::yPixel(double value) const
{
    const QCPRange range = yAxis->range();
    return inner().top() + (range.upper - value) / range.size() * inner().height();
}

double StepPlot::yValue(double pixel) const
{
    const QCPRange range = yAxis->range();
    return range.upper - (pixel - inner().top()) / std::max(1.0, inner().height()) * range.size();
}

void StepPlot::fitY()
{
    if (m_yByUser)
        return;
    QCPRange range = fittingYRange();
    // The band of the precision must not hide what lies lowest.
    const double band = kRibbon + 2;
    if (m_precision.size() > 1 && inner().height() > 4 * band)
        range.lower -= range.size() * band / (inner().height() - band);
    yAxis->setRange(range);
}

void StepPlot::resetY()
{
    m_yByUser = false;
    fitY();
    queueReplot();
}

void StepPlot::updateMargins(int top)
{
    m_topMargin = top;
    axisRect()->setMargins(stepPlotMargins(QFontMetrics(smallFont()), m_stepLabels || isExporting(), top));
}

void StepPlot::zoomX(double factor)
{
    const auto at = m_link->crosshair();
    m_link->zoom(factor, at ? static_cast<double>(*at) : m_link->range().center());
}

void StepPlot::zoomY(double factor)
{
    m_yByUser = true;
    yAxis->scaleRange(1.0 / factor, yAxis->range().center());
    queueReplot();
    emit viewChanged();
}

void StepPlot::panX(double fraction) { m_link->pan(fraction * m_link->range().size()); }

void StepPlot::resetView()
{
    m_yByUser = false;
    m_link->reset();
    fitY();
    queueReplot();
    emit viewChanged();
}

std::vector<MarkCluster> StepPlot::skipMarks() const
{
    const QCPRange range = m_link->range();
    return clusterMarks(digest().overflowSkips, range.lower, range.upper, inner().left(), inner().width(), kMarkGap);
}

void StepPlot::paintSeries(QCPPainter& painter, const MinMaxPyramid& series, const QPen& pen) const
{
    const QCPRange view = m_link->range();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(pen);
    for (QPolygonF path :
         stepPath(series, view.lower, view.upper, inner().left(), inner().width(), PathShape::Lines, headSwap())) {
        for (QPointF& point : path)
            point.setY(yPixel(point.y()));
        painter.drawPolyline(path);
    }
}

void StepPlot::paintSkipMarks(QCPPainter& painter)
{
    const QCPRange range = m_link->range();
    const double y = inner().top() - 0.5 * kMarkSize - 3;
    paintClusters(painter, MarkShape::Overflow, skipMarks(), y, inner().right(), theme().skip, smallFont());
    paintClusters(painter, MarkShape::BadLoss,
                  clusterMarks(digest().lossSkips, range.lower, range.upper, inner().left(), inner().width(), kMarkGap),
                  y, inner().right(), theme().error, smallFont());
}

void StepPlot::paintHeadSwap(QCPPainter& painter)
{
    const double x = pixelOfStep(static_cast<double>(digest().headSwapped) - 0.5);
    if (digest().headSwapped == 0 || x < inner().left() || x > inner().right())
        return;
    QPen pen(theme().command, 1);
    pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.drawLine(QPointF(x, inner().top()), QPointF(x, inner().bottom()));
    const QString label = tr("head swapped");
    const QFontMetricsF metrics(smallFont());
    const double width = metrics.horizontalAdvance(label);
    const bool toTheLeft = x + 5 + width > inner().right();
    painter.setFont(smallFont());
    painter.setPen(theme().command);
    painter.drawText(QPointF(toTheLeft ? x - 5 - width : x + 5, inner().top() + metrics.ascent() + 2), label);
}

std::optional<StepRecord> StepPlot::recordAt(std::int64_t step) const
{
    if (m_run == nullptr || step < 1 || step > static_cast<std::int64_t>(m_run->steps.size()))
        return std::nullopt;
    return m_run->steps[static_cast<std::size_t>(step - 1)];
}

std::vector<StepRecord> StepPlot::visibleRecords() const
{
    std::vector<StepRecord> visible;
    if (m_run == nullptr)
        return visible;
    const QCPRange view = m_link->range();
    const auto end = m_run->steps.end();
    for (auto at = m_run->steps.from(static_cast<std::int64_t>(std::ceil(view.lower))); at != end; ++at) {
        const StepRecord record = *at;
        if (static_cast<double>(record.step) > view.upper)
            break;
        visible.push_back(record);
    }
    return visible;
}

QString StepPlot::skipText(std::int64_t step) const
{
    const auto found = recordAt(step);
    if (!found || found->step != step)
        return {};
    const StepRecord& record = *found;
    if (record.outcome == StepOutcome::SkippedNonfiniteLoss)
        return tr("skipped: the loss was not finite");
    if (record.outcome != StepOutcome::SkippedOverflow)
        return {};
    const auto module = static_cast<std::size_t>(record.overflowModule);
    if (record.overflowModule < 0 || module >= m_run->info.modules.size())
        return tr("skipped: overflow");
    return tr("skipped: overflow in %1").arg(QString::fromStdString(m_run->info.modules[module].name));
}

void StepPlot::takePrecision()
{
    if (m_run == nullptr) {
        m_precision.clear();
        return;
    }
    // What lies ahead moves into the past as steps are made; otherwise only events and edits change it.
    const PrecisionSchedule& schedule = m_run->live.config.precisionSchedule;
    auto from =
        std::tuple(m_run->info.generation, m_run->events.size(), schedule.empty() ? 0 : m_run->steps.size(), schedule);
    if (from == m_precisionOf)
        return;
    m_precisionOf = std::move(from);
    m_precision = precisionHistory(*m_run);
}

// A band along the lower edge in the colours of the formats, and, where there are step labels, their names above it.
void StepPlot::paintPrecision(QCPPainter& painter)
{
    if (m_precision.size() < 2)
        return;
    painter.setAntialiasing(false);
    painter.setFont(smallFont());
    const QFontMetricsF metrics(smallFont());
    for (const PrecisionSpan& span : m_precision) {
        const double left = std::max(inner().left(), pixelOfStep(static_cast<double>(span.first) - 0.5));
        const double right = span.last == 0
                                 ? inner().right()
                                 : std::min(inner().right(), pixelOfStep(static_cast<double>(span.last) + 0.5));
        if (right <= left)
            continue;
        const QColor color = theme().formatColor(span.format);
        const QRectF bar(left, inner().bottom() - kRibbon, right - left, kRibbon);
        painter.fillRect(bar, QBrush(color, span.planned ? Qt::BDiagPattern : Qt::SolidPattern));
        painter.setPen(QPen(theme().plotArea, 1));
        painter.drawLine(bar.topLeft(), bar.bottomLeft());
        if (!m_stepLabels && !isExporting())
            continue;
        const QRectF room(left + 2, bar.top() - metrics.height() - 1, right - left - 4, metrics.height());
        if (room.width() < metrics.horizontalAdvance(QStringLiteral("FP16")) + 6)
            continue;
        const QString text = metrics.elidedText(span.name, Qt::ElideRight, room.width() - 6);
        QColor behind = theme().plotArea;
        behind.setAlpha(200);
        painter.fillRect(QRectF(room.topLeft(), QSizeF(metrics.horizontalAdvance(text) + 6, room.height())), behind);
        painter.setPen(span.planned ? theme().textDim : theme().text);
        painter.drawText(room.adjusted(3, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text);
    }
}

void StepPlot::updateCrosshair()
{
    const auto step = m_link->crosshair();
    const double x = step ? pixelOfStep(static_cast<double>(*step)) : 0.0;
    if (!step || x < inner().left() - 1 || x > inner().right() + 1) {
        hideReadout();
        replotPointer();
        return;
    }
    std::optional<double> y;
    if (m_pointer && inner().contains(*m_pointer))
        y = yValue(m_pointer->y());
    QStringList lines = describeStep(*step, y);
    if (const PrecisionSpan* span = spanAt(m_precision, *step); span != nullptr && m_precision.size() > 1)
        lines << (span->planned ? tr("planned: %1").arg(span->name) : span->name);
    if (lines.isEmpty())
        hideReadout();
    else
        showReadout(m_pointer ? *m_pointer : QPointF(x, inner().top() + 2), lines);
    replotPointer();
    if (hasFocus() && !lines.isEmpty())
        setAccessibleDescription(lines.join(QStringLiteral("; ")));
}

void StepPlot::paintPointer(QCPPainter& painter)
{
    painter.setAntialiasing(false);
    if (const auto step = m_link->crosshair()) {
        const double x = std::round(pixelOfStep(static_cast<double>(*step)));
        if (x >= inner().left() && x <= inner().right()) {
            painter.setPen(QPen(theme().crosshair, 1));
            painter.drawLine(QPointF(x, inner().top()), QPointF(x, inner().bottom()));
            if (m_pointer && inner().contains(*m_pointer)) {
                painter.setPen(QPen(theme().crosshair, 1, Qt::DotLine));
                painter.drawLine(QPointF(inner().left(), m_pointer->y()), QPointF(inner().right(), m_pointer->y()));
            }
        }
    }
    if (m_drag == Drag::Box) {
        const QRectF box = QRectF(m_dragStart, m_dragLast).normalized().intersected(inner());
        QColor fill = theme().accent;
        fill.setAlpha(45);
        painter.setPen(QPen(theme().accent, 1));
        painter.setBrush(fill);
        painter.drawRect(box);
    }
}

void StepPlot::finishBox(const QRectF& box)
{
    if (box.width() < kDragThreshold || box.height() < kDragThreshold)
        return;
    const double low = stepOfPixel(box.left());
    const double high = stepOfPixel(box.right());
    m_yByUser = true;
    yAxis->setRange(yValue(box.bottom()), yValue(box.top()));
    m_link->setRange(low, high);
    queueReplot();
    emit viewChanged();
}

void StepPlot::changeEvent(QEvent* event)
{
    Plot::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        updateMargins(m_topMargin);
}

void StepPlot::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    refreshData();
    updateCrosshair();
}

void StepPlot::leaveEvent(QEvent* event)
{
    m_pointer.reset();
    m_link->setCrosshair(std::nullopt);
    Plot::leaveEvent(event);
}

void StepPlot::wheelEvent(QWheelEvent* event)
{
    const QPoint delta = event->angleDelta();
    event->accept();
    if (std::abs(delta.x()) > std::abs(delta.y())) {
        panX(-0.1 * delta.x() / 120.0);
        return;
    }
    const double factor = std::pow(1.2, delta.y() / 120.0);
    if (event->modifiers() & Qt::ControlModifier) {
        m_yByUser = true;
        yAxis->scaleRange(1.0 / factor, yValue(event->position().y()));
        queueReplot();
        emit viewChanged();
    } else {
        m_link->zoom(factor, stepOfPixel(event->position().x()));
    }
}

void StepPlot::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && m_clicks.press(*event)) {
        m_drag = Drag::None;
        m_dragButton = Qt::NoButton;
        resetView();
        emit doubleClicked();
        return;
    }
    if (m_drag != Drag::None || (event->button() != Qt::LeftButton && event->button() != Qt::RightButton))
        return;
    m_drag = Drag::Pending;
    m_dragButton = event->button();
    m_dragBox = event->button() == Qt::RightButton || (event->modifiers() & Qt::ShiftModifier);
    m_dragStart = m_dragLast = event->position();
}

void StepPlot::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_drag == Drag::Pending && (at - m_dragStart).manhattanLength() >= kDragThreshold)
        m_drag = m_dragBox ? Drag::Box : Drag::Pan;
    if (m_drag == Drag::Pan) {
        const QPointF moved = at - m_dragLast;
        m_dragLast = at;
        m_pointer = at;
        if (moved.x() != 0)
            m_link->pan(-moved.x() / std::max(1.0, inner().width()) * m_link->range().size());
        return;
    }
    if (m_drag == Drag::Box) {
        m_dragLast = at;
        replotPointer();
        return;
    }
    m_pointer = at;
    if (at.x() >= inner().left() && at.x() <= inner().right())
        m_link->setCrosshair(std::llround(stepOfPixel(at.x())));
    else
        m_link->setCrosshair(std::nullopt);
    updateCrosshair(); // the pointer's height may matter although the step is the same
}

void StepPlot::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        m_clicks.release(*event);
    if (event->button() != m_dragButton)
        return;
    const Drag drag = m_drag;
    m_drag = Drag::None;
    m_dragButton = Qt::NoButton;
    if (drag == Drag::Box) {
        finishBox(QRectF(m_dragStart, event->position()).normalized().intersected(inner()));
        replotPointer();
    } else if (drag == Drag::Pending) {
        if (event->button() == Qt::RightButton)
            emit customContextMenuRequested(event->position().toPoint());
        else if (inner().contains(event->position()) && m_link->crosshair())
            emit stepClicked(*m_link->crosshair());
    }
}

void StepPlot::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

void StepPlot::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int steps = event->modifiers() & Qt::ControlModifier ? 10 : 1;
        if (event->modifiers() & Qt::ShiftModifier)
            m_link->moveCrosshair(event->key() == Qt::Key_Left ? -steps : steps);
        else
            Plot::keyPressEvent(event);
        break;
    }
    case Qt::Key_Home:
        m_link->wholeRun();
        break;
    case Qt::Key_End:
        m_link->follow();
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_link->crosshair())
            emit stepClicked(*m_link->crosshair());
        break;
    case Qt::Key_Escape:
        m_drag = Drag::None;
        m_link->setCrosshair(std::nullopt);
        break;
    default:
        Plot::keyPressEvent(event);
    }
}

} // namespace halfscope
