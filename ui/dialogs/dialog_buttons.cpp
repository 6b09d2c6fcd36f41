// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/dialog_buttons.h"

#include <QDialog>
#include <QEvent>
#include <QPushButton>
#include <QScreen>

namespace halfscope {

namespace {

constexpr QSize kFrame(16, 48); // what a window's frame and title take

// A dialog that would be larger than the screen scrolls or squeezes what is in it.
class ScreenFit : public QObject {
public:
    using QObject::QObject;

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Show) {
            auto* dialog = static_cast<QDialog*>(watched);
            const QScreen* screen =
                dialog->parentWidget() != nullptr ? dialog->parentWidget()->screen() : dialog->screen();
            if (screen != nullptr) {
                dialog->resize(dialog->size().boundedTo(screen->availableGeometry().size() - kFrame));
            }
        }
        return QObject::eventFilter(watched, event);
    }
};

} // namespace

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
    dialog.installEventFilter(new ScreenFit(&dialog));
    if (onEnter != nullptr) {
        onEnter->setDefault(true);
    }
}

} // namespace halfscope
