// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/flow_layout.h"

#include <QStyle>
#include <QWidget>

namespace halfscope {

FlowLayout::~FlowLayout() { qDeleteAll(m_items); }

QLayoutItem* FlowLayout::takeAt(int index)
{
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

QSize FlowLayout::minimumSize() const
{
    QSize size;
    for (const QLayoutItem* item : m_items) {
        size = size.expandedTo(item->minimumSize());
    }
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

void FlowLayout::setGeometry(const QRect& rect)
{
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

int FlowLayout::arrange(const QRect& rect, bool move) const
{
    const QRect room = rect.marginsRemoved(contentsMargins());
    const bool mirrored = parentWidget() != nullptr && parentWidget()->layoutDirection() == Qt::RightToLeft;
    int x = room.left();
    int y = room.top();
    int line = 0; // its height
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty()) {
            continue;
        }
        const QSize size(std::min(item->sizeHint().width(), std::max(room.width(), item->minimumSize().width())),
                         item->sizeHint().height());
        if (x > room.left() && x + size.width() > room.right() + 1) {
            x = room.left();
            y += line + spacing();
            line = 0;
        }
        if (move) {
            const QRect at(QPoint(x, y), size);
            item->setGeometry(mirrored ? QStyle::visualRect(Qt::RightToLeft, room, at) : at);
        }
        x += size.width() + spacing();
        line = std::max(line, size.height());
    }
    return y + line - rect.top() + contentsMargins().bottom();
}

} // namespace halfscope
