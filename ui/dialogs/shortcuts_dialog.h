// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

#include "ui/panels/window_actions.h"

namespace halfscope {

// The shortcut sheet: made from the actions, so it cannot be out of date.
class ShortcutsDialog : public QDialog {
    Q_OBJECT
public:
    ShortcutsDialog(const QList<WindowActions::Group>& groups, QWidget* parent = nullptr);
};

} // namespace halfscope
