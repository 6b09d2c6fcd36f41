// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/about_dialog.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <qcustomplot.h>

#include "engine/core/version.h"
#include "ui/dialogs/dialog_buttons.h"

namespace halfscope {

AboutDialog::AboutDialog(const QString& backend, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("About HalfScope"));
    const std::string_view version = programVersion();
    auto* title =
        new QLabel(tr("HalfScope %1").arg(QString::fromUtf8(version.data(), static_cast<qsizetype>(version.size()))));
    QFont large = title->font();
    large.setPointSizeF(large.pointSizeF() * 1.6);
    large.setBold(true);
    title->setFont(large);
    auto* text = new QLabel(
        tr("An oscilloscope for mixed-precision training.\n\n"
           "HalfScope is free software: you may redistribute and change it under the terms of the GNU General Public "
           "License, version 3 or any later version. It comes with no warranty, to the extent the law permits.\n\n"
           "Qt %1, QCustomPlot %2, %3\n%4")
            .arg(QString::fromLatin1(qVersion()), QString::fromLatin1(QCUSTOMPLOT_VERSION_STR),
                 QString::fromStdString(compilerDescription()), backend));
    text->setWordWrap(true);
    text->setTextFormat(Qt::PlainText);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    text->setAccessibleName(tr("About HalfScope"));
    text->setMinimumWidth(420);
    auto* buttons = new QDialogButtonBox;
    QPushButton* close = buttons->addButton(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 16);
    column->setSpacing(12);
    column->addWidget(title);
    column->addWidget(text);
    column->addWidget(buttons);
    settleButtons(*this, close);
}

} // namespace halfscope
