// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

class QAbstractItemView;

namespace halfscope {

// The panel's colour behind the rows and a selection through which coloured cells can still be read.
void applyTablePalette(QAbstractItemView* view);

} // namespace halfscope
