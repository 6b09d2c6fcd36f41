// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/shortcuts_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace halfscope {

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
            new QTreeWidgetItem(heading, {action->text().remove(QLatin1Char('&')),
                                          action->shortcut().toString(QKeySequence::NativeText), action->statusTip()});
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
    tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    tree->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    auto* buttons = new QDialogButtonBox;
    QPushButton* close = buttons->addButton(QDialogButtonBox::Close);
    close->setAccessibleName(close->text().remove(QLatin1Char('&')));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(tree, 1);
    column->addWidget(buttons);
    resize(820, 640);
}

} // namespace halfscope
