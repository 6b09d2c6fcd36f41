// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/axis_tickers.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "ui/number_text.h"

namespace halfscope {

namespace {

// The least of 1, 2, 5, 10, 20, ... that is not below.
double roundStep(double least)
{
    if (!(least > 0) || !std::isfinite(least))
        return 1.0;
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double part : {1.0, 2.0, 5.0}) {
        if (part * power >= least * (1.0 - 1e-9))
            return part * power;
    }
    return 10.0 * power;
}

} // namespace

double ExponentTicker::getTickStep(const QCPRange& range)
{
    const double wanted = range.size() / room();
    return wanted <= 1.0 ? 1.0 : std::exp2(std::ceil(std::log2(wanted)));
}

QString ExponentTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return powerOfTwo(static_cast<int>(std::lround(tick)));
}

double DecadeTicker::getTickStep(const QCPRange& range) { return std::max(1.0, std::ceil(range.size() / room())); }

QString DecadeTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tick > m_highest ? QString() : powerOfTen(static_cast<int>(std::lround(tick)));
}

QString ShareTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    const int power = static_cast<int>(std::lround(tick)) + 2;
    if (power > 2)
        return {};
    return (power >= -3 ? roundedText(std::pow(10.0, power), 3) : powerOfTen(power)) + QStringLiteral("\u202F%");
}

QVector<double> LogTicker::createTickVector(double, const QCPRange& range)
{
    const double gap = range.size() / room(); // marks are this far apart at least
    const double low = std::pow(10.0, range.lower);
    const double high = std::pow(10.0, range.upper);
    QVector<double> even;
    if (range.size() < 1.0) {
        // Numbers at equal distances; they are closest at the upper end.
        double step = roundStep((high - low) / (4.0 * room()));
        const auto closest = [&] {
            const double last = std::floor(high / step + 1e-9) * step;
            return last > step ? std::log10(last / (last - step)) : gap;
        };
        while (closest() < gap)
            step = roundStep(1.01 * step);
        for (double k = std::ceil(low / step - 1e-9); k * step <= high * (1.0 + 1e-9); ++k)
            even << std::log10(k * step);
    }
    static const std::initializer_list<double> kParts[] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1, 3}, {1}};
    static constexpr double kClosest[] = {0.0457, 0.301, 0.477, 1.0}; // log10 of the smallest ratio in each
    std::size_t set = 0;
    while (set < 3 && kClosest[set] < gap)
        ++set;
    const int decades = std::max(1, static_cast<int>(std::ceil(gap - 1e-9)));
    QVector<double> decimal;
    for (int power = static_cast<int>(std::floor(range.lower)); power <= range.upper; ++power) {
        if (power % decades != 0)
            continue;
        for (const double part : kParts[set]) {
            const double at = power + std::log10(part);
            if (at >= range.lower - 1e-9 && at <= range.upper + 1e-9)
                decimal << at;
        }
    }
    return even.size() > decimal.size() ? even : decimal;
}

QString LogTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    const double nearest = std::round(tick);
    if (std::abs(tick - nearest) < 1e-9 && std::abs(nearest) > 3)
        return powerOfTen(static_cast<int>(nearest));
    return roundedText(std::pow(10.0, tick), 6);
}

double StepTicker::getTickStep(const QCPRange& range) { return std::max(1.0, roundStep(range.size() / room())); }

QString StepTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tick < 0 ? QString() : stepText(std::llround(tick));
}

double NumberTicker::getTickStep(const QCPRange& range) { return roundStep(range.size() / room()); }

QString NumberTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return roundedText(std::abs(tick) < 1e-12 ? 0.0 : tick, 6);
}

QString PercentTicker::getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision)
{
    return NumberTicker::getTickLabel(tick, locale, formatChar, precision) + QStringLiteral("\u202F%");
}

} // namespace halfscope
