// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/axis_tickers.h"

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"

namespace halfscope {

double ExponentTicker::getTickStep(const QCPRange& range)
{
    const double wanted = range.size() / std::max(1, tickCount());
    return wanted <= 1.0 ? 1.0 : std::exp2(std::ceil(std::log2(wanted)));
}

int ExponentTicker::getSubTickCount(double) { return 0; }

QString ExponentTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return powerOfTwo(static_cast<int>(std::lround(tick)));
}

double DecadeTicker::getTickStep(const QCPRange& range)
{
    const double wanted = range.size() / std::max(1, tickCount());
    if (wanted < 0.35 && !m_wholePowersOnly)
        return QCPAxisTicker::getTickStep(range);
    return std::max(1.0, std::ceil(wanted));
}

int DecadeTicker::getSubTickCount(double) { return 0; }

QString DecadeTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    const double nearest = std::round(tick);
    if (std::abs(tick - nearest) < 1e-9)
        return powerOfTen(static_cast<int>(nearest));
    return roundedText(std::pow(10.0, tick), 3);
}

double StepTicker::getTickStep(const QCPRange& range) { return std::max(1.0, QCPAxisTicker::getTickStep(range)); }

int StepTicker::getSubTickCount(double) { return 0; }

QString StepTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return tick < 0 ? QString() : stepText(std::llround(tick));
}

int NumberTicker::getSubTickCount(double) { return 0; }

QString NumberTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return roundedText(std::abs(tick) < 1e-12 ? 0.0 : tick, 6);
}

} // namespace halfscope
