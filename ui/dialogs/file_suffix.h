// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QFileDialog;

namespace halfscope {

// A name without a suffix gets that of the chosen filter; choosing another filter changes the suffix of the name.
void followChosenSuffix(QFileDialog& chooser);

} // namespace halfscope
