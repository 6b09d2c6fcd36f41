// SPDX-License-Identifier: GPL-3.0-or-later
// The finer rules of the loss scaler, in which the frameworks differ. Folded away until somebody asks for them.
#pragma once

#include <QList>
#include <QWidget>

class QFormLayout;
class QToolButton;

namespace halfscope {

class SessionController;
class SettingEditor;

class ScalerRules : public QWidget {
    Q_OBJECT
public:
    explicit ScalerRules(SessionController& controller, QWidget* parent = nullptr);

    QFormLayout* form() const { return m_form; }
    bool isOpen() const;
    void setOpen(bool open);

private:
    void updateEnabled();

    SessionController& m_controller;
    QToolButton* m_toggle;
    QWidget* m_body;
    QFormLayout* m_form;
    QList<SettingEditor*> m_dynamic; // of use only while the scale moves
};

} // namespace halfscope
