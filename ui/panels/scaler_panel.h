// SPDX-License-Identifier: GPL-3.0-or-later
// The loss scaler: its preset, the scale in force, every knob, and where it stands between two changes.
#pragma once

#include <QWidget>

class QFormLayout;
class QLabel;
class QProgressBar;
class QPushButton;
class QSlider;
class QMenu;
class QToolButton;
class QVBoxLayout;

namespace halfscope {

class ChoiceSetting;
class ElidedLabel;
class NumberSetting;
class ScaleNowSetting;
class SessionController;
class SettingEditor;

class ScalerPanel : public QWidget {
    Q_OBJECT
public:
    explicit ScalerPanel(SessionController& controller, QWidget* parent = nullptr);

    void halve();
    void doubleScale();
    void usePyTorchDefaults();
    void setCopyMenu(QMenu* menu); // of the button "Copy as"

protected:
    void changeEvent(QEvent* event) override;

private:
    void buildScaleNow(QVBoxLayout* column);
    void addRow(QFormLayout* form, const QString& name, SettingEditor* editor);
    void addPair(QFormLayout* form, const QString& name, SettingEditor* left, SettingEditor* right,
                 const QString& between);
    void updateAll();
    void updateScale();
    void updateProgress();
    void updateEnabled();
    void sliderMoved(int exponent);

    SessionController& m_controller;
    ChoiceSetting* m_preset;
    ElidedLabel* m_difference;
    QLabel* m_notice;
    QLabel* m_scale;
    QToolButton* m_halve;
    QToolButton* m_double;
    QSlider* m_slider;
    bool m_dragging = false; // the slider, and a scale has been sent
    QLabel* m_sliderLow;
    QLabel* m_sliderHigh;
    ScaleNowSetting* m_exact;
    NumberSetting* m_initial;
    NumberSetting* m_growthFactor;
    NumberSetting* m_backoffFactor;
    NumberSetting* m_growthInterval;
    NumberSetting* m_hysteresis;
    ChoiceSetting* m_hysteresisKind;
    NumberSetting* m_minScale;
    NumberSetting* m_maxScale;
    ChoiceSetting* m_atMinimum;
    QLabel* m_growthText;
    QProgressBar* m_growth;
    QLabel* m_hysteresisLeft;
    QLabel* m_skipRate;
    QLabel* m_advice;
    ChoiceSetting* m_rule;
    QPushButton* m_defaults;
    QPushButton* m_copy;
};

} // namespace halfscope
