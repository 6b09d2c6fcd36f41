// SPDX-License-Identifier: GPL-3.0-or-later
// Axis marks: powers of two, logarithms, steps. The axes themselves are linear in the exponent. None of these sets
// marks closer than there is room for, whatever the range.
#pragma once

#include <qcustomplot.h>

#include <limits>

namespace halfscope {

// The axis' length in units of the least distance between marks.
class RoomTicker : public QCPAxisTicker {
public:
    double room() const { return m_room; }
    void setRoom(double room) { m_room = room < 1.0 ? 1.0 : room; }

protected:
    int getSubTickCount(double) override { return 0; }

private:
    double m_room = 5.0;
};

// Position k is labelled 2ᵏ; the distance of marks is a power of two.
class ExponentTicker : public RoomTicker {
protected:
    double getTickStep(const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Position k is labelled 10ᵏ; whole powers only, as for counts.
class DecadeTicker : public RoomTicker {
public:
    // Marks above this power have no number: what is there is room for captions.
    void setHighest(double power) { m_highest = power; }

protected:
    double getTickStep(const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;

private:
    double m_highest = std::numeric_limits<double>::infinity();
};

// Position k is the share 10ᵏ, labelled in percent: 100 %, 1 %, 0.01 %, 10⁻⁵ %.
class ShareTicker : public DecadeTicker {
protected:
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Position k is 10ᵏ; marks stand at round numbers, which lie unevenly: 1, 2, 5, 10 or, in a narrow
// range, 2.4, 2.6, 2.8.
class LogTicker : public RoomTicker {
protected:
    QVector<double> createTickVector(double tickStep, const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Whole steps with grouped digits.
class StepTicker : public RoomTicker {
protected:
    double getTickStep(const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Plain numbers in the user's notation.
class NumberTicker : public RoomTicker {
protected:
    double getTickStep(const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

// Numbers that are percentages: "85 %".
class PercentTicker : public NumberTicker {
protected:
    QString getTickLabel(double tick, const QLocale& locale, QChar formatChar, int precision) override;
};

} // namespace halfscope
