// SPDX-License-Identifier: GPL-3.0-or-later
// The update view: sizes of the updates against what moves a weight, and the lost share of each module. Stays open
// beside the window.
#pragma once

#include <QDialog>
#include <QElapsedTimer>

class QCheckBox;
class QLabel;

namespace halfscope {

class PlainTable;
class SessionController;
class UpdatePlot;

class UpdatesDialog : public QDialog {
    Q_OBJECT
public:
    explicit UpdatesDialog(SessionController& controller, QWidget* parent = nullptr);

    UpdatePlot& plot() const { return *m_plot; }
    PlainTable& table() const { return *m_table; }

signals:
    void plotSaveRequested();

private:
    void refresh();
    void fillTable();

    SessionController& m_controller;
    QCheckBox* m_measure;
    QLabel* m_headline;
    UpdatePlot* m_plot;
    PlainTable* m_table;
    QElapsedTimer m_filled;
    qint64 m_filledStep = -1;
};

} // namespace halfscope
