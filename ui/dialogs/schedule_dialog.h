// SPDX-License-Identifier: GPL-3.0-or-later
// The precision schedule as a small table: from which step, what, in which format. May be edited while the run goes on;
// what lies in the past stays as it was.
#pragma once

#include <QDialog>

class QLabel;
class QPushButton;
class QTableWidget;

namespace halfscope {

class SessionController;

class ScheduleDialog : public QDialog {
    Q_OBJECT
public:
    explicit ScheduleDialog(SessionController& controller, QWidget* parent = nullptr);

    QTableWidget& table() const { return *m_table; }
    QString precisionAfterLast() const; // of all modules: the last row's, or what is in force
    QString schedule() const;           // as the setting has it
    QString problem() const;            // why it cannot be applied; empty: it can
    void addRow(const QString& at, const QString& module, const QString& value);

private:
    void take(); // from the run
    void fillValues(int row, const QString& chosen);
    void edited();
    void apply();

    SessionController& m_controller;
    QTableWidget* m_table;
    QLabel* m_message;
    QPushButton* m_remove;
    QPushButton* m_apply;
    bool m_filling = false;
    bool m_edited = false;
};

} // namespace halfscope
