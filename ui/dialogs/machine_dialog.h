// SPDX-License-Identifier: GPL-3.0-or-later
// What this machine can do: the processor's instructions, what GPUs compute natively, and how fast matrix products are
// here, measured beside the window.
#pragma once

#include <QDialog>
#include <memory>
#include <optional>

#include "engine/backend/machine_rates.h"
#include "ui/dialogs/background_task.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace halfscope {

class PlainTable;

class MachineDialog : public QDialog {
    Q_OBJECT
public:
    explicit MachineDialog(QWidget* parent = nullptr);
    ~MachineDialog() override;

    // How long each thing is measured, for tests.
    void setSeconds(double seconds) { m_options.seconds = seconds; }
    const std::optional<MachineRates>& rates() const { return m_rates; } // of the last measurement that was finished
    PlainTable& products() const { return *m_products; }
    QString status() const;

signals:
    void runningChanged(bool running); // the machine is wanted for itself meanwhile

protected:
    void reject() override; // ends a measurement that runs; closes the second time

private:
    QWidget* processor();
    QWidget* generations();
    QWidget* measured();
    void measure();
    void finish(const QString& problem);
    void showRates();

    RateOptions m_options;
    std::shared_ptr<MachineRates> m_result; // written by the task, read once it is over
    std::optional<MachineRates> m_rates;
    BackgroundTask m_task;
    PlainTable* m_products = nullptr;
    QLabel* m_best = nullptr;
    QLabel* m_status = nullptr;
    QProgressBar* m_progress = nullptr;
    QPushButton* m_measure = nullptr;
    QPushButton* m_cancel = nullptr;
    QPushButton* m_copy = nullptr;
};

} // namespace halfscope
