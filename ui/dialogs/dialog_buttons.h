// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QDialog;
class QPushButton;

namespace halfscope {

// Enter presses this button and never another; without one it presses nothing. Every button has an accessible
// name and no icon.
// To be called when all buttons are there.
void settleButtons(QDialog& dialog, QPushButton* onEnter);

} // namespace halfscope
