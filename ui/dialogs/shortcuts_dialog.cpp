// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/shortcuts_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollBar>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "ui/dialogs/dialog_buttons.h"

namespace halfscope {

namespace {

constexpr QSize kLargest(1200, 760);

// Texts that stand within a sentence elsewhere begin a line here.
QString capitalised(QString text)
{
    if (!text.isEmpty()) {
        text[0] = text.at(0).toUpper();
    }
    return text;
}

} // namespace

ShortcutsDialog::ShortcutsDialog(const QList<WindowActions::Group>& groups, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Keyboard shortcuts"));
    auto* tree = new QTreeWidget;
    tree->setAccessibleName(tr("Actions and their keys"));
    tree->setHeaderLabels({tr("Action"), tr("Keys"), tr("What it does")});
    tree->setRootIsDecorated(false);
    tree->setSelectionMode(QAbstractItemView::NoSelection);
    tree->setFrameShape(QFrame::NoFrame);
    for (const WindowActions::Group& group : groups) {
        auto* heading = new QTreeWidgetItem(tree, {group.title});
        QFont bold = heading->font(0);
        bold.setBold(true);
        heading->setFont(0, bold);
        heading->setFirstColumnSpanned(true);
        for (const QAction* action : group.actions) {
            new QTreeWidgetItem(heading, {capitalised(action->text().remove(QLatin1Char('&'))),
                                          action->shortcut().toString(QKeySequence::NativeText),
                                          capitalised(action->statusTip())});
        }
    }
    const struct {
        QString action;
        QString keys;
        QString help;
    } inPlots[] = {
        {tr("Move the loss scale"), tr("Left, Right"), tr("In the spectrum: halve and double")},
        {tr("Change the format of the selected layers"), tr("Enter"), tr("In the layers table")},
        {tr("Give a value up"), tr("Esc"), tr("In a field: the value in force comes back")},
        {tr("Double and halve"), tr("Up, Down"), tr("In the field of the exact scale and of the factors")},
    };
    auto* heading = new QTreeWidgetItem(tree, {tr("In the panels")});
    QFont bold = heading->font(0);
    bold.setBold(true);
    heading->setFont(0, bold);
    heading->setFirstColumnSpanned(true);
    for (const auto& row : inPlots) {
        new QTreeWidgetItem(heading, {row.action, row.keys, row.help});
    }
    tree->expandAll();
    // Nothing is cut: on a small screen the sheet scrolls sideways.
    tree->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    tree->header()->setStretchLastSection(false);
    tree->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    auto* buttons = new QDialogButtonBox;
    QPushButton* close = buttons->addButton(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(tree, 1);
    column->addWidget(buttons);
    settleButtons(*this, close);
    int width = tree->verticalScrollBar()->sizeHint().width() + 48;
    for (int i = 0; i < tree->columnCount(); ++i) {
        width += tree->columnWidth(i);
    }
    resize(QSize(width, kLargest.height()).boundedTo(kLargest));
}

} // namespace halfscope
