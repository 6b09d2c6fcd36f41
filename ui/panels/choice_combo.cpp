// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/choice_combo.h"

#include <QHelpEvent>
#include <QStandardItemModel>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QToolTip>

namespace halfscope {

ChoiceCombo::ChoiceCombo(QWidget* parent) : QComboBox(parent)
{
    setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(6);
}

void ChoiceCombo::setChoices(const QList<SettingChoice>& choices)
{
    clear();
    for (const SettingChoice& choice : choices) {
        addItem(choice.text, choice.value);
        setItemData(count() - 1, choice.toolTip, Qt::ToolTipRole);
        auto* items = qobject_cast<QStandardItemModel*>(model());
        if (!choice.available && items != nullptr) {
            items->item(count() - 1)->setEnabled(false);
        }
    }
}

int ChoiceCombo::widthFor(const QString& text) const
{
    QStyleOptionComboBox option;
    initStyleOption(&option);
    option.rect = QRect(0, 0, 1000, sizeHint().height());
    const QRect room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
    return fontMetrics().horizontalAdvance(text) + 1000 - room.width() + 6;
}

void ChoiceCombo::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    painter.setPen(palette().color(QPalette::Text));
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    const QRect room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this);
    option.currentText = fontMetrics().elidedText(option.currentText, Qt::ElideRight, room.width() - 2);
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

bool ChoiceCombo::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && currentIndex() >= 0) {
        QStringList lines = {currentText(), currentData(Qt::ToolTipRole).toString(), toolTip()};
        lines.removeAll(QString());
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), lines.join(QLatin1Char('\n')), this);
        return true;
    }
    return QComboBox::event(event);
}

} // namespace halfscope
