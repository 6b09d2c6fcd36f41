// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/setting_editor.h"

#include <QVBoxLayout>

#include "engine/train/settings_registry.h"
#include "ui/models/setting_labels.h"
#include "ui/models/shown_precision.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/rejection_bubble.h"
#include "ui/session_controller.h"

namespace halfscope {

SettingEditor::SettingEditor(SessionController& controller, const QString& key, QWidget* parent)
    : QWidget(parent), m_controller(controller), m_key(key)
{
}

void SettingEditor::finish(QWidget* field)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(field);

    const QString label = settingLabel(m_key);
    field->setAccessibleName(label);
    const QString meaning = settingMeaning(m_key);
    const QString range = settingRange(m_key);
    field->setAccessibleDescription(meaning);
    if (!meaning.isEmpty()) {
        field->setToolTip(tr("%1\nAllowed: %2").arg(meaning, range));
    }
    setFocusProxy(field);

    connect(&m_controller, &SessionController::liveChanged, this, &SettingEditor::follow);
    connect(&m_controller, &SessionController::runStarted, this, &SettingEditor::runStarted);
    connect(&m_controller, &SessionController::pendingChanged, this, &SettingEditor::answered);
    connect(&m_controller, &SessionController::commandRejected, this, &SettingEditor::rejected);
    follow();
}

QString SettingEditor::rejection() const { return m_rejection; }

void SettingEditor::setReason(const QString& reason)
{
    m_rejection = reason;
    if (m_bubble == nullptr && !reason.isEmpty()) {
        m_bubble = new RejectionBubble(field());
        connect(this, &QObject::destroyed, m_bubble, &QObject::deleteLater);
        connect(m_bubble, &RejectionBubble::dismissed, this, [this] { setReason({}); });
    }
    if (m_bubble != nullptr) {
        m_bubble->say(reason);
    }
}

void SettingEditor::send(const QString& value) { m_controller.setSetting(m_key, value); }

QString SettingEditor::liveValue() const
{
    return QString::fromStdString(settingValue(m_controller.run().live.config, m_key.toStdString()));
}

void SettingEditor::request(const QString& value)
{
    setReason({});
    m_asked = typed();
    send(value);
}

void SettingEditor::runStarted()
{
    setReason({});
    follow();
}

void SettingEditor::follow()
{
    if (!m_pending) {
        showValue(liveValue());
    }
}

void SettingEditor::answered(const QString& key)
{
    // A preset answers for every knob of the scaler. A refusal is told after the answer, so it is not lost here.
    const SettingInfo* info = findSetting(m_key.toStdString());
    const bool ofScaler = m_key == QLatin1String("scale") || (info != nullptr && info->group == "scaler");
    if ((key == m_key || (ofScaler && key == QLatin1String("scaler"))) && !m_controller.isPending(key)) {
        setReason({});
    }
    if (key != m_key) {
        return;
    }
    m_pending = m_controller.isPending(m_key);
    showPending(m_pending);
    if (!m_pending) {
        showValue(liveValue());
    }
}

void SettingEditor::rejected(const QString& key, const QString& why)
{
    if (key != m_key) {
        return;
    }
    restoreValue();
    showValue(liveValue());
    setReason(refusalText(m_key, std::exchange(m_asked, {}), why));
}

NumberSetting::NumberSetting(SessionController& controller, const QString& key, QWidget* parent)
    : SettingEditor(controller, key, parent), m_edit(new NumberEdit)
{
    m_edit->setObjectName(key);
    connect(m_edit, &NumberEdit::committed, this, [this](const QString& value) { request(value); });
    finish(m_edit);
}

// A field that goes while somebody types in it loses the focus first; what was typed is then asked of nobody.
NumberSetting::~NumberSetting() { m_edit->disconnect(this); }

QWidget* NumberSetting::field() const { return m_edit; }
QString NumberSetting::typed() const { return m_edit->text().trimmed(); }
void NumberSetting::showValue(const QString& value) { m_edit->setValue(value); }
void NumberSetting::showPending(bool pending) { m_edit->setPending(pending); }

void NumberSetting::restoreValue()
{
    m_edit->setValue(liveValue());
    m_edit->revert();
}

ScaleNowSetting::ScaleNowSetting(SessionController& controller, QWidget* parent)
    : NumberSetting(controller, QStringLiteral("scale"), parent)
{
    edit()->setStepFactor(2.0);
    edit()->setToolTip(tr("The loss scale of the next step: 65536, 6.5e4 or 2^16. Up and down double and halve it."));
    showValue(liveValue()); // the base class could not ask for it yet
}

void ScaleNowSetting::send(const QString& value)
{
    bool ok = false;
    const double scale = value.toDouble(&ok);
    // What is no number at all becomes NaN: the engine refuses it and says what is allowed.
    m_controller.setScale(ok ? scale : std::numeric_limits<double>::quiet_NaN());
}

QString ScaleNowSetting::liveValue() const
{
    // A run that could not start has none.
    const double scale = m_controller.run().live.scaler.scale;
    return scale > 0 ? plainNumber(scale) : QString();
}

ChoiceSetting::ChoiceSetting(SessionController& controller, const QString& key, QWidget* parent)
    : SettingEditor(controller, key, parent), m_combo(new ChoiceCombo), m_choices(settingChoices(key))
{
    m_combo->setObjectName(key);
    m_combo->setChoices(m_choices);
    connect(m_combo, &QComboBox::activated, this, [this](int index) {
        const QString value = m_combo->itemData(index).toString();
        if (value != liveValue() || !m_note.isEmpty()) {
            request(value);
        }
    });
    finish(m_combo);
}

QWidget* ChoiceSetting::field() const { return m_combo; }
QString ChoiceSetting::typed() const
{
    const int index = m_combo->currentIndex();
    return index < 0 ? QString() : m_choices.at(index).text;
}

int ChoiceSetting::widthWithoutNote() const
{
    int widest = 0;
    for (const SettingChoice& choice : m_choices) {
        widest = std::max(widest, m_combo->widthFor(choice.text));
    }
    return widest;
}

int ChoiceSetting::widthWithNote(const QString& note) const
{
    int widest = 0;
    for (const SettingChoice& choice : m_choices) {
        widest = std::max({widest, m_combo->widthFor(tr("%1 (%2)").arg(choice.text, note)),
                           m_combo->widthFor(tr("%1 (pending)").arg(choice.text))});
    }
    return widest;
}

void ChoiceSetting::showValue(const QString& value)
{
    const int index = m_combo->findData(value);
    if (index != m_combo->currentIndex()) {
        m_combo->setCurrentIndex(index);
    }
}

void ChoiceSetting::restoreValue() { showValue(liveValue()); }

void ChoiceSetting::setNote(const QString& note)
{
    if (note != m_note) {
        m_note = note;
        decorate();
    }
}

void ChoiceSetting::showPending(bool pending)
{
    m_shownPending = pending;
    decorate();
}

void ChoiceSetting::decorate()
{
    const QString live = liveValue();
    for (int i = 0; i < m_combo->count(); ++i) {
        QString text = m_choices.at(i).text;
        if (m_shownPending && i == m_combo->currentIndex()) {
            text = tr("%1 (pending)").arg(text);
        } else if (!m_note.isEmpty() && m_choices.at(i).value == live) {
            text = tr("%1 (%2)").arg(text, m_note);
        }
        if (m_combo->itemText(i) != text) {
            m_combo->setItemText(i, text);
        }
    }
}

PrecisionSetting::PrecisionSetting(SessionController& controller, QWidget* parent)
    : ChoiceSetting(controller, QStringLiteral("precision"), parent)
{
    const auto note = [this] {
        setNote(shownPrecision(m_controller.run()).changed ? tr("changed") : QString());
        decorate(); // the preset may be another one with the same note
    };
    connect(&controller, &SessionController::liveChanged, this, note);
    connect(&controller, &SessionController::runStarted, this, note);
    showValue(liveValue()); // the base class could not ask for it yet
    note();
}

int PrecisionSetting::widthWithNote() const { return ChoiceSetting::widthWithNote(tr("changed")); }

QString PrecisionSetting::liveValue() const
{
    return QString::fromStdString(shownPrecision(m_controller.run()).preset);
}

} // namespace halfscope
