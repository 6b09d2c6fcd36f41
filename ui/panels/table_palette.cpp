// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/table_palette.h"

#include <QAbstractItemView>

#include "ui/theme.h"

namespace halfscope {

namespace {

QColor blend(const QColor& below, const QColor& above, double share)
{
    const auto mix = [share](int a, int b) { return static_cast<int>(a + share * (b - a) + 0.5); };
    return QColor(mix(below.red(), above.red()), mix(below.green(), above.green()), mix(below.blue(), above.blue()));
}

} // namespace

void applyTablePalette(QAbstractItemView* view)
{
    const Theme& theme = currentTheme();
    QPalette palette = theme.palette();
    palette.setColor(QPalette::Base, theme.panel);
    palette.setColor(QPalette::AlternateBase, theme.panel);
    palette.setColor(QPalette::Highlight, blend(theme.panel, theme.accent, theme.dark ? 0.28 : 0.18));
    palette.setColor(QPalette::HighlightedText, theme.text);
    view->setPalette(palette);
}

} // namespace halfscope
