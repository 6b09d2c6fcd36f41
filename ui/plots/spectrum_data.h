// SPDX-License-Identifier: GPL-3.0-or-later
// What the spectrum shows of one step: the values of the selection, apart by the format that holds them. Only values in
// the window's own format are judged by the window; what FP32 holds does not overflow where FP16 ends, and neither does
// what has a scale of its own.
#pragma once

#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "engine/amp/what_if.h"
#include "ui/plots/format_window.h"
#include "ui/run_model.h"

namespace halfscope {

// Every value once: the seven add up to the total. What is lost (flushed, not finite) counts whatever holds it;
// subnormal and normal are of the window's format, `other` is what other formats hold well.
struct SpectrumNumbers {
    bool exact = true; // measured; otherwise estimated from the bins
    double zero = 0.0;
    double flushed = 0.0;
    double subnormal = 0.0;
    double normal = 0.0;
    double overflow = 0.0; // with what was not finite before the cast
    double other = 0.0;
    double total = 0.0;
};

class SpectrumData {
public:
    // The newest step, or one of the past.
    void take(const RunModel* run, std::optional<qint64> past);

    bool isEmpty() const { return !m_all; }
    const TensorStatistics& all() const { return *m_all; } // not when empty
    std::uint64_t countAt(int exponent) const;
    std::uint64_t ownAt(int exponent) const; // of them, in the window's format
    ClassCounts ownClasses() const;

    const FloatFormat& format() const { return *m_format; } // whose window is drawn
    bool isComparison() const { return m_comparison; }      // nothing is held in it: the window is for comparison
    bool isScaled() const { return m_scaled; }
    bool hasOthers() const; // some values are held in another format
    QString formatName() const;
    QString otherName() const;      // "FP32", "FP32 and BF16"
    QString otherShortName() const; // where there is little room: "FP32", "others", "own scales"

    // All of the selection has one scale of its own (FP8's, or a module's loss scale), with which the window is drawn.
    bool hasOwnScale() const { return m_ownScale; }

    qint64 firstStep() const { return m_firstStep; }
    qint64 lastStep() const { return m_lastStep; }
    double measuredScale() const { return m_measuredScale; } // in force then; 1 where the scale plays no part

    SpectrumNumbers numbersAt(double scale) const;
    // By the format that holds them; what would be lost at another scale is estimateClasses() of these.
    const std::vector<FormatPart>& parts() const { return m_parts; }
    // Octaves between the largest value of the window's format and its end; of all values when none is in that format.
    double headroom(const FormatWindow& window) const;

private:
    struct Tensor {
        FormatId format;
        TensorStatistics statistics;
        float ownScale;
    };
    void takeParts(const std::vector<Tensor>& tensors);
    void addPart(FormatId format, const TensorStatistics& statistics);
    const TensorStatistics* own() const;

    std::optional<TensorStatistics> m_all;
    std::vector<FormatPart> m_parts;
    std::vector<FormatPart> m_aside; // with scales of their own that differ: judged as measured, outside any window
    bool m_ownScale = false;
    const FloatFormat* m_format = &floatFormat(FormatId::Fp16);
    bool m_comparison = false;
    bool m_scaled = true;
    qint64 m_firstStep = 0;
    qint64 m_lastStep = 0;
    double m_measuredScale = 1.0;
};

QString formatText(FormatId format); // "FP16"

} // namespace halfscope
