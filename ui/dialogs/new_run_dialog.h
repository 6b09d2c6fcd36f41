// SPDX-License-Identifier: GPL-3.0-or-later
// Every setting of a run, those that need a restart included. Judged by the settings registry while it is filled in.
#pragma once

#include <QDialog>
#include <QMap>

#include "engine/train/run_config.h"

class QDialogButtonBox;
class QFormLayout;
class QLabel;

namespace halfscope {

class NewRunDialog : public QDialog {
    Q_OBJECT
public:
    // `vocabulary` is that of the text of now; 0: not known.
    NewRunDialog(const RunConfig& current, int vocabulary, QWidget* parent = nullptr);

    const RunConfig& config() const { return m_config; } // valid once the dialog is accepted
    QString problem() const;                             // shown; empty: none

signals:
    void startRequested(const RunConfig& config);

private:
    void addSetting(QFormLayout* form, const QString& key);
    void judge();
    void reset(const RunConfig& config);
    QString fieldValue(const QString& key) const;

    int m_vocabulary;
    RunConfig m_base; // what the fields start from
    RunConfig m_config;
    QMap<QString, QWidget*> m_fields; // by key; NumberEdit or QComboBox
    QLabel* m_summary;
    QLabel* m_problem;
    QDialogButtonBox* m_buttons;
};

} // namespace halfscope
