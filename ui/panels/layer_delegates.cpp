// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/layer_delegates.h"

#include <QApplication>
#include <QComboBox>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QTimer>

#include "ui/models/layers_model.h"
#include "ui/plots/sparkline_painter.h"
#include "ui/session_controller.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

void paintBackground(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index)
{
    QStyleOptionViewItem empty(option);
    empty.text.clear();
    empty.index = index;
    const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &empty, painter, option.widget);
}

// A module's own key may be "fp8"; a tensor's says which of the two formats.
std::optional<FormatId> formatOf(const QString& key)
{
    const auto tensor = parseFormat(key.toStdString());
    return tensor ? tensor : parseModuleFormat(key.toStdString());
}

QString formatName(const QString& key)
{
    const auto format = formatOf(key);
    if (!format) {
        return key;
    }
    const bool tensor = parseFormat(key.toStdString()).has_value();
    const std::string_view name = tensor ? floatFormat(*format).name : moduleFormatName(*format);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

} // namespace

FormatDelegate::FormatDelegate(Commit commit, QObject* parent)
    : QStyledItemDelegate(parent), m_commit(std::move(commit))
{
}

void FormatDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    paintBackground(painter, option, index);
    const Theme& theme = currentTheme();
    const bool editable = index.flags().testFlag(Qt::ItemIsEditable);
    const bool pending = index.data(LayersModel::PendingRole).toBool();
    const auto format = formatOf(index.data(LayersModel::FormatKeyRole).toString());
    const QRectF box = QRectF(option.rect).adjusted(2.5, 3.5, -3.5, -3.5);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (editable) {
        painter->setPen(QPen(option.state & QStyle::State_HasFocus ? theme.accent : theme.panelBorder, 1,
                             pending ? Qt::DashLine : Qt::SolidLine));
        painter->setBrush(theme.control);
        painter->drawRoundedRect(box, 3, 3);
    }
    QFont font = option.font;
    font.setItalic(pending);
    painter->setFont(font);
    const QString measuredKey = index.data(LayersModel::MeasuredFormatKeyRole).toString();
    const auto measured = parseFormat(measuredKey.toStdString());
    QRectF room = box.adjusted(7, 0, -14, 0);
    const auto write = [&](const QString& text, const QColor& color) {
        painter->setPen(color);
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, text);
        room.setLeft(room.left() + QFontMetricsF(font).horizontalAdvance(text));
    };
    write(formatName(index.data(LayersModel::FormatKeyRole).toString()),
          format ? theme.formatColor(*format) : theme.text);
    if (measured != format) {
        write(QStringLiteral(" → "), theme.textDim);
        write(formatName(measuredKey), measured ? theme.formatColor(*measured) : theme.text);
    }
    if (pending) {
        write(QStringLiteral(" …"), theme.textDim);
    }
    if (editable) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme.textDim);
        const QPointF tip(box.right() - 8, box.center().y() + 2);
        painter->drawPolygon(QPolygonF({tip + QPointF(-3, -4), tip + QPointF(3, -4), tip}));
    }
    painter->restore();
}

QSize FormatDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const
{
    return {option.fontMetrics.horizontalAdvance(QStringLiteral("FP8 E5M2")) + 26, option.fontMetrics.height() + 10};
}

QWidget* FormatDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex& index) const
{
    auto* combo = new QComboBox(parent);
    combo->setAccessibleName(index.data(Qt::AccessibleTextRole).toString());
    const QStringList keys = index.data(LayersModel::AllowedKeysRole).toStringList();
    for (const QString& key : keys) {
        combo->addItem(formatName(key), key);
    }
    auto* self = const_cast<FormatDelegate*>(this);
    connect(combo, &QComboBox::activated, self, [self, combo] {
        emit self->commitData(combo);
        emit self->closeEditor(combo);
    });
    QTimer::singleShot(0, combo, &QComboBox::showPopup);
    return combo;
}

void FormatDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const
{
    auto* combo = qobject_cast<QComboBox*>(editor);
    // Called again at every refresh of the table: a list that is open stays where the reader is in it.
    if (combo != nullptr && !combo->property("filled").toBool()) {
        combo->setCurrentIndex(combo->findData(index.data(LayersModel::FormatKeyRole)));
        combo->setProperty("filled", true);
    }
}

void FormatDelegate::setModelData(QWidget* editor, QAbstractItemModel*, const QModelIndex& index) const
{
    const auto* combo = qobject_cast<QComboBox*>(editor);
    if (combo != nullptr && combo->currentIndex() >= 0) {
        m_commit(index, combo->currentData().toString());
    }
}

void FormatDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const
{
    editor->setGeometry(option.rect.adjusted(1, 1, -1, -1));
}

SpectrumDelegate::SpectrumDelegate(const SessionController& controller, QObject* parent)
    : QStyledItemDelegate(parent), m_controller(controller)
{
}

void SpectrumDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    paintBackground(painter, option, index);
    const RunModel& run = m_controller.run();
    const auto* proxy = qobject_cast<const QSortFilterProxyModel*>(index.model());
    const QModelIndex source = proxy != nullptr ? proxy->mapToSource(index) : index;
    const auto* model = qobject_cast<const LayersModel*>(source.model());
    const TapStatistics* tap = model != nullptr ? model->tapAt(source.row()) : nullptr;
    if (tap == nullptr) {
        return;
    }
    const double scale = tap->ownScale > 0             ? static_cast<double>(tap->ownScale)
                         : tap->tap == Tap::Activation ? 1.0
                                                       : static_cast<double>(run.latest->scale);
    SparklinePainter::paint(painter, QRectF(option.rect).adjusted(3, 3, -3, -3), tap->statistics, scale, tap->format,
                            currentTheme());
}

void NumberDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const
{
    QStyledItemDelegate::initStyleOption(option, index);
    const Theme& theme = currentTheme();
    QColor color = theme.text;
    if (index.data(LayersModel::AlarmRole).toBool()) {
        option->font.setBold(true);
        color = index.column() == LayersModel::FlushedColumn ? theme.flushed : theme.overflow;
    } else if (option->text.startsWith(QLatin1Char('(')) || option->text == QStringLiteral("–") ||
               option->text == QStringLiteral("0")) {
        color = theme.textDim;
    }
    for (const auto role : {QPalette::Text, QPalette::HighlightedText}) {
        option->palette.setColor(role, color);
    }
}

} // namespace halfscope
