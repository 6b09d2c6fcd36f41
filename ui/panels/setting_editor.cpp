// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/setting_editor.h"

#include <QVBoxLayout>

#include "engine/train/settings_registry.h"
#include "ui/models/setting_labels.h"
#include "ui/panels/number_edit.h"
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
    column->setSpacing(2);
    column->addWidget(field);
    auto* reason = new QLabel;
    column->addWidget(reason);
    showReasonIn(reason);

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
    connect(&m_controller, &SessionController::runStarted, this, &SettingEditor::follow);
    connect(&m_controller, &SessionController::pendingChanged, this, &SettingEditor::answered);
    connect(&m_controller, &SessionController::commandRejected, this, &SettingEditor::rejected);
    follow();
}

QString SettingEditor::rejection() const { return m_rejection; }

void SettingEditor::showReasonIn(QLabel* label)
{
    if (m_reason != label) {
        delete m_reason;
    }
    m_reason = label;
    m_reason->setObjectName(QStringLiteral("rejection"));
    m_reason->setWordWrap(true);
    m_reason->setTextFormat(Qt::PlainText);
    m_reason->setVisible(false);
}

void SettingEditor::setReason(const QString& reason)
{
    // A shared label may meanwhile speak for the other editor.
    if (!reason.isEmpty() || m_reason->text() == m_rejection) {
        m_reason->setText(reason);
        m_reason->setVisible(!reason.isEmpty());
    }
    m_rejection = reason;
}

void SettingEditor::send(const QString& value) { m_controller.setSetting(m_key, value); }

QString SettingEditor::liveValue() const
{
    return QString::fromStdString(settingValue(m_controller.run().live.config, m_key.toStdString()));
}

void SettingEditor::request(const QString& value)
{
    setReason({});
    send(value);
}

void SettingEditor::follow()
{
    if (!m_pending) {
        showValue(liveValue());
    }
}

void SettingEditor::answered(const QString& key)
{
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
    setReason(why);
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

QString ScaleNowSetting::liveValue() const { return plainNumber(m_controller.run().live.scaler.scale); }

ChoiceSetting::ChoiceSetting(SessionController& controller, const QString& key, const QList<Option>& options,
                             QWidget* parent)
    : SettingEditor(controller, key, parent), m_combo(new QComboBox), m_options(options)
{
    m_combo->setObjectName(key);
    m_combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_combo->setMinimumContentsLength(6);
    for (const Option& option : options) {
        m_combo->addItem(option.text, option.value);
        m_combo->setItemData(m_combo->count() - 1, option.toolTip, Qt::ToolTipRole);
    }
    connect(m_combo, &QComboBox::activated, this, [this](int index) {
        const QString value = m_combo->itemData(index).toString();
        if (value != liveValue() || !m_note.isEmpty()) {
            request(value);
        }
    });
    finish(m_combo);
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
        QString text = m_options.at(i).text;
        if (m_shownPending && i == m_combo->currentIndex()) {
            text = tr("%1 (pending)").arg(text);
        } else if (!m_note.isEmpty() && m_options.at(i).value == live) {
            text = tr("%1 (%2)").arg(text, m_note);
        }
        if (m_combo->itemText(i) != text) {
            m_combo->setItemText(i, text);
        }
    }
}

} // namespace halfscope
