// SPDX-License-Identifier: GPL-3.0-or-later
// What the spectrum looks like.
#include <algorithm>
#include <cmath>
#include <numeric>

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

// What other formats hold: neutral, and quieter than any class.
QColor otherColor(const Theme& theme)
{
    const QColor a = theme.formatColor(FormatId::Fp32);
    const QColor b = theme.plotArea;
    const auto mix = [](int x, int y) { return (2 * x + y) / 3; };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

// One column below the plot.
struct HeadlineItem {
    QString name;
    QString shorter;
    QString value;
    QString shortValue; // empty: there is no shorter one
    QString count;
    std::optional<ValueClass> valueClass;
    QColor color; // of the swatch, when it is not a class
    bool alarm = false;
    int rank = 0; // the largest goes first where there is no room
    const QString& nameFor(bool longNames) const { return longNames || shorter.isEmpty() ? name : shorter; }
    bool hasSwatch() const { return valueClass || color.isValid(); }
};

} // namespace

void SpectrumPlot::paintShading(QCPPainter& painter)
{
    if (m_data.isEmpty())
        return;
    const QRectF area = inner();
    const double edges[] = {area.left(), std::clamp(pixelOf(m_window.flush), area.left(), area.right()),
                            std::clamp(pixelOf(m_window.subnormal), area.left(), area.right()),
                            std::clamp(pixelOf(m_window.overflow), area.left(), area.right()), area.right()};
    const ValueClass classes[] = {ValueClass::Flushed, ValueClass::Subnormal, ValueClass::Normal,
                                  ValueClass::Saturating};
    for (std::size_t i = 0; i < 4; ++i) {
        QColor color = theme().classColor(classes[i]);
        color.setAlpha(m_data.isComparison() ? 12 : theme().dark ? 30 : 24);
        painter.fillRect(
            QRectF(QPointF(std::round(edges[i]), area.top()), QPointF(std::round(edges[i + 1]), area.bottom() + 1)),
            color);
    }
}

// The part in the window's format, in the colours of its classes.
void SpectrumPlot::paintBar(QCPPainter& painter, int exponent, const QRectF& bar)
{
    // One piece per class that the bin's octave reaches into.
    double from = bar.left();
    for (const double edge : {m_window.flush, m_window.subnormal, m_window.overflow}) {
        const double at = std::round(pixelOf(edge));
        if (edge <= exponent || edge >= exponent + 1 || at <= from || at >= bar.right())
            continue;
        fillClass(painter, QRectF(QPointF(from, bar.top()), QPointF(at, bar.bottom())),
                  m_window.classAt(exponentAt(0.5 * (from + at))), theme());
        from = at;
    }
    // The class in the middle of what remains: an edge a 4096th short of the bin's end does not colour the bin.
    fillClass(painter, QRectF(QPointF(from, bar.top()), bar.bottomRight()),
              m_window.classAt(std::clamp(exponentAt(0.5 * (from + bar.right())), exponent + 0.001, exponent + 0.999)),
              theme());
}

// A bar is as high as its bin's count. What the window's format holds of it is drawn over it from the same base, so
// that both heights can be read off the logarithmic axis; heights of parts put on top of one another could not.
void SpectrumPlot::paintBars(QCPPainter& painter)
{
    if (m_data.isEmpty())
        return;
    const QRectF area = inner();
    for (int e = ExponentHistogram::kMinExponent; e <= ExponentHistogram::kMaxExponent; ++e) {
        if (m_data.countAt(e) == 0)
            continue;
        const double left = std::round(pixelOf(e));
        const double width = std::round(pixelOf(e + 1.0)) - left;
        if (left > area.right() || left + width < area.left())
            continue;
        const double right = left + std::max(1.0, width > 4 ? width - 1 : width); // a pixel apart where there is room
        const auto bar = [&](double top) {
            return QRectF(QPointF(left, std::round(std::max(top, area.top() - 2))), QPointF(right, area.bottom() + 1));
        };
        if (m_data.ownAt(e) < m_data.countAt(e))
            painter.fillRect(bar(barTop(e)), otherColor(theme()));
        if (m_data.ownAt(e) != 0)
            paintBar(painter, e, bar(ownBarTop(e)));
    }
}

void SpectrumPlot::paintMarks(QCPPainter& painter)
{
    if (m_data.isEmpty())
        return;
    const QRectF area = inner();
    const double flush = std::round(pixelOf(m_window.flush));
    const double subnormal = std::round(pixelOf(m_window.subnormal));
    const double overflow = std::round(pixelOf(m_window.overflow));
    const bool comparison = m_data.isComparison();
    const auto pale = [&](QColor color) {
        color.setAlpha(comparison ? 110 : 255);
        return color;
    };
    painter.setPen(QPen(pale(theme().subnormal), 1, Qt::DashLine));
    painter.drawLine(QPointF(subnormal, area.top()), QPointF(subnormal, area.bottom()));

    const QString name = m_data.formatName();
    const bool noInfinity = !m_data.format().hasInfinity;
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
    if (comparison) {
        label(area.left(), flush, tr("%1: 0").arg(name), QString(), theme().textDim);
        label(flush, overflow, tr("for comparison: %1").arg(name), name, theme().textDim);
        label(overflow, area.right(), tr("%1: overflow").arg(name), QString(), theme().textDim);
    } else {
        label(area.left(), flush, tr("flushed to 0"), tr("→ 0"), readable(theme().flushed));
        label(flush, subnormal, tr("%1 subnormal").arg(name), tr("subn."), readable(theme().subnormal));
        label(subnormal, overflow, tr("%1 normal range").arg(name), name, readable(theme().normal));
        // Only gradients decide whether a step is skipped.
        const QString end = noInfinity ? tr("becomes NaN") : tr("overflow");
        label(overflow, area.right(), m_data.isScaled() ? tr("%1 → skip").arg(end) : end,
              m_data.isScaled() ? tr("skip") : tr("∞"), readable(theme().overflow));
    }

    // The window's edges, with something to take hold of.
    if (isExporting() || !canDrag()) {
        painter.setPen(QPen(pale(m_data.isScaled() ? theme().accent : theme().textDim), 1));
        for (const double x : {flush, overflow})
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        return;
    }
    for (const double x : {flush, overflow}) {
        painter.fillRect(QRectF(x - 1, area.top(), 2, area.height() + 1), pale(theme().accent));
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
    if (m_data.isEmpty())
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
    const ClassCounts& classes = m_data.all().classes;
    capsule(area.left() + 4, false, tr("zero %1").arg(countText(classes[ValueClass::Zero])), theme().zero, false);
    double x = area.right() - 4;
    const std::uint64_t nan = classes[ValueClass::NaN];
    const std::uint64_t inf = classes[ValueClass::Inf];
    x -= capsule(x, true, tr("NaN %1").arg(countText(nan)), nan > 0 ? theme().nonfinite : theme().zero, nan > 0);
    capsule(x, true, tr("inf %1").arg(countText(inf)), inf > 0 ? theme().nonfinite : theme().zero, inf > 0);
}

void SpectrumPlot::paintCaption(QCPPainter& painter)
{
    if (m_data.isEmpty())
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

void SpectrumPlot::paintHeadline(QCPPainter& painter, const QRectF& rect)
{
    if (m_data.isEmpty())
        return;
    const SpectrumNumbers n = m_data.numbersAt(m_scale);
    const double octaves = m_data.headroom(m_window);
    const QString about = n.exact ? QString() : QStringLiteral("≈ ");
    const auto share = [&](double part) { return (part == 0 ? QString() : about) + shareText(part, n.total); };
    const auto count = [&](double part) {
        return (part == 0 ? QString() : about) + countText(static_cast<quint64>(std::llround(part)));
    };
    const auto column = [&](const QString& name, const QString& shorter, double part, std::optional<ValueClass> of,
                            int rank) {
        return HeadlineItem{name, shorter, share(part), {}, count(part), of, {}, false, rank};
    };
    std::vector<HeadlineItem> items{
        column(tr("zero"), {}, n.zero, ValueClass::Zero, 6), // whose number is in the plot as well
        column(tr("flushed to 0"), tr("flushed"), n.flushed, ValueClass::Flushed, 1),
        column(tr("subnormal"), tr("subn."), n.subnormal, ValueClass::Subnormal, 2),
        column(tr("normal"), {}, n.normal, ValueClass::Normal, 4),
        column(tr("overflow, inf, NaN"), tr("overfl."), n.overflow, ValueClass::Saturating, 0),
    };
    items.back().alarm = n.overflow > 0;
    if (m_data.hasOthers()) {
        items.push_back(column(tr("in %1").arg(m_data.otherName()), m_data.otherShortName(), n.other, {}, 5));
        items.back().color = otherColor(theme());
    }
    items.push_back({m_data.isComparison() ? tr("headroom if %1").arg(m_data.formatName()) : tr("headroom"),
                     tr("headroom"),
                     std::isfinite(octaves) ? tr("%1 octaves").arg(octavesText(octaves)) : octavesText(octaves),
                     octavesText(octaves),
                     {},
                     {},
                     {},
                     octaves < 0,
                     3});

    const QRectF area(inner().left(), rect.top(), inner().width(), rect.height());
    const QFontMetricsF small(smallFont());
    QFont strong = font();
    strong.setBold(true);
    const QFontMetricsF big(strong);
    constexpr double kGap = 10.0;
    // As much as there is room for: names, shares and counts; then without counts; then with short names; and at last
    // without what matters least.
    const auto widths = [&](bool longNames, bool counts) {
        std::vector<double> wanted;
        for (const HeadlineItem& item : items) {
            const double swatch = item.hasSwatch() ? 15 : 0;
            const double name = swatch + small.horizontalAdvance(item.nameFor(longNames));
            double value = big.horizontalAdvance(item.value);
            if (counts && !item.count.isEmpty())
                value += 6 + small.horizontalAdvance(item.count);
            wanted.push_back(std::max(name, value) + kGap);
        }
        return wanted;
    };
    const auto sum = [](const std::vector<double>& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); };
    bool longNames = true;
    bool counts = true;
    std::vector<double> columns = widths(true, true);
    if (sum(columns) > area.width()) {
        columns = widths(true, counts = false);
        if (sum(columns) > area.width())
            columns = widths(longNames = false, false);
    }
    if (!longNames && sum(columns) > area.width()) {
        for (HeadlineItem& item : items) {
            if (!item.shortValue.isEmpty())
                item.value = item.shortValue;
        }
        columns = widths(false, false);
    }
    while (!longNames && items.size() > 1 && sum(columns) > area.width()) {
        items.erase(std::ranges::max_element(items, {}, &HeadlineItem::rank));
        columns = widths(false, false);
    }
    const double rest = (area.width() - sum(columns)) / static_cast<double>(columns.size());
    double left = area.left();
    for (std::size_t i = 0; i < items.size(); ++i) {
        const HeadlineItem& item = items[i];
        const double width =
            rest >= 0 ? columns[i] - kGap + rest : area.width() / static_cast<double>(items.size()) - 4;
        double x = left;
        double y = area.top() + 2;
        if (item.hasSwatch()) {
            const QRectF swatch(x, y + 0.5 * small.height() - 5, 10, 10);
            if (item.valueClass)
                fillClass(painter, swatch, *item.valueClass, theme());
            else
                painter.fillRect(swatch, item.color);
            x += 15;
        }
        painter.setFont(smallFont());
        painter.setPen(theme().textDim);
        painter.drawText(QPointF(x, y + small.ascent()),
                         small.elidedText(item.nameFor(longNames), Qt::ElideRight, left + width - x));
        y += small.height() + 1;
        painter.setFont(strong);
        painter.setPen(item.alarm ? (theme().dark ? theme().nonfinite : theme().overflow) : theme().text);
        painter.drawText(QPointF(left, y + big.ascent()), big.elidedText(item.value, Qt::ElideRight, width));
        if (counts && !item.count.isEmpty()) {
            painter.setFont(smallFont());
            painter.setPen(theme().textDim);
            painter.drawText(QPointF(left + big.horizontalAdvance(item.value) + 6, y + big.ascent()), item.count);
        }
        left += rest >= 0 ? columns[i] + rest : area.width() / static_cast<double>(items.size());
    }
}

void SpectrumPlot::paintHoverBin(QCPPainter& painter)
{
    if (!m_pointer || m_data.isEmpty() || !inner().contains(*m_pointer) || (m_moved && m_grip != Grip::None))
        return;
    const int exponent = static_cast<int>(std::floor(exponentAt(m_pointer->x())));
    QColor veil = theme().text;
    veil.setAlpha(28);
    painter.fillRect(QRectF(QPointF(std::round(pixelOf(exponent)), inner().top()),
                            QPointF(std::round(pixelOf(exponent + 1.0)), inner().bottom() + 1)),
                     veil);
}

} // namespace halfscope
