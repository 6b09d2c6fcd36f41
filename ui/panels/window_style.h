// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "ui/theme.h"

namespace halfscope {

// What the window adds to the theme: cards, dim captions, fields and buttons of one height.
QString windowStyleSheet(const Theme& theme);

} // namespace halfscope
