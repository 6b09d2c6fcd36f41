// SPDX-License-Identifier: GPL-3.0-or-later
// A list of choices in little room: the text ends in "…" where it does not fit, and the tool tip of what is chosen says
// it in full.
#pragma once

#include <QComboBox>

#include "ui/models/setting_choices.h"

namespace halfscope {

class ChoiceCombo : public QComboBox {
    Q_OBJECT
public:
    explicit ChoiceCombo(QWidget* parent = nullptr);

    void setChoices(const QList<SettingChoice>& choices); // what is not available can be read and not chosen
    int widthFor(const QString& text) const;              // that shows this text whole

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
};

} // namespace halfscope
