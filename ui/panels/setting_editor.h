// SPDX-License-Identifier: GPL-3.0-or-later
// A knob of the running engine: shows what is in force, asks for a change, says "pending" until the engine answers, and
// shows the reason in place when it refuses.
#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/models/setting_choices.h"

namespace halfscope {

class ChoiceCombo;
class NumberEdit;
class RejectionBubble;
class SessionController;

class SettingEditor : public QWidget {
    Q_OBJECT
public:
    const QString& key() const { return m_key; }
    QString rejection() const; // the reason shown; empty: none
    bool isPending() const { return m_pending; }
    virtual QWidget* field() const = 0; // what a label's buddy and the tab order need

protected:
    SettingEditor(SessionController& controller, const QString& key, QWidget* parent);
    // To be called at the end of a subclass's constructor.
    void finish(QWidget* field);
    void request(const QString& value);
    virtual QString typed() const = 0; // what the field shows
    virtual void send(const QString& value);
    virtual QString liveValue() const;
    virtual void showValue(const QString& value) = 0;
    virtual void restoreValue() = 0;
    virtual void showPending(bool pending) = 0;

    SessionController& m_controller;

private:
    void runStarted();
    void follow();
    void answered(const QString& key);
    void rejected(const QString& key, const QString& why);
    void setReason(const QString& reason);

    QString m_key;
    QPointer<RejectionBubble> m_bubble; // made with the first refusal: only then the field has its panel
    QString m_rejection;
    QString m_asked; // as it was typed; empty: nobody asked here
    bool m_pending = false;
};

class NumberSetting : public SettingEditor {
    Q_OBJECT
public:
    NumberSetting(SessionController& controller, const QString& key, QWidget* parent = nullptr);
    ~NumberSetting() override;
    QWidget* field() const override;
    NumberEdit* edit() const { return m_edit; }

protected:
    QString typed() const override;
    void showValue(const QString& value) override;
    void restoreValue() override;
    void showPending(bool pending) override;

private:
    NumberEdit* m_edit;
};

// The loss scale in force; not a setting but a command of its own.
class ScaleNowSetting : public NumberSetting {
    Q_OBJECT
public:
    explicit ScaleNowSetting(SessionController& controller, QWidget* parent = nullptr);

protected:
    void send(const QString& value) override;
    QString liveValue() const override;
};

class ChoiceSetting : public SettingEditor {
    Q_OBJECT
public:
    // The choices are those of settingChoices().
    ChoiceSetting(SessionController& controller, const QString& key, QWidget* parent = nullptr);
    QWidget* field() const override;
    ChoiceCombo* combo() const { return m_combo; }
    // Says this behind the value in force, as for a preset that was changed since.
    void setNote(const QString& note);
    int widthWithoutNote() const;                 // at which no choice is cut that has no note
    int widthWithNote(const QString& note) const; // at which no choice is cut, with this note or pending

protected:
    QString typed() const override;
    void showValue(const QString& value) override;
    void restoreValue() override;
    void showPending(bool pending) override;
    void decorate(); // the value in force or the note is another

private:
    ChoiceCombo* m_combo;
    QList<SettingChoice> m_choices;
    QString m_note;
    bool m_shownPending = false;
};

// The preset of precision in force, set by the user or by the schedule, with a note when single modules differ from it.
class PrecisionSetting : public ChoiceSetting {
    Q_OBJECT
public:
    explicit PrecisionSetting(SessionController& controller, QWidget* parent = nullptr);
    int widthWithNote() const; // at which no choice is cut

protected:
    QString liveValue() const override;
};

} // namespace halfscope
