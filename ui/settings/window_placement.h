// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QList>
#include <QRect>

namespace halfscope {

// Where a window remembered at `wanted` goes on these screens (their available areas, the first one is the primary):
// there, if enough of it can be seen and its title reached; otherwise centred on the primary screen and no larger.
QRect placedOnScreens(const QRect& wanted, const QList<QRect>& screens);

// The available areas of the screens there are, the primary one first.
QList<QRect> screenAreas();

} // namespace halfscope
