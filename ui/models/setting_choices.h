// SPDX-License-Identifier: GPL-3.0-or-later
// Settings that are a choice, in the words of the window: the same ones in panels, dialogs and events.
#pragma once

#include <QList>
#include <QString>

namespace halfscope {

struct SettingChoice {
    QString value; // as the engine takes it: "skip"
    QString text;  // "keep skipping"
    QString toolTip;
    bool available = true; // false: shown, with the reason as tool tip, and not to be chosen
};

QList<SettingChoice> settingChoices(const QString& key); // empty: the setting is no choice
// The words for a value; the value itself where there are none.
QString choiceText(const QString& key, const QString& value);

} // namespace halfscope
