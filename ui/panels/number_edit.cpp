// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/number_edit.h"

#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QRegularExpression>
#include <cmath>
#include <limits>

#include "engine/core/number_text.h"
#include "ui/number_text.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr double kLargestFp32 = std::numeric_limits<float>::max();
// Powers of two from here on are easier to read as such than as digits.
constexpr int kPowerFrom = 24;
constexpr int kPowerUntil = -10;

QString withoutSuperscripts(const QString& text)
{
    static const QString raised = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString plain;
    bool inPower = false;
    for (const QChar c : text) {
        const qsizetype digit = raised.indexOf(c);
        const bool sign = c == QChar(0x207B);
        if (digit < 0 && !sign) {
            plain += c;
            inPower = false;
            continue;
        }
        if (!inPower) {
            plain += QLatin1Char('^');
        }
        inPower = true;
        plain += sign ? QLatin1Char('-') : QLatin1Char(static_cast<char>('0' + digit));
    }
    return plain;
}

std::optional<double> parseSimple(const QString& text)
{
    bool ok = false;
    double value = text.toDouble(&ok);
    if (!ok) {
        value = QLocale().toDouble(text, &ok);
    }
    return ok ? std::optional<double>(value) : std::nullopt;
}

} // namespace

std::optional<double> parseNumber(const QString& text)
{
    QString plain = withoutSuperscripts(text);
    plain.replace(QChar(0x2212), QLatin1Char('-'));
    plain.remove(QRegularExpression(QStringLiteral("[\\s\\x{202F}\\x{00A0}]")));
    if (plain.isEmpty()) {
        return std::nullopt;
    }
    if (plain.compare(QStringLiteral("fp32max"), Qt::CaseInsensitive) == 0 ||
        plain.compare(QStringLiteral("max"), Qt::CaseInsensitive) == 0) {
        return kLargestFp32;
    }
    plain.replace(QStringLiteral("**"), QStringLiteral("^"));
    const qsizetype power = plain.indexOf(QLatin1Char('^'));
    if (power < 0) {
        return parseSimple(plain);
    }
    const auto base = parseSimple(plain.left(power));
    const auto exponent = parseSimple(plain.mid(power + 1));
    if (!base || !exponent) {
        return std::nullopt;
    }
    return std::pow(*base, *exponent);
}

QString plainNumber(double value)
{
    if (value == std::floor(value) && std::abs(value) < 1e15) {
        return QString::number(static_cast<qint64>(value));
    }
    return QString::fromStdString(numberText(value));
}

QString fieldNumber(const QString& plain)
{
    bool ok = false;
    const double value = plain.toDouble(&ok);
    if (!ok) {
        return plain;
    }
    if (value == kLargestFp32) {
        return QStringLiteral("max");
    }
    if (isPowerOfTwo(value)) {
        const int exponent = std::ilogb(value);
        if (exponent >= kPowerFrom || exponent <= kPowerUntil) {
            return QStringLiteral("2^%1").arg(exponent);
        }
    }
    return plain;
}

NumberEdit::NumberEdit(QWidget* parent) : QLineEdit(parent)
{
    connect(this, &QLineEdit::editingFinished, this, &NumberEdit::commit);
}

void NumberEdit::setValue(const QString& plain)
{
    const bool editing = hasFocus() && isEdited();
    m_plain = plain;
    if (editing) {
        return;
    }
    m_shown = shownFor(plain);
    if (text() != m_shown) {
        setText(m_shown);
        setCursorPosition(0);
    }
}

void NumberEdit::revert()
{
    m_shown = shownFor(m_plain);
    setText(m_shown);
    setCursorPosition(0);
}

QString NumberEdit::shownFor(const QString& plain) const
{
    return plain == QLatin1String("0") && !m_wordForZero.isEmpty() ? m_wordForZero : fieldNumber(plain);
}

void NumberEdit::setWordForZero(const QString& word)
{
    m_wordForZero = word;
    revert();
}

QString NumberEdit::plainText() const
{
    const QString typed = text().trimmed();
    if (!m_wordForZero.isEmpty() && typed.compare(m_wordForZero, Qt::CaseInsensitive) == 0) {
        return QStringLiteral("0");
    }
    const auto number = parseNumber(typed);
    return number ? plainNumber(*number) : typed;
}

void NumberEdit::setPending(bool pending)
{
    if (pending != m_pending) {
        m_pending = pending;
        update();
    }
}

void NumberEdit::commit()
{
    if (!isEdited()) {
        return;
    }
    const QString typed = text();
    const QString plain = plainText();
    // What is asked for stays visible until the engine has answered.
    m_shown = typed;
    if (plain == m_plain) {
        revert();
        return;
    }
    emit committed(plain);
}

bool NumberEdit::event(QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride) {
        // Its own while it is edited, not a shortcut of the window.
        const auto* key = static_cast<QKeyEvent*>(event);
        if (isEdited() && key->key() == Qt::Key_Escape) {
            event->accept();
            return true;
        }
        // And the window's while it is not: then there is nothing here to undo.
        if (!isEdited() && (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo))) {
            event->ignore();
            return true;
        }
    }
    return QLineEdit::event(event);
}

void NumberEdit::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && isEdited()) {
        revert();
        event->accept();
        return;
    }
    const bool up = event->key() == Qt::Key_Up;
    if (m_stepFactor > 0.0 && (up || event->key() == Qt::Key_Down) && event->modifiers() == Qt::NoModifier) {
        if (const auto number = parseNumber(text())) {
            setText(fieldNumber(plainNumber(up ? *number * m_stepFactor : *number / m_stepFactor)));
            commit();
        }
        event->accept();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

QString NumberEdit::hint() const
{
    const auto number = parseNumber(text());
    if (!number || !isPowerOfTwo(*number) || text().contains(QLatin1Char('^'))) {
        return {};
    }
    const int exponent = std::ilogb(*number);
    return exponent >= 5 || exponent <= -2 ? powerOfTwo(exponent) : QString();
}

void NumberEdit::paintEvent(QPaintEvent* event)
{
    QLineEdit::paintEvent(event);
    const QString note = m_pending ? tr("pending") : hint();
    if (note.isEmpty()) {
        return;
    }
    const int room = width() - fontMetrics().horizontalAdvance(text()) - 28;
    if (fontMetrics().horizontalAdvance(note) > room) {
        return;
    }
    QPainter painter(this);
    painter.setPen(m_pending ? currentTheme().accent : currentTheme().textDim);
    painter.drawText(rect().adjusted(0, 0, -9, 0), Qt::AlignRight | Qt::AlignVCenter, note);
}

} // namespace halfscope
