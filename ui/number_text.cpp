// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/number_text.h"

#include <QLocale>
#include <array>
#include <charconv>
#include <cmath>

namespace halfscope {

namespace {

constexpr QChar kGroup(0x202F); // narrow no-break space

QString grouped(QString digits)
{
    for (qsizetype i = digits.size() - 3; i > 0; i -= 3)
        digits.insert(i, kGroup);
    return digits;
}

template <typename Float>
QString shortest(Float value)
{
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    QString text = QString::fromLatin1(buffer.data(), end - buffer.data());
    return text.replace(QLatin1Char('.'), QLocale().decimalPoint());
}

// An exact decimal without exponent if it is short enough to read; empty otherwise.
QString exactDecimal(double value)
{
    const double magnitude = std::abs(value);
    if (magnitude < 1e15 && value == std::floor(value))
        return (value < 0 ? QStringLiteral("−") : QString()) + grouped(QString::number(qint64(magnitude)));
    if (magnitude >= 1e15)
        return {};
    // A double is decimal exactly with as many places as it has binary ones; 12 are readable.
    for (int places = 1; places <= 12; ++places) {
        const QString text = QString::number(value, 'f', places);
        const double shifted = value * std::pow(2.0, places);
        if (shifted == std::floor(shifted) && text.toDouble() == value)
            return QString(text).replace(QLatin1Char('.'), QLocale().decimalPoint());
    }
    return {};
}

} // namespace

bool isPowerOfTwo(double value)
{
    int exponent = 0;
    return std::isfinite(value) && value > 0 && std::frexp(value, &exponent) == 0.5;
}

QString superscript(int n)
{
    static constexpr std::array<char16_t, 10> digits = {u'⁰', u'¹', u'²', u'³', u'⁴', u'⁵', u'⁶', u'⁷', u'⁸', u'⁹'};
    QString text;
    for (const QChar c : QString::number(n))
        text += c == QLatin1Char('-') ? QChar(u'⁻') : QChar(digits[static_cast<std::size_t>(c.digitValue())]);
    return text;
}

QString powerOfTwo(int exponent) { return QLatin1Char('2') + superscript(exponent); }

QString powerOfTen(int exponent)
{
    if (exponent == 0)
        return QStringLiteral("1");
    return exponent == 1 ? QStringLiteral("10") : QStringLiteral("10") + superscript(exponent);
}

QString shortScaleText(double scale)
{
    if (!(scale > 0) || !std::isfinite(scale))
        return shortest(scale);
    int exponent = 0;
    const double mantissa = 2.0 * std::frexp(scale, &exponent); // [1, 2)
    if (mantissa == 1.0)
        return powerOfTwo(exponent - 1);
    QString digits = QString::number(mantissa, 'g', 4);
    const bool exact = digits.toDouble() == mantissa;
    digits.replace(QLatin1Char('.'), QLocale().decimalPoint());
    return (exact ? QString() : QStringLiteral("≈")) + digits + QStringLiteral("·") + powerOfTwo(exponent - 1);
}

QString scaleText(double scale)
{
    const QString power = shortScaleText(scale);
    if (!(scale > 0) || !std::isfinite(scale))
        return power;
    const QString exact = exactDecimal(scale);
    if (!exact.isEmpty())
        return power + QStringLiteral(" = ") + exact;
    return power + QStringLiteral(" ≈ ") + roundedText(scale, 4);
}

QString countText(quint64 count) { return grouped(QString::number(count)); }

QString stepText(qint64 step)
{
    return step < 0 ? QStringLiteral("−") + grouped(QString::number(-step)) : grouped(QString::number(step));
}

QString shareText(double part, double of)
{
    if (!(of > 0) || !std::isfinite(part))
        return QStringLiteral("–");
    const QChar space(0x202F);
    const QString point = QLocale().decimalPoint();
    const auto text = [&](double percent, int places) {
        return QString::number(percent, 'f', places).replace(QLatin1Char('.'), point) + space + QLatin1Char('%');
    };
    const double percent = 100.0 * part / of;
    if (part == 0)
        return text(0, 0);
    if (part == of)
        return text(100, 0);
    if (percent < 0.001)
        return QStringLiteral("< ") + text(0.001, 3);
    if (percent < 0.1)
        return text(percent, 3);
    if (percent < 1)
        return text(percent, 2);
    if (percent >= 99.995)
        return QStringLiteral("> ") + text(99.99, 2);
    return text(percent, percent >= 99.95 ? 2 : 1);
}

QString valueText(float value) { return shortest(value); }
QString valueText(double value) { return shortest(value); }

QString roundedText(double value, int significant)
{
    if (!std::isfinite(value))
        return shortest(value);
    return QString::number(value, 'g', significant).replace(QLatin1Char('.'), QLocale().decimalPoint());
}

QString octavesText(double octaves)
{
    if (!std::isfinite(octaves)) // nothing to measure it by
        return QStringLiteral("–");
    QString text = QString::number(std::abs(octaves), 'f', 1).replace(QLatin1Char('.'), QLocale().decimalPoint());
    return (octaves < 0 && std::abs(octaves) >= 0.05 ? QStringLiteral("−") : QString()) + text;
}

} // namespace halfscope
