// SPDX-License-Identifier: GPL-3.0-or-later
// What the spectrum looks like.
#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

namespace {

// Lost values are hatched besides being coloured.
Qt::BrushStyle hatchOf(ValueClass c)
{
    if (c == ValueClass::Flushed)
        return Qt::FDiagPattern;
    return c == ValueClass::Saturating ? Qt::BDiagPattern : Qt::SolidPattern;
}

void fillClass(QPainter& painter, const QRectF& rect, ValueClass c, const Theme& theme)
{
    const QColor color = theme.classColor(c);
    painter.fillRect(rect, color);
    const Qt::BrushStyle hatch = hatchOf(c);
    if (hatch != Qt::SolidPattern) {
        QColor over = theme.dark ? color.darker(165) : color.lighter(150);
        painter.fillRect(rect, QBrush(over, hatch));
    }
}

} // namespace

void SpectrumPlot::paintShading(QCPPainter& painter)
{
    if (!m_statistics)
        return;
    const QRectF area = inner();
    const double edges[] = {area.left(), std::clamp(pixelOf(m_window.flush), area.left(), area.right()),
                            std::clamp(pixelOf(m_window.subnormal), area.left(), area.right()),
                            std::clamp(pixelOf(m_window.overflow), area.left(), area.right()), area.right()};
    const ValueClass classes[] = {ValueClass::Flushed, ValueClass::Subnormal, ValueClass::Normal,
                                  ValueClass::Saturating};
    for (std::size_t i = 0; i < 4; ++i) {
        QColor color = theme().classColor(classes[i]);
        color.setAlpha(theme().dark ? 30 : 24);
        painter.fillRect(
            QRectF(QPointF(std::round(edges[i]), area.top()), QPointF(std::round(edges[i + 1]), area.bottom() + 1)),
            color);
    }
}

void SpectrumPlot::paintBars(QCPPainter& painter)
{
    if (!m_statistics)
        return;
    const QRectF area = inner();
    const double edges[] = {m_window.flush, m_window.subnormal, m_window.overflow};
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        if (m_statistics->histogram.at(e) == 0)
            continue;
        const double left = std::round(pixelOf(e));
        const double width = std::round(pixelOf(e + 1.0)) - left;
        if (left > area.right() || left + width < area.left())
            continue;
        const double right = left + std::max(1.0, width > 4 ? width - 1 : width); // a pixel apart where there is room
        const double top = std::round(std::max(barTop(e), area.top() - 2));
        // One piece per class that the bin's octave reaches into.
        double from = left;
        for (const double edge : edges) {
            const double at = std::round(pixelOf(edge));
            if (edge <= e || edge >= e + 1 || at <= from || at >= right)
                continue;
            fillClass(painter, QRectF(QPointF(from, top), QPointF(at, area.bottom() + 1)),
                      m_window.classAt(exponentAt(0.5 * (from + at))), theme());
            from = at;
        }
        // The class in the middle of what remains: an edge a 4096th short of the bin's end does not colour the bin.
        fillClass(painter, QRectF(QPointF(from, top), QPointF(right, area.bottom() + 1)),
                  m_window.classAt(std::clamp(exponentAt(0.5 * (from + right)), e + 0.001, e + 0.999)), theme());
    }
}

void SpectrumPlot::paintMarks(QCPPainter& painter)
{
    if (!m_statistics)
        return;
    const QRectF area = inner();
    const double flush = std::round(pixelOf(m_window.flush));
    const double subnormal = std::round(pixelOf(m_window.subnormal));
    const double overflow = std::round(pixelOf(m_window.overflow));
    painter.setPen(QPen(theme().subnormal, 1, Qt::DashLine));
    painter.drawLine(QPointF(subnormal, area.top()), QPointF(subnormal, area.bottom()));

    const QString name = QString::fromUtf8(m_format->name.data(), qsizetype(m_format->name.size()));
    const bool noInfinity = !m_format->hasInfinity;
    QFont bold = smallFont();
    bold.setBold(true);
    painter.setFont(bold);
    const QFontMetricsF metrics(bold);
    const double y = area.top() + 4 + metrics.ascent();
    const auto label = [&](double from, double to, const QString& text, const QString& shorter, const QColor& color) {
        from = std::max(from, area.left()) + 4;
        to = std::min(to, area.right()) - 4;
        const QString words = metrics.horizontalAdvance(text) <= to - from ? text : shorter;
        const double width = metrics.horizontalAdvance(words);
        if (width > to - from)
            return;
        painter.setPen(color);
        painter.drawText(QPointF(0.5 * (from + to - width), y), words);
    };
    const auto readable = [this](const QColor& color) { return theme().dark ? color.lighter(118) : color.darker(125); };
    label(area.left(), flush, tr("flushed to 0"), tr("→ 0"), readable(theme().flushed));
    label(flush, subnormal, tr("%1 subnormal").arg(name), tr("subn."), readable(theme().subnormal));
    label(subnormal, overflow, tr("%1 normal range").arg(name), name, readable(theme().normal));
    label(overflow, area.right(), noInfinity ? tr("becomes NaN → skip") : tr("overflow → skip"), tr("skip"),
          readable(theme().overflow));

    // The window's edges, with something to take hold of.
    if (isExporting() || !canDrag()) {
        painter.setPen(QPen(theme().accent, 1));
        for (const double x : {flush, overflow})
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        return;
    }
    for (const double x : {flush, overflow}) {
        painter.fillRect(QRectF(x - 1, area.top(), 2, area.height() + 1), theme().accent);
        painter.setAntialiasing(true);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme().accent);
        const QRectF handle(x - 4, area.center().y() - 14, 8, 28);
        painter.drawRoundedRect(handle, 3, 3);
        painter.setAntialiasing(false);
        painter.setPen(QPen(theme().plotArea, 1));
        for (const double dx : {-1.0, 1.0})
            painter.drawLine(QPointF(x + dx, handle.center().y() - 5), QPointF(x + dx, handle.center().y() + 5));
    }
}

void SpectrumPlot::paintCapsules(QCPPainter& painter)
{
    if (!m_statistics)
        return;
    const QRectF area = inner();
    const QFontMetricsF metrics(smallFont());
    painter.setFont(smallFont());
    const double height = metrics.height() + 4;
    const double y = area.top() + metrics.height() + 8;
    const auto capsule = [&](double x, bool fromRight, const QString& text, const QColor& color, bool strong) {
        const double width = metrics.horizontalAdvance(text) + 14;
        const QRectF rect(fromRight ? x - width : x, y, width, height);
        painter.setAntialiasing(true);
        QColor fill = strong ? color : theme().plotArea;
        fill.setAlpha(strong ? 255 : 215);
        painter.setPen(QPen(color, 1));
        painter.setBrush(fill);
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 0.5 * height, 0.5 * height);
        const QColor onFill = theme().dark ? QColor(0x14, 0x10, 0x18) : QColor(Qt::white);
        painter.setPen(strong ? onFill : theme().text);
        painter.drawText(rect, Qt::AlignCenter, text);
        painter.setAntialiasing(false);
        return width + 4;
    };
    const ClassCounts& classes = m_statistics->classes;
    capsule(area.left() + 4, false, tr("zero %1").arg(countText(classes[ValueClass::Zero])), theme().zero, false);
    double x = area.right() - 4;
    const std::uint64_t nan = classes[ValueClass::NaN];
    const std::uint64_t inf = classes[ValueClass::Inf];
    x -= capsule(x, true, tr("NaN %1").arg(countText(nan)), nan > 0 ? theme().nonfinite : theme().zero, nan > 0);
    capsule(x, true, tr("inf %1").arg(countText(inf)), inf > 0 ? theme().nonfinite : theme().zero, inf > 0);
}

QString SpectrumPlot::sourceText() const
{
    if (!m_statistics)
        return {};
    const QString steps = m_firstStep == m_lastStep
                              ? tr("step %1").arg(stepText(m_lastStep))
                              : tr("steps %1–%2").arg(stepText(m_firstStep), stepText(m_lastStep));
    QString text = tr("%1 · scale %2").arg(steps, scaleText(m_scale));
    if (m_preview)
        text += QStringLiteral(" · ") + tr("under the pointer");
    else if (m_frozen)
        text += QStringLiteral(" · ") + tr("held; Esc returns to the newest");
    return text;
}

void SpectrumPlot::paintCaption(QCPPainter& painter)
{
    if (!m_statistics)
        return;
    const QRectF area = inner();
    const QFontMetricsF metrics(smallFont());
    painter.setFont(smallFont());
    painter.setPen(m_frozen || m_preview ? theme().warning : theme().textDim);
    const double y = area.top() - 5 - metrics.descent();
    const QString source = sourceText();
    painter.drawText(QPointF(area.left(), y), source);
    const double used = metrics.horizontalAdvance(source) + 16;
    painter.setPen(theme().textDim);
    for (const QString& hint :
         {canDrag() ? tr("drag the window to set the scale · Shift: between powers of two") : QString(),
          canDrag() ? tr("drag the window to set the scale") : QString()}) {
        const double width = metrics.horizontalAdvance(hint);
        if (hint.isEmpty() || used + width > area.width() || isExporting())
            continue;
        painter.drawText(QPointF(area.right() - width, y), hint);
        break;
    }
}

namespace {

struct HeadlineNumbers {
    bool exact = true;
    double flushed = 0;
    double subnormal = 0;
    double normal = 0;
    double overflow = 0; // with what was not finite before the cast
};

// Counts as they were measured when the shown scale is the one they were measured under; else an estimate.
HeadlineNumbers headlineNumbers(const TensorStatistics& statistics, const ClassEstimate& estimate, bool exact)
{
    const ClassCounts& classes = statistics.classes;
    const auto of = [&](ValueClass c) { return static_cast<double>(classes[c]); };
    if (exact)
        return {true, of(ValueClass::Flushed), of(ValueClass::Subnormal), of(ValueClass::Normal),
                of(ValueClass::Saturating) + of(ValueClass::Inf) + of(ValueClass::NaN)};
    return {false, estimate.flushed, estimate.subnormal, estimate.normal,
            estimate.overflow + of(ValueClass::Inf) + of(ValueClass::NaN)};
}

QString countOf(double count, bool exact)
{
    return (exact || count == 0 ? QString() : QStringLiteral("≈ ")) +
           countText(static_cast<quint64>(std::llround(count)));
}

} // namespace

QString SpectrumPlot::headline() const
{
    if (!m_statistics)
        return {};
    const HeadlineNumbers n = headlineNumbers(*m_statistics, estimate(), m_scale == m_measuredScale);
    const auto count = static_cast<double>(m_statistics->count());
    const double octaves = headroom();
    return tr("%1; flushed to 0: %2, subnormal: %3, normal: %4, overflowing or not finite: %5, headroom: %6 octaves")
        .arg(sourceText(), countOf(n.flushed, n.exact) + QStringLiteral(" = ") + shareText(n.flushed, count),
             countOf(n.subnormal, n.exact) + QStringLiteral(" = ") + shareText(n.subnormal, count),
             countOf(n.normal, n.exact) + QStringLiteral(" = ") + shareText(n.normal, count),
             countOf(n.overflow, n.exact) + QStringLiteral(" = ") + shareText(n.overflow, count), octavesText(octaves));
}

void SpectrumPlot::paintHeadline(QCPPainter& painter, const QRectF& rect)
{
    if (!m_statistics)
        return;
    const HeadlineNumbers n = headlineNumbers(*m_statistics, estimate(), m_scale == m_measuredScale);
    const auto total = static_cast<double>(m_statistics->count());
    const double octaves = headroom();
    struct Item {
        ValueClass valueClass;
        QString label;
        QString value;
        QString count;
        bool swatch;
    };
    const QString about = n.exact ? QString() : QStringLiteral("≈ ");
    const auto share = [&](double part) { return (part == 0 ? QString() : about) + shareText(part, total); };
    const Item items[] = {
        {ValueClass::Flushed, tr("flushed to 0"), share(n.flushed), countOf(n.flushed, n.exact), true},
        {ValueClass::Subnormal, tr("subnormal"), share(n.subnormal), countOf(n.subnormal, n.exact), true},
        {ValueClass::Normal, tr("normal"), share(n.normal), countOf(n.normal, n.exact), true},
        {ValueClass::Saturating, tr("overflow, inf, NaN"), share(n.overflow), countOf(n.overflow, n.exact), true},
        {ValueClass::Normal, tr("headroom"), tr("%1 octaves").arg(octavesText(octaves)), QString(), false},
    };
    const QRectF area(inner().left(), rect.top(), inner().width(), rect.height());
    const QFontMetricsF small(smallFont());
    QFont strong = font();
    strong.setBold(true);
    const QFontMetricsF big(strong);
    const double column = area.width() / 5.0;
    for (std::size_t i = 0; i < 5; ++i) {
        const Item& item = items[i];
        double x = area.left() + static_cast<double>(i) * column;
        const double width = column - 8;
        double y = area.top() + 2;
        double used = 0;
        if (item.swatch) {
            fillClass(painter, QRectF(x, y + 0.5 * small.height() - 5, 10, 10), item.valueClass, theme());
            used = 15;
        }
        painter.setFont(smallFont());
        painter.setPen(theme().textDim);
        painter.drawText(QPointF(x + used, y + small.ascent()),
                         small.elidedText(item.label, Qt::ElideRight, width - used));
        y += small.height() + 1;
        const bool alarm = item.swatch ? item.valueClass == ValueClass::Saturating && n.overflow > 0 : octaves < 0;
        painter.setFont(strong);
        painter.setPen(alarm ? (theme().dark ? theme().nonfinite : theme().overflow) : theme().text);
        painter.drawText(QPointF(x, y + big.ascent()), big.elidedText(item.value, Qt::ElideRight, width));
        x += big.horizontalAdvance(item.value) + 8;
        if (!item.count.isEmpty() &&
            x + small.horizontalAdvance(item.count) <= area.left() + static_cast<double>(i + 1) * column - 8) {
            painter.setFont(smallFont());
            painter.setPen(theme().textDim);
            painter.drawText(QPointF(x, y + big.ascent()), item.count);
        }
    }
}

void SpectrumPlot::paintHoverBin(QCPPainter& painter)
{
    if (!m_pointer || !m_statistics || !inner().contains(*m_pointer) || (m_moved && m_grip != Grip::None))
        return;
    const int exponent = static_cast<int>(std::floor(exponentAt(m_pointer->x())));
    QColor veil = theme().text;
    veil.setAlpha(28);
    painter.fillRect(QRectF(QPointF(std::round(pixelOf(exponent)), inner().top()),
                            QPointF(std::round(pixelOf(exponent + 1.0)), inner().bottom() + 1)),
                     veil);
}

} // namespace halfscope
