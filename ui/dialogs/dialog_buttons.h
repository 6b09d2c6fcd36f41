// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QDialog;
class QPushButton;

namespace halfscope {

// Enter presses this button and never another; without one it presses nothing. Every button gets an accessible name.
// To be called when all buttons are there.
void settleButtons(QDialog& dialog, QPushButton* onEnter);

} // namespace halfscope
