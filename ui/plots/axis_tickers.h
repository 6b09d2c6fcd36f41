// SPDX-License-Identifier: GPL-3.0-or-later
// Axis marks: powers of two, powers of ten, steps. The axes themselves are linear in the exponent.
#pragma once

#include <qcustomplot.h>

namespace halfscope {

// Position k is labelled 2ᵏ; the distance of marks is a power of two.
class ExponentTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double tickStep) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Position k is labelled 10ᵏ; closer marks, unless only whole powers make sense, with the number itself.
class DecadeTicker : public QCPAxisTicker {
public:
    explicit DecadeTicker(bool wholePowersOnly = false) : m_wholePowersOnly(wholePowersOnly) {}

protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double tickStep) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;

private:
    bool m_wholePowersOnly;
};

// Whole steps with grouped digits.
class StepTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double tickStep) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Plain numbers in the user's notation.
class NumberTicker : public QCPAxisTicker {
protected:
    int getSubTickCount(double tickStep) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

} // namespace halfscope
