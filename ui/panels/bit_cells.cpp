// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bit_cells.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/number_text.h"
#include "ui/plots/spectrum_data.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr int kGap = 5;        // between sign, exponent and mantissa
constexpr int kMostWidth = 18; // of a cell
constexpr int kLeastWidth = 8;

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto mix = [share](int x, int y) { return static_cast<int>(x + share * (y - x) + 0.5); };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

} // namespace

BitCells::BitCells(FormatId format, QWidget* parent) : QWidget(parent), m_format(floatFormat(format))
{
    m_current = m_format.encodingBits - 1;
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setBits(0);
}

void BitCells::setBits(std::uint32_t bits)
{
    m_bits = bits;
    QString text;
    for (int bit = m_format.encodingBits - 1; bit >= 0; --bit) {
        text += (bits >> bit & 1U) != 0 ? QLatin1Char('1') : QLatin1Char('0');
        if (bit == m_format.encodingBits - 1 || bit == m_format.mantissaBits)
            text += QLatin1Char(' ');
    }
    setAccessibleName(tr("Bits in %1: %2").arg(formatText(m_format.id), text));
    setAccessibleDescription(tr("Arrow keys choose a bit, Space flips it."));
    update();
}

QSize BitCells::sizeHint() const
{
    return {m_format.encodingBits * kMostWidth + 2 * kGap + 4, fontMetrics().height() + 8};
}

QSize BitCells::minimumSizeHint() const
{
    return {m_format.encodingBits * kLeastWidth + 2 * kGap + 4, fontMetrics().height() + 8};
}

QRect BitCells::cell(int bit) const
{
    const int count = m_format.encodingBits;
    const int size = std::clamp((width() - 2 * kGap - 4) / count, kLeastWidth, kMostWidth);
    const int fromLeft = count - 1 - bit;
    const int gaps = bit == count - 1 ? 0 : bit >= m_format.mantissaBits ? 1 : 2;
    return {2 + fromLeft * size + gaps * kGap, 2, size, height() - 4};
}

int BitCells::bitAt(const QPointF& at) const
{
    for (int bit = 0; bit < m_format.encodingBits; ++bit) {
        if (cell(bit).contains(at.toPoint()))
            return bit;
    }
    return -1;
}

void BitCells::flip(int bit) { emit flipped(m_bits ^ (1U << bit)); }

QString BitCells::describe(int bit) const
{
    const int exponent = bit - m_format.mantissaBits;
    if (bit == m_format.encodingBits - 1)
        return tr("Sign. Click to flip it.");
    if (exponent >= 0)
        return tr("Exponent, worth %1; the field is read minus %2. Click to flip it.")
            .arg(QString::number(1 << exponent), QString::number(m_format.exponentBias));
    return tr("Mantissa, worth %1 of the octave. Click to flip it.").arg(powerOfTwo(exponent));
}

void BitCells::paintEvent(QPaintEvent*)
{
    const Theme& theme = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QFont digits = font();
    digits.setPointSizeF(std::max(7.0, digits.pointSizeF() * 0.9));
    if (cell(0).width() < QFontMetrics(digits).horizontalAdvance(QLatin1Char('0')) + 3)
        digits.setPointSizeF(std::max(6.0, digits.pointSizeF() * 0.8));
    painter.setFont(digits);
    for (int bit = 0; bit < m_format.encodingBits; ++bit) {
        const bool sign = bit == m_format.encodingBits - 1;
        const QColor color = sign ? theme.overflow : bit >= m_format.mantissaBits ? theme.accent : theme.normal;
        const bool set = (m_bits >> bit & 1U) != 0;
        const QRectF box = QRectF(cell(bit)).adjusted(1, 0.5, -1, -0.5);
        const double fill = set ? 0.85 : bit == m_hovered ? 0.34 : 0.14;
        painter.setPen(QPen(bit == m_hovered ? theme.text : mixed(theme.panel, color, set ? 1.0 : 0.5), 1));
        painter.setBrush(mixed(theme.panel, color, fill));
        painter.drawRoundedRect(box, 2.5, 2.5);
        painter.setPen(set ? (theme.dark ? QColor(0x10, 0x12, 0x16) : QColor(Qt::white)) : theme.text);
        painter.drawText(box, Qt::AlignCenter, set ? QStringLiteral("1") : QStringLiteral("0"));
    }
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.text, 2));
        painter.drawRoundedRect(QRectF(cell(m_current)).adjusted(0, -0.5, 0, 0.5), 3.5, 3.5);
    }
}

void BitCells::mousePressEvent(QMouseEvent* event)
{
    const int bit = bitAt(event->position());
    if (event->button() != Qt::LeftButton || bit < 0)
        return;
    m_current = bit;
    flip(bit);
}

void BitCells::setHovered(int bit)
{
    if (bit == m_hovered)
        return;
    m_hovered = bit;
    bit >= 0 ? setCursor(Qt::PointingHandCursor) : unsetCursor();
    update();
}

void BitCells::mouseMoveEvent(QMouseEvent* event) { setHovered(bitAt(event->position())); }
void BitCells::leaveEvent(QEvent*) { setHovered(-1); }

void BitCells::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void BitCells::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
        m_current = std::min(m_current + 1, m_format.encodingBits - 1);
        break;
    case Qt::Key_Right:
        m_current = std::max(m_current - 1, 0);
        break;
    case Qt::Key_Home:
        m_current = m_format.encodingBits - 1;
        break;
    case Qt::Key_End:
        m_current = 0;
        break;
    case Qt::Key_Space:
    case Qt::Key_Return:
    case Qt::Key_Enter:
        flip(m_current);
        break;
    default:
        QWidget::keyPressEvent(event);
        return;
    }
    update();
}

bool BitCells::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int bit = bitAt(help->pos());
        if (bit >= 0)
            QToolTip::showText(help->globalPos(), describe(bit), this, cell(bit));
        else
            QToolTip::hideText();
        return true;
    }
    if (event->type() == QEvent::FocusOut)
        update();
    return QWidget::event(event);
}

} // namespace halfscope
