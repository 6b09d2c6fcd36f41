// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;

namespace halfscope {

class ElidedLabel;

// The title of a dock in the window's look: name, room for the dock's own buttons, float and close. Dragging it drags
// the dock.
class DockTitle : public QWidget {
    Q_OBJECT
public:
    explicit DockTitle(QDockWidget* dock);
    void addButton(QWidget* button);       // between name and float
    void setDetail(const QString& detail); // beside the name, dim

private:
    QHBoxLayout* m_row;
    ElidedLabel* m_detail;
};

} // namespace halfscope
