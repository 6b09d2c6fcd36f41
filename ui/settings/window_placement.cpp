// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/settings/window_placement.h"

#include <QGuiApplication>
#include <QScreen>

namespace halfscope {

namespace {
// What must lie on one screen for the window to be found and dragged back: a piece of its upper edge.
constexpr int kReachableWidth = 120;
constexpr int kReachableHeight = 48;
} // namespace

QRect placedOnScreens(const QRect& wanted, const QList<QRect>& screens)
{
    if (screens.isEmpty()) {
        return wanted;
    }
    const QRect title(wanted.x(), wanted.y(), wanted.width(), kReachableHeight);
    for (const QRect& screen : screens) {
        const QRect seen = screen.intersected(title);
        if (seen.width() >= kReachableWidth && seen.height() >= kReachableHeight) {
            return wanted;
        }
    }
    const QRect home = screens.first();
    QRect placed(QPoint(), wanted.size().boundedTo(home.size()));
    placed.moveCenter(home.center());
    return placed;
}

QList<QRect> screenAreas()
{
    QList<QRect> areas;
    for (const QScreen* screen : QGuiApplication::screens()) {
        const QRect area = screen->availableGeometry();
        if (screen == QGuiApplication::primaryScreen()) {
            areas.prepend(area);
        } else {
            areas.append(area);
        }
    }
    return areas;
}

} // namespace halfscope
