// SPDX-License-Identifier: GPL-3.0-or-later
// The bits of a number in one format: sign, exponent and mantissa as cells; a click, or Space on the cell that the
// arrow keys have reached, flips one.
#pragma once

#include <QWidget>
#include <cstdint>

#include "engine/numerics/float_format.h"

namespace halfscope {

class BitCells : public QWidget {
    Q_OBJECT
public:
    explicit BitCells(FormatId format, QWidget* parent = nullptr);

    void setBits(std::uint32_t bits);
    std::uint32_t bits() const { return m_bits; }
    QRect cell(int bit) const; // bit 0 is the last of the mantissa
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void flipped(std::uint32_t bits); // the pattern with the bit flipped; what is shown stays until setBits()

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    int bitAt(const QPointF& at) const; // -1: none
    void setHovered(int bit);
    void flip(int bit);
    QString describe(int bit) const;

    const FloatFormat& m_format;
    std::uint32_t m_bits = 0;
    int m_current = 0; // the keyboard's
    int m_hovered = -1;
};

} // namespace halfscope
