// SPDX-License-Identifier: GPL-3.0-or-later
// What trains on what, at which learning rate, and the three ways to hurt it.
#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;

namespace halfscope {

class ChoiceSetting;
class ElidedLabel;
class NumberEdit;
class NumberSetting;
class SessionController;

class ExperimentPanel : public QWidget {
    Q_OBJECT
public:
    explicit ExperimentPanel(SessionController& controller, QWidget* parent = nullptr);

    void injectSpike();
    void injectBadBatch();
    void injectLearningRateJump();

signals:
    void newRunRequested();
    void openTextRequested();

private:
    void updateRun();
    void updateLive();
    void updateEpoch();

    SessionController& m_controller;
    ElidedLabel* m_model;
    ElidedLabel* m_size;
    ElidedLabel* m_task;
    QLabel* m_phase; // of fine-tuning
    ElidedLabel* m_data;
    ElidedLabel* m_examples;
    ElidedLabel* m_epoch;
    QLabel* m_seed;
    NumberSetting* m_learningRate;
    ChoiceSetting* m_schedule;
    QLabel* m_effectiveRate;
    QComboBox* m_spikeModule;
    QComboBox* m_spikeTap;
    NumberEdit* m_spikeFactor;
    NumberEdit* m_jumpFactor;
    QPushButton* m_spike;
    QPushButton* m_badBatch;
    QPushButton* m_jump;
};

} // namespace halfscope
