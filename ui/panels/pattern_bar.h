// SPDX-License-Identifier: GPL-3.0-or-later
// Selects layers by pattern or kind: "h*.mlp.*", "norms", "sensitive". Says how many are selected.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QMenu;

namespace halfscope {

class SessionController;

class PatternBar : public QWidget {
    Q_OBJECT
public:
    explicit PatternBar(SessionController& controller, QWidget* parent = nullptr);

    QLineEdit* field() const { return m_field; }
    QMenu* groupsMenu() const { return m_groups; } // selects a kind of layers
    void select(const QString& pattern);

signals:
    void finished(); // Return: go on in the table

private:
    void follow();
    void say(const QString& text, bool problem);

    SessionController& m_controller;
    QLineEdit* m_field;
    QLabel* m_count;
    QMenu* m_groups;
    bool m_selecting = false;
};

} // namespace halfscope
