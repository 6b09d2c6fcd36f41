// SPDX-License-Identifier: GPL-3.0-or-later
// Every setting of a run, those that need a restart included. Judged by the settings registry while it is filled in.
#pragma once

#include <QDialog>
#include <QMap>

#include "engine/train/run_config.h"

class QComboBox;
class QDialogButtonBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace halfscope {

class DeviceField;

class NewRunDialog : public QDialog {
    Q_OBJECT
public:
    // `model` is that of the run of now, with what its data decide; nothing: not known.
    explicit NewRunDialog(const RunConfig& current, const TransformerConfig& model = {}, QWidget* parent = nullptr);

    const RunConfig& config() const { return m_config; } // valid once the dialog is accepted
    QString problem() const;                             // shown; empty: none
    void showDevice();                                   // the keyboard goes to it

signals:
    void startRequested(const RunConfig& config);

private:
    QFormLayout* taskForm();
    void addSetting(QFormLayout* form, const QString& key);
    void addField(QFormLayout* form, const QString& key, QWidget* field, QWidget* shown);
    void startFrom(int experiment);
    void chooseTask();
    void chooseData();
    void chooseDataFolder();
    QWidget* textRow();
    void updateTask();
    void explain(const QString& key, const QString& whyGrey);
    QString sizeText(const RunConfig& config) const;
    void judge();
    void reset(const RunConfig& config);
    QString fieldValue(const QString& key) const;

    RunConfig m_current; // of the run of now
    TransformerConfig m_model;
    RunConfig m_base; // what the fields start from
    RunConfig m_config;
    QComboBox* m_experiment;
    QFormLayout* m_taskForm = nullptr;
    QLabel* m_taskHelp;
    QWidget* m_dataRow = nullptr;
    QWidget* m_textRow = nullptr;
    QLineEdit* m_dataPath;
    DeviceField* m_device;
    QPushButton* m_dataFolder = nullptr; // beside the choice of a file, for images
    QMap<QString, QWidget*> m_fields;    // by key; NumberEdit or QComboBox
    QLabel* m_summary;
    QLabel* m_problem;
    QDialogButtonBox* m_buttons;
};

} // namespace halfscope
