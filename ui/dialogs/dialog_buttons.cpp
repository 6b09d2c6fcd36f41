// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/dialog_buttons.h"

#include <QDialog>
#include <QPushButton>

namespace halfscope {

void settleButtons(QDialog& dialog, QPushButton* onEnter)
{
    for (QPushButton* button : dialog.findChildren<QPushButton*>()) {
        // Qt makes every button of a dialog the default one while it has, or its neighbour had, the keyboard.
        button->setAutoDefault(false);
        button->setDefault(false);
        button->setIcon({}); // some of Qt's standard buttons have one, ours have none
        if (button->accessibleName().isEmpty()) {
            button->setAccessibleName(button->text().remove(QLatin1Char('&')));
        }
    }
    if (onEnter != nullptr) {
        onEnter->setDefault(true);
    }
}

} // namespace halfscope
