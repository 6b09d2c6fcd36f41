// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/file_suffix.h"

#include <QFileDialog>
#include <QRegularExpression>

namespace halfscope {

namespace {

// "PNG picture (*.png)" -> "png"
QString suffixOf(const QString& filter)
{
    static const QRegularExpression pattern(QStringLiteral("\\*\\.(\\w+)"));
    return pattern.match(filter).captured(1);
}

} // namespace

void followChosenSuffix(QFileDialog& chooser)
{
    chooser.setDefaultSuffix(suffixOf(chooser.selectedNameFilter()));
    QObject::connect(&chooser, &QFileDialog::filterSelected, &chooser, [&chooser](const QString& filter) {
        const QString before = chooser.defaultSuffix();
        const QString now = suffixOf(filter);
        chooser.setDefaultSuffix(now);
        const QStringList files = chooser.selectedFiles();
        const QString name = files.isEmpty() ? QString() : QFileInfo(files.first()).fileName();
        const QString ending = QLatin1Char('.') + before;
        if (name.endsWith(ending, Qt::CaseInsensitive)) {
            chooser.selectFile(name.chopped(ending.size()) + QLatin1Char('.') + now);
        }
    });
}

} // namespace halfscope
