// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/confusion_matrix.h"

#include <QFocusEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/number_text.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr double kGap = 1.0; // between cells
constexpr int kPad = 4;
constexpr int kWidestLabel = 96;

// Evenly from next to nothing to all; small shares stay visible, because they are what one looks for.
QColor shade(double share)
{
    const auto index = static_cast<std::size_t>(std::lround(std::sqrt(std::clamp(share, 0.0, 1.0)) * 235.0));
    return QColor(currentTheme().density()[index]);
}

// Whichever of black and white stands out (WCAG's relative luminance).
QColor inkOn(const QColor& ground)
{
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const double luminance =
        0.2126 * linear(ground.redF()) + 0.7152 * linear(ground.greenF()) + 0.0722 * linear(ground.blueF());
    return luminance > 0.179 ? Qt::black : Qt::white;
}

QString csvField(const QString& text)
{
    if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n')))
        return text;
    return QLatin1Char('"') + QString(text).replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
}

} // namespace

ConfusionMatrix::ConfusionMatrix(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Confusion matrix"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void ConfusionMatrix::setCounts(const QStringList& classes, const std::vector<std::int64_t>& counts, const QString& why)
{
    const bool otherClasses = classes != m_classes;
    m_classes = classes;
    m_counts = counts;
    m_why = why;
    setAccessibleDescription(m_counts.empty() ? why : tr("Arrow keys move from cell to cell."));
    setCell(otherClasses || m_counts.empty() ? std::nullopt : m_current);
    update();
}

std::int64_t ConfusionMatrix::count(int truth, int predicted) const
{
    return m_counts[static_cast<std::size_t>(truth) * static_cast<std::size_t>(classes()) +
                    static_cast<std::size_t>(predicted)];
}

std::int64_t ConfusionMatrix::rowSum(int truth) const
{
    const auto begin = m_counts.begin() + static_cast<std::ptrdiff_t>(truth) * classes();
    return std::accumulate(begin, begin + classes(), std::int64_t{0});
}

QString ConfusionMatrix::csv() const
{
    QString text = csvField(tr("truth \\ predicted"));
    for (const QString& name : m_classes)
        text += QLatin1Char(',') + csvField(name);
    text += QLatin1Char('\n');
    for (int truth = 0; truth < classes() && !m_counts.empty(); ++truth) {
        text += csvField(m_classes.at(truth));
        for (int predicted = 0; predicted < classes(); ++predicted)
            text += QLatin1Char(',') + QString::number(count(truth, predicted));
        text += QLatin1Char('\n');
    }
    return text;
}

QString ConfusionMatrix::currentWords() const
{
    if (!m_current || m_counts.empty())
        return {};
    const std::int64_t n = count(m_current->truth, m_current->predicted);
    const std::int64_t of = rowSum(m_current->truth);
    const QString& truth = m_classes.at(m_current->truth);
    const QString share = of > 0 ? shareText(static_cast<double>(n), static_cast<double>(of)) : QStringLiteral("–");
    const QString counted =
        tr("%1 of %2 (%3)").arg(countText(static_cast<quint64>(n)), countText(static_cast<quint64>(of)), share);
    return m_current->truth == m_current->predicted
               ? tr("%1 recognised: %2").arg(truth, counted)
               : tr("%1 taken for %2: %3").arg(truth, m_classes.at(m_current->predicted), counted);
}

int ConfusionMatrix::labelWidth() const
{
    int widest = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    for (const QString& name : m_classes)
        widest = std::max(widest, fontMetrics().horizontalAdvance(name));
    return std::min({widest + 2, kWidestLabel, width() / 4});
}

// Names stand left of the rows and, turned, above the columns; the axes' titles beyond them.
QRectF ConfusionMatrix::grid() const
{
    const int line = fontMetrics().height();
    const double left = labelWidth() + line + 3 * kPad;
    const double top = labelWidth() + line + 3 * kPad;
    const double side = std::max(1.0, std::min(width() - left - kPad, height() - top - kPad));
    return {left, top, side, side};
}

QRectF ConfusionMatrix::cellRect(int truth, int predicted) const
{
    const QRectF all = grid();
    const double side = all.width() / std::max(1, classes());
    return QRectF(all.left() + predicted * side, all.top() + truth * side, side, side)
        .adjusted(0, 0, -(side > 6 ? kGap : 0.0), -(side > 6 ? kGap : 0.0));
}

void ConfusionMatrix::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = currentTheme();
    if (m_counts.empty()) {
        painter.setPen(theme.textDim);
        painter.drawText(rect().adjusted(12, 0, -12, 0), Qt::AlignCenter | Qt::TextWordWrap, m_why);
    } else {
        paintLabels(painter);
        paintCells(painter);
    }
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void ConfusionMatrix::paintLabels(QPainter& painter) const
{
    const QRectF all = grid();
    const double side = all.width() / classes();
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    const int room = labelWidth();
    // Of many classes, as many names as there are lines.
    const int every = std::max(1, static_cast<int>(std::ceil(line * 0.95 / side)));
    painter.setPen(currentTheme().textDim);
    for (int i = 0; i < classes(); i += every) {
        const bool current = m_current && (m_current->truth == i || m_current->predicted == i);
        const QString name = metrics.elidedText(m_classes.at(i), Qt::ElideRight, room);
        const auto pen = [&](bool strong) { painter.setPen(strong ? currentTheme().text : currentTheme().textDim); };
        pen(current && m_current->truth == i);
        const double y = all.top() + i * side;
        painter.drawText(QRectF(all.left() - kPad - room, y + side / 2 - line / 2.0, room, line),
                         Qt::AlignRight | Qt::AlignVCenter, name);
        pen(current && m_current->predicted == i);
        painter.save();
        painter.translate(all.left() + i * side + side / 2, all.top() - kPad);
        painter.rotate(-90);
        painter.drawText(QRectF(0, -line / 2.0, room, line), Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.restore();
    }
    painter.setPen(currentTheme().text);
    painter.drawText(QRectF(all.left(), all.top() - 2 * kPad - room - line, all.width(), line), Qt::AlignCenter,
                     tr("predicted"));
    painter.save();
    painter.translate(all.left() - 2 * kPad - room - line, all.center().y());
    painter.rotate(-90);
    painter.drawText(QRectF(-all.height() / 2, 0, all.height(), line), Qt::AlignCenter, tr("truth"));
    painter.restore();
}

void ConfusionMatrix::paintCells(QPainter& painter) const
{
    const QFontMetrics metrics = fontMetrics();
    QFont small = font();
    small.setPointSizeF(font().pointSizeF() * 0.82);
    for (int truth = 0; truth < classes(); ++truth) {
        const auto of = static_cast<double>(rowSum(truth));
        for (int predicted = 0; predicted < classes(); ++predicted) {
            const QRectF cell = cellRect(truth, predicted);
            const auto n = static_cast<double>(count(truth, predicted));
            const double share = of > 0 ? n / of : 0.0;
            const QColor ground = n > 0 ? shade(share) : currentTheme().plotArea;
            painter.fillRect(cell, ground);
            const QString number = countText(static_cast<quint64>(n));
            if (n > 0 && metrics.horizontalAdvance(number) + 2 < cell.width() && metrics.height() < cell.height()) {
                painter.setPen(inkOn(ground));
                // The share under the number where there is room for both.
                const QString per = shareText(n, of);
                const bool both = cell.height() > 2 * metrics.height() &&
                                  QFontMetrics(small).horizontalAdvance(per) + 2 < cell.width();
                painter.setFont(font());
                painter.drawText(both ? cell.adjusted(0, 0, 0, -metrics.height() * 0.85) : cell, Qt::AlignCenter,
                                 number);
                if (both) {
                    painter.setFont(small);
                    painter.drawText(cell.adjusted(0, metrics.height() * 0.85, 0, 0), Qt::AlignCenter, per);
                }
            }
        }
    }
    painter.setFont(font());
    painter.setBrush(Qt::NoBrush);
    if (m_current) {
        painter.setPen(QPen(currentTheme().accent, 2));
        painter.drawRect(cellRect(m_current->truth, m_current->predicted));
    }
}

void ConfusionMatrix::setCurrent(int truth, int predicted)
{
    if (!m_counts.empty() && truth >= 0 && predicted >= 0 && truth < classes() && predicted < classes())
        setCell(Cell{truth, predicted});
}

void ConfusionMatrix::setCell(std::optional<Cell> cell)
{
    m_current = cell;
    const QString words = currentWords();
    setToolTip(words);
    update();
    if (words != m_said) {
        m_said = words;
        if (!words.isEmpty())
            setAccessibleDescription(words);
        emit currentChanged(words);
    }
}

void ConfusionMatrix::mouseMoveEvent(QMouseEvent* event)
{
    const QRectF all = grid();
    if (m_counts.empty() || !all.contains(event->position())) {
        setCell(std::nullopt);
        return;
    }
    const double side = all.width() / classes();
    setCurrent(std::min(classes() - 1, static_cast<int>((event->position().y() - all.top()) / side)),
               std::min(classes() - 1, static_cast<int>((event->position().x() - all.left()) / side)));
}

void ConfusionMatrix::leaveEvent(QEvent*)
{
    if (!hasFocus())
        setCell(std::nullopt);
}

void ConfusionMatrix::keyPressEvent(QKeyEvent* event)
{
    const Cell at = m_current.value_or(Cell{-1, -1});
    const auto move = [&](int down, int across) {
        if (!m_current)
            setCurrent(0, 0);
        else
            setCurrent(std::clamp(at.truth + down, 0, classes() - 1),
                       std::clamp(at.predicted + across, 0, classes() - 1));
    };
    switch (event->key()) {
    case Qt::Key_Up:
        return move(-1, 0);
    case Qt::Key_Down:
        return move(1, 0);
    case Qt::Key_Left:
        return move(0, -1);
    case Qt::Key_Right:
        return move(0, 1);
    default:
        QWidget::keyPressEvent(event);
    }
}

void ConfusionMatrix::focusInEvent(QFocusEvent* event)
{
    if (!m_current && event->reason() != Qt::MouseFocusReason)
        setCurrent(0, 0);
    QWidget::focusInEvent(event);
}

void ConfusionMatrix::focusOutEvent(QFocusEvent* event)
{
    setCell(std::nullopt);
    QWidget::focusOutEvent(event);
}

} // namespace halfscope
