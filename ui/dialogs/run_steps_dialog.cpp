// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/run_steps_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "ui/dialogs/dialog_buttons.h"

namespace halfscope {

RunStepsDialog::RunStepsDialog(int steps, QWidget* parent) : QDialog(parent), m_steps(new QSpinBox)
{
    setWindowTitle(tr("Run steps"));
    m_steps->setRange(1, 100'000'000);
    m_steps->setValue(steps);
    m_steps->setGroupSeparatorShown(true);
    m_steps->setAccessibleName(tr("Steps to run"));
    m_steps->selectAll();
    auto* label = new QLabel(tr("Run this many steps, then pause:"));
    label->setBuddy(m_steps);
    auto* buttons = new QDialogButtonBox;
    QPushButton* run = buttons->addButton(tr("Run"), QDialogButtonBox::AcceptRole);
    buttons->addButton(QDialogButtonBox::Cancel);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit chosen(m_steps->value());
        accept();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(12);
    column->addWidget(label);
    column->addWidget(m_steps);
    column->addWidget(buttons);
    settleButtons(*this, run);
}

} // namespace halfscope
