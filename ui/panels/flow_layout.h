// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets side by side, in as many lines as the width takes.
#pragma once

#include <QLayout>
#include <QList>

namespace halfscope {

class FlowLayout : public QLayout {
public:
    explicit FlowLayout(QWidget* parent = nullptr) : QLayout(parent) {}
    ~FlowLayout() override;

    void addItem(QLayoutItem* item) override { m_items << item; }
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override;
    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
    QSize sizeHint() const override { return minimumSize(); }
    QSize minimumSize() const override; // one widget a line
    void setGeometry(const QRect& rect) override;

private:
    int arrange(const QRect& rect, bool move) const; // the height it takes

    QList<QLayoutItem*> m_items;
};

} // namespace halfscope
