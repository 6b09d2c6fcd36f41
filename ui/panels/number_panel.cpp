// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/number_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "engine/amp/scaler_config.h"
#include "engine/core/number_text.h"
#include "ui/number_text.h"
#include "ui/panels/bit_cells.h"
#include "ui/panels/number_edit.h"
#include "ui/plots/spectrum_data.h"
#include "ui/session_controller.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr int kNumber = -1;
constexpr int kMargin = 12;
constexpr int kSwatch = 10;

// A number of a format, which is an FP32 number, hence exactly a double.
QString exactText(float value) { return valueText(static_cast<double>(value)); }

QString hexText(const FloatFormat& format, std::uint32_t bits)
{
    return QStringLiteral("0x%1").arg(bits, (format.encodingBits + 3) / 4, 16, QLatin1Char('0'));
}

QString classWord(ValueClass c)
{
    switch (c) {
    case ValueClass::Zero:
        return FormatRow::tr("zero");
    case ValueClass::Flushed:
        return FormatRow::tr("flushed to 0");
    case ValueClass::Subnormal:
        return FormatRow::tr("subnormal");
    case ValueClass::Normal:
        return FormatRow::tr("normal");
    case ValueClass::Saturating:
        return FormatRow::tr("overflows");
    case ValueClass::Inf:
        return FormatRow::tr("infinite");
    case ValueClass::NaN:
        return FormatRow::tr("NaN");
    }
    return {};
}

QString relativeWords(double error)
{
    if (error == 0)
        return FormatRow::tr("exact");
    if (!std::isfinite(error))
        return FormatRow::tr("lost");
    return FormatRow::tr("error %1").arg(shareText(error, 1.0));
}

} // namespace

FormatRow::FormatRow(FormatId format, QWidget* parent)
    : QWidget(parent), m_format(floatFormat(format)), m_cells(new BitCells(format, this))
{
    auto* column = new QVBoxLayout(this);
    column->setSpacing(0);
    column->addWidget(m_cells);
    place();
}

// The title above the cells and two lines below them are painted.
void FormatRow::place()
{
    const int line = fontMetrics().height();
    layout()->setContentsMargins(kMargin - 2, line + 4, kMargin, 2 * line + 10);
}

void FormatRow::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        place();
}

void FormatRow::display(const InspectedNumber& number, std::uint32_t bits, double scale)
{
    m_number = number;
    m_scale = scale;
    m_cells->setBits(bits);
    setToolTip(text());
    setAccessibleName(formatText(m_format.id));
    setAccessibleDescription(text());
    update();
}

QString FormatRow::valueWords() const
{
    return tr("%1 · %2").arg(exactText(m_number.value), classWord(m_number.valueClass));
}

QString FormatRow::errorWords() const
{
    if (m_number.relativeError == 0)
        return tr("exact");
    if (!std::isfinite(m_number.absoluteError))
        return tr("lost");
    return tr("error %1 = %2, %3 ulp")
        .arg(roundedText(m_number.absoluteError, 3), shareText(m_number.relativeError, 1.0),
             roundedText(m_number.ulpError, 3));
}

QString FormatRow::neighbourWords() const
{
    // As short as reads back: both have room beside each other.
    const auto name = [](float value) { return std::isnan(value) ? tr("none") : valueText(value); };
    return tr("between %1 and %2").arg(name(m_number.below), name(m_number.above));
}

QString FormatRow::scaledWords() const
{
    return tr("× %1: %2, %3")
        .arg(shortScaleText(m_scale), classWord(m_number.scaled.valueClass),
             relativeWords(m_number.scaled.relativeError));
}

QString FormatRow::text() const
{
    return tr("%1 stores %2 (%3), %4; its neighbours: %5 and %6. Times the loss scale %7: %8, what remains is %9")
               .arg(formatText(m_format.id), exactText(m_number.value), classWord(m_number.valueClass), errorWords(),
                    exactText(m_number.below), exactText(m_number.above), scaleText(m_scale),
                    classWord(m_number.scaled.valueClass), exactText(m_number.scaled.value)) +
           tr(" (%1).").arg(relativeWords(m_number.scaled.relativeError));
}

void FormatRow::paintEvent(QPaintEvent*)
{
    const Theme& theme = currentTheme();
    QPainter painter(this);
    QFont bold = font();
    bold.setBold(true);
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    const QRect room = rect().adjusted(kMargin, 2, -kMargin, -4);
    const auto draw = [&](const QRect& at, const QString& text, const QColor& color, const QFont& with,
                          Qt::Alignment align = Qt::AlignLeft) {
        painter.setFont(with);
        painter.setPen(color);
        painter.drawText(at, static_cast<int>(align | Qt::AlignVCenter),
                         QFontMetrics(with).elidedText(text, Qt::ElideRight, at.width()));
    };
    const QString name = formatText(m_format.id);
    const int nameWidth = QFontMetrics(bold).horizontalAdvance(name) + 10;
    const QRect title(room.left(), room.top(), room.width(), line);
    draw(title, name, theme.text, bold);
    draw(title.adjusted(nameWidth, 0, 0, 0),
         tr("%1 + %2 + %3 bits").arg(1).arg(m_format.exponentBits).arg(m_format.mantissaBits), theme.textDim, font());
    draw(title, hexText(m_format, m_cells->bits()), theme.textDim, font(), Qt::AlignRight);

    const int half = room.width() / 2;
    const int first = m_cells->geometry().bottom() + 4;
    const auto swatch = [&](int x, int y, ValueClass c) {
        const QRect box(x, y + (line - kSwatch) / 2, kSwatch, kSwatch);
        painter.fillRect(box, theme.classColor(c));
        if (c == ValueClass::Flushed || c == ValueClass::Saturating) // hatched as in the spectrum
            painter.fillRect(box,
                             QBrush(theme.dark ? theme.classColor(c).darker(165) : theme.classColor(c).lighter(150),
                                    c == ValueClass::Flushed ? Qt::FDiagPattern : Qt::BDiagPattern));
    };
    swatch(room.left(), first, m_number.valueClass);
    draw({room.left() + kSwatch + 6, first, half - kSwatch - 14, line}, valueWords(), theme.text, font());
    draw({room.left() + half, first, room.width() - half, line}, errorWords(), theme.text, font());
    swatch(room.left(), first + line + 1, m_number.scaled.valueClass);
    draw({room.left() + kSwatch + 6, first + line + 1, half - kSwatch - 14, line}, scaledWords(), theme.text, font());
    draw({room.left() + half, first + line + 1, room.width() - half, line}, neighbourWords(), theme.textDim, font());
    painter.fillRect(QRect(room.left(), height() - 1, room.width(), 1), theme.panelBorder);
}

NumberPanel::NumberPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_field(new QLineEdit),
      m_form(new QComboBox),
      m_problem(new QLabel),
      m_scaleEdit(new NumberEdit),
      m_follow(new QCheckBox(tr("the run's")))
{
    setAttribute(Qt::WA_StyledBackground);
    m_field->setObjectName(QStringLiteral("inspected-number"));
    m_field->setAccessibleName(tr("Number to inspect"));
    m_field->setToolTip(tr("A decimal (1e-8), a power (2^-24), a C hexadecimal float (0x1p-25), inf, nan, or a "
                           "pattern (fp16:0x3c00)"));
    m_field->setClearButtonEnabled(false);
    m_form->addItem(tr("number"), kNumber);
    for (const InspectedNumber& one : inspectAll(1.0F))
        m_form->addItem(tr("%1 bits").arg(formatText(one.format)), static_cast<int>(one.format));
    m_form->setAccessibleName(tr("What is typed"));
    m_form->setToolTip(
        tr("Whether a number is typed or the bit pattern of a format, as 0x3c00 or 0b0_01111_0000000000"));
    m_problem->setObjectName(QStringLiteral("rejection"));
    m_problem->setWordWrap(true);
    m_problem->setVisible(false);
    m_scaleEdit->setObjectName(QStringLiteral("inspected-scale"));
    m_scaleEdit->setAccessibleName(tr("Loss scale of the number inspector"));
    m_scaleEdit->setToolTip(tr("The scale the number is multiplied by; up and down double and halve it"));
    m_scaleEdit->setStepFactor(2.0);
    m_scaleEdit->setMaximumWidth(104);
    m_follow->setChecked(true);
    m_follow->setAccessibleName(tr("Use the run's loss scale"));
    m_follow->setToolTip(tr("The loss scale in force; it moves when the run's does"));

    auto* top = new QHBoxLayout;
    top->setContentsMargins(kMargin, 0, kMargin, 0);
    top->setSpacing(6);
    top->addWidget(m_field, 1);
    top->addWidget(m_form);
    auto* scaleRow = new QHBoxLayout;
    scaleRow->setContentsMargins(kMargin, 0, kMargin, 0);
    scaleRow->setSpacing(6);
    auto* times = new QLabel(tr("Loss scale"));
    times->setProperty("dim", true);
    times->setBuddy(m_scaleEdit);
    scaleRow->addWidget(times);
    scaleRow->addWidget(m_scaleEdit);
    scaleRow->addWidget(m_follow);
    scaleRow->addStretch(1);
    m_problem->setContentsMargins(kMargin, 0, kMargin, 0);

    auto* list = new QWidget;
    auto* rows = new QVBoxLayout(list);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(2);
    for (const InspectedNumber& one : inspectAll(1.0F)) {
        auto* row = new FormatRow(one.format);
        connect(row->cells(), &BitCells::flipped, this,
                [this, format = one.format](std::uint32_t bits) { flip(format, bits); });
        m_rows.push_back(row);
        rows->addWidget(row);
    }
    rows->addStretch(1);
    auto* area = new QScrollArea;
    area->setWidget(list);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 4, 0, 0);
    column->setSpacing(4);
    column->addLayout(top);
    column->addWidget(m_problem);
    column->addLayout(scaleRow);
    column->addWidget(area, 1);

    connect(m_field, &QLineEdit::textEdited, this, &NumberPanel::read);
    connect(m_field, &QLineEdit::returnPressed, m_field, &QLineEdit::selectAll);
    connect(m_form, &QComboBox::activated, this, [this] {
        m_field->setText(textOf(m_value)); // the same number, in the form that was chosen
        read();
    });
    connect(m_scaleEdit, &NumberEdit::committed, this, [this](const QString& typed) {
        bool ok = false;
        const double scale = typed.toDouble(&ok);
        if (ok && scale >= kLowestUsableScale && scale <= kHighestUsableScale) {
            m_follow->setChecked(false);
            setScale(static_cast<double>(static_cast<float>(scale)));
        }
        m_scaleEdit->revert(); // what is no scale is not kept
    });
    connect(m_follow, &QCheckBox::toggled, this, &NumberPanel::followScale);
    connect(&controller, &SessionController::liveChanged, this, &NumberPanel::followScale);
    connect(&controller, &SessionController::runStarted, this, &NumberPanel::followScale);
    m_scaleEdit->setValue(plainNumber(m_scale));
    set(1e-8F);
    followScale();
}

FormatRow* NumberPanel::row(FormatId format) const
{
    const auto all = inspectAll(1.0F);
    const auto found = std::ranges::find(all, format, &InspectedNumber::format);
    return m_rows[static_cast<std::size_t>(found - all.begin())];
}

QString NumberPanel::textOf(float value) const
{
    const int form = m_form->currentData().toInt();
    if (form == kNumber) {
        // All digits where they are few; otherwise those that read back as this FP32.
        constexpr qsizetype kFew = 14;
        const QString exact = fieldNumber(QString::fromStdString(numberText(static_cast<double>(value))));
        return exact.size() <= kFew ? exact : QString::fromStdString(numberText(value));
    }
    return QString::fromStdString(halfscope::inspect(static_cast<FormatId>(form), value).bitsText);
}

void NumberPanel::inspect(double value, std::optional<double> scale)
{
    if (scale && *scale >= kLowestUsableScale && *scale <= kHighestUsableScale) {
        m_follow->setChecked(false);
        setScale(*scale);
    }
    m_form->setCurrentIndex(m_form->findData(kNumber));
    set(static_cast<float>(value));
}

void NumberPanel::set(float value)
{
    m_value = value;
    m_pattern.reset();
    m_problem->setVisible(false);
    m_field->setText(textOf(value));
    showAll();
}

// A number in the form that was chosen; what is none is said, and the last number stays.
void NumberPanel::read()
{
    const int form = m_form->currentData().toInt();
    const QString typed = m_field->text().trimmed();
    std::optional<float> value;
    std::optional<std::pair<FormatId, std::uint32_t>> pattern;
    if (form == kNumber) {
        value = parseInspected(typed.toStdString());
        if (!value) { // as it is written here: 0,1 or 2⁻²⁴
            QString plain = typed;
            plain.replace(QLocale().decimalPoint(), QStringLiteral("."));
            value = parseInspected(plain.toStdString());
        }
        if (const auto number = value ? std::nullopt : parseNumber(typed))
            value = static_cast<float>(*number);
    } else {
        const auto format = static_cast<FormatId>(form);
        if (const auto bits = parsePattern(format, typed.toStdString())) {
            value = decode(format, *bits);
            pattern = {format, *bits};
        }
    }
    m_problem->setVisible(!value && !typed.isEmpty());
    if (!value) {
        m_problem->setText(
            form == kNumber ? tr("“%1” is not a number; type 1e-8, 2^-24, 0x1p-25, inf, nan or fp16:0x3c00.").arg(typed)
                            : tr("“%1” is not a pattern of %2, which has %3 bits; type it as 0x3c00 or 0b0_01111_0.")
                                  .arg(typed, formatText(static_cast<FormatId>(form)))
                                  .arg(floatFormat(static_cast<FormatId>(form)).encodingBits));
        return;
    }
    m_value = *value;
    m_pattern = pattern;
    showAll();
}

void NumberPanel::flip(FormatId format, std::uint32_t bits)
{
    set(decode(format, bits));
    m_pattern = {format, bits}; // reading a NaN makes it quiet; what was flipped stays flipped
    if (m_form->currentData().toInt() == static_cast<int>(format))
        m_field->setText(hexText(floatFormat(format), bits));
    showAll();
}

void NumberPanel::followScale()
{
    const double live = m_controller.run().live.scaler.scale;
    if (m_follow->isChecked() && live > 0 && live != m_scale)
        setScale(live);
}

void NumberPanel::setScale(double scale)
{
    m_scale = scale;
    m_scaleEdit->setValue(plainNumber(scale));
    showAll();
}

void NumberPanel::showAll()
{
    for (std::size_t i = 0; const InspectedNumber& one : inspectAll(m_value, m_scale)) {
        const bool asSet = m_pattern && m_pattern->first == one.format;
        m_rows[i++]->display(one, asSet ? m_pattern->second : one.bits, m_scale);
    }
}

} // namespace halfscope
