// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/window_style.h"

namespace halfscope {

QString windowStyleSheet(const Theme& t)
{
    QString sheet = QStringLiteral(R"(
QFrame#card { background: @panel; border: 1px solid @border; border-radius: 6px; }
QDockWidget > QWidget, QScrollArea, QScrollArea > QWidget > QWidget { background: @panel; }
*[dim="true"] { color: @dim; }
QLabel#rejection { color: @error; }
QToolBar { background: @panel; border: none; border-bottom: 1px solid @border; spacing: 4px; padding: 5px 10px; }
QToolBar::separator { background: @border; width: 1px; margin: 5px 5px; }
QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 4px 8px; }
QToolButton:hover { background: @control; border-color: @border; }
QToolButton:pressed, QToolButton:checked { background: @control; border-color: @accent; }
QToolButton:focus { border-color: @accent; }
QPushButton { background: @control; border: 1px solid @border; border-radius: 4px; padding: 4px 12px; }
QPushButton:hover, QPushButton:focus { border-color: @accent; }
QPushButton:pressed { background: @border; }
QPushButton:disabled { color: @faint; }
QLineEdit { background: @plot; border: 1px solid @border; border-radius: 4px; padding: 3px 7px; }
QLineEdit:focus { border-color: @accent; }
QLineEdit:disabled { color: @faint; background: @panel; }
QComboBox { background: @control; border: 1px solid @border; border-radius: 4px; padding: 3px 8px; }
QComboBox:hover, QComboBox:focus { border-color: @accent; }
QComboBox:disabled { color: @faint; background: @panel; }
QProgressBar { background: @plot; border: none; border-radius: 3px; }
QProgressBar::chunk { background: @normal; border-radius: 3px; }
QHeaderView::section { background: @panel; color: @dim; border: none; padding: 3px 5px; }
QStatusBar { background: @panel; border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QMenuBar { background: @panel; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: @accent; }
)");
    const struct {
        const char* name;
        QColor color;
    } colors[] = {
        {"@panel", t.panel},
        {"@border", t.panelBorder},
        {"@dim", t.textDim},
        {"@error", t.error},
        {"@plot", t.plotArea},
        {"@control", t.control},
        {"@accent", t.accent},
        {"@normal", t.normal},
        {"@faint", t.palette().color(QPalette::Disabled, QPalette::Text)},
    };
    for (const auto& one : colors) {
        sheet.replace(QLatin1String(one.name), one.color.name());
    }
    return sheet;
}

} // namespace halfscope
