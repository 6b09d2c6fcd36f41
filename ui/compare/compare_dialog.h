// SPDX-License-Identifier: GPL-3.0-or-later
// The window in which formats are compared: what to compare, how far it is, the table and the curves.
#pragma once

#include <QDialog>
#include <QElapsedTimer>

#include "ui/compare/compare_worker.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace halfscope {

class ComparePlot;
class CompareTable;

class CompareDialog : public QDialog {
    Q_OBJECT
public:
    // `base`: the run whose task is compared. `stateFile` keeps the comparison from one start to the next.
    CompareDialog(const RunConfig& base, const QString& task, const QString& stateFile, const QString& folder,
                  QWidget* parent = nullptr);
    ~CompareDialog() override;

    // Of the run in the window, when another one began.
    void setBase(const RunConfig& base, const QString& task);
    ComparisonPlan plan() const; // as chosen
    const CompareWorker& worker() const { return m_worker; }
    ComparePlot& plot() const { return *m_plot; }
    CompareTable& table() const { return *m_table; }
    QString status() const;

signals:
    void runningChanged(bool running); // the machine is wanted for itself meanwhile
    void exported(const QString& folder);
    void plotSaveRequested();

protected:
    void reject() override; // ends a comparison that runs; closes the second time

private:
    void buildChoices();
    void buildResults();
    void startNew();
    void goOn();
    void run(Comparison comparison);
    void finish(const QString& problem);
    void updateProgress();
    void updateCurves();
    void updateResults();
    void updateButtons();
    void judge();
    void chooseFolder();
    void exportTo(const QString& folder);

    RunConfig m_base;
    QString m_task;
    QString m_folder;
    CompareWorker m_worker;
    std::size_t m_doneShown = 0;
    QElapsedTimer m_sinceCurves; // were drawn; long ones take their time
    qint64 m_curvesMs = 0;       // that it took

    QList<QCheckBox*> m_formats; // property "key"
    QSpinBox* m_seeds;
    QSpinBox* m_steps;
    QLabel* m_about;
    QPushButton* m_start;
    QPushButton* m_goOn;
    QPushButton* m_cancel;
    QProgressBar* m_progress;
    QLabel* m_status;
    CompareTable* m_table;
    QComboBox* m_quantity;
    ComparePlot* m_plot;
    QLabel* m_notes;
    QPushButton* m_copy;
    QPushButton* m_savePlot;
    QPushButton* m_export;
    QPushButton* m_close;
};

} // namespace halfscope
