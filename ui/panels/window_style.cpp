// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/window_style.h"

namespace halfscope {

namespace {

// Coloured cells must still be read through a selection.
QColor blend(const QColor& below, const QColor& above, double share)
{
    const auto mix = [share](int a, int b) { return static_cast<int>(a + share * (b - a) + 0.5); };
    return QColor(mix(below.red(), above.red()), mix(below.green(), above.green()), mix(below.blue(), above.blue()));
}

} // namespace

QString windowStyleSheet(const Theme& t)
{
    QString sheet = QStringLiteral(R"(
QFrame#card { background: @panel; border: 1px solid @border; border-radius: 6px; }
QFrame#card[focused="true"] { border-color: @accent; }
QDialog { background: @panel; }
QDockWidget > QWidget, QScrollArea, QScrollArea > QWidget > QWidget { background: @panel; }
QScrollArea#plot-scroll, QScrollArea#plot-scroll > QWidget > QWidget#plots { background: @window; }
*[dim="true"] { color: @dim; }
QLabel#scale-now { color: @accent; }
QLabel#scale-now[pending="true"], QLabel#scale-now:disabled { color: @dim; }
QLabel#rejection { color: @error; }
QLabel#rejection-bubble { color: @error; background: @panel; border: 1px solid @error; border-radius: 4px;
                          padding: 4px 7px; }
QToolBar { background: @panel; border: none; border-bottom: 1px solid @border; }
QToolBar::separator { background: @border; width: 1px; margin: 5px 5px; }
QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 4px 8px; }
QToolButton:hover { background: @control; border-color: @border; }
QToolButton:pressed { background: @control; border-color: @border; }
QToolButton:checked { background: @select; border-color: @accent; }
QToolBarExtension { padding: 0; } /* an arrow in a narrow button */
QToolButton[chip="true"] { padding: 3px 9px; border: 1px dashed @border; color: @faint; background: transparent; }
QToolButton[chip="true"]:checked { border: 1px solid @accent; color: @text; background: @select; }
QToolButton:focus { border-color: @accent; }
QToolButton:checked:focus { border: 2px solid @accent; padding: 3px 7px; }
QToolButton[chip="true"]:focus { border: 2px solid @accent; padding: 2px 8px; }
QToolButton[fold="true"], QToolButton[fold="true"]:checked { padding: 3px 6px 3px 0; background: transparent;
                                                             border-color: transparent; }
QToolButton[fold="true"]:hover { color: @accent; }
QToolButton[fold="true"]:focus { border: 1px solid @accent; }
QToolButton[floating="true"] { background: @control; border: 1px solid @accent; padding: 2px 9px; }
QToolButton:disabled { color: @faint; }
QFileDialog QToolButton { padding: 2px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton { background: @control; border: 1px solid @border; border-radius: 4px; padding: 4px 12px; }
QPushButton::menu-indicator { subcontrol-origin: padding; subcontrol-position: center right; right: 7px; }
QPushButton:default { background: @select; border-color: @accent; }
QPushButton:hover, QPushButton:focus { border-color: @accent; }
QPushButton:pressed { background: @border; }
QPushButton#to-newest { background: @select; border: 1px solid @accent; color: @text; padding: 1px 10px; }
QPushButton#to-newest:hover, QPushButton#to-newest:focus { background: @accent; color: @onaccent; }
QPushButton:checked { background: @select; border-color: @accent; }
QPushButton:disabled { color: @faint; background: @panel; }
QLineEdit { background: @plot; border: 1px solid @border; border-radius: 4px; padding: 2px 7px;
            selection-background-color: @accent; selection-color: @onaccent; }
QLineEdit:focus { border-color: @accent; }
QLineEdit:disabled { color: @faint; background: @panel; }
QProgressBar { background: @plot; border: none; border-radius: 3px; }
QProgressBar::chunk { background: @normal; border-radius: 3px; }
QTableView { background: @panel; color: @text; border: none; selection-background-color: @select;
             selection-color: @text; }
QTableView:focus { border: 1px solid @accent; }
QTableView[frozen="true"] { border-right: 1px solid @border; }
QTableView[arrowless="true"] QHeaderView::up-arrow, QTableView[arrowless="true"] QHeaderView::down-arrow {
    image: none; width: 0px; height: 0px; }
QHeaderView { background: @panel; }
QHeaderView::section { background: @panel; color: @dim; border: none; border-bottom: 1px solid @border;
                       padding: 3px 3px; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @border; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @dim; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: @panel; border: none; }
QMainWindow QTabBar { background: @window; }
QMainWindow QTabBar::tab { background: @window; color: @dim; border: none; border-top: 2px solid transparent;
                           padding: 5px 14px; }
QMainWindow QTabBar::tab:hover { color: @text; }
QMainWindow QTabBar::tab:selected { background: @panel; color: @text; border-top-color: @accent; }
QStatusBar { background: @panel; border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QMenuBar { background: @panel; }
QToolButton#status-advice { padding: 1px 8px; }
QMainWindow QTabBar { background: @window; }
QMainWindow QTabBar::tab { background: @window; color: @dim; border: none; border-top: 2px solid transparent;
                           padding: 5px 14px; }
QMainWindow QTabBar::tab:hover { color: @text; }
QMainWindow QTabBar::tab:selected { background: @panel; color: @text; border-top-color: @accent; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: @accent; }
)");
    const struct {
        const char* name;
        QColor color;
    } colors[] = {
        {"@window", t.window},
        {"@panel", t.panel},
        {"@border", t.panelBorder},
        {"@dim", t.textDim},
        {"@text", t.text},
        {"@error", t.error},
        {"@plot", t.plotArea},
        {"@control", t.control},
        {"@onaccent", t.palette().color(QPalette::HighlightedText)},
        {"@accent", t.accent},
        {"@normal", t.normal},
        {"@select", blend(t.panel, t.accent, t.dark ? 0.28 : 0.18)},
        {"@faint", t.palette().color(QPalette::Disabled, QPalette::Text)},
    };
    for (const auto& one : colors) {
        sheet.replace(QLatin1String(one.name), one.color.name());
    }
    return sheet;
}

} // namespace halfscope
