// SPDX-License-Identifier: GPL-3.0-or-later
// What the spectrum says in words and numbers.
#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/plots/spectrum_plot.h"

namespace halfscope {

QString tapText(Tap tap)
{
    switch (tap) {
    case Tap::WeightGrad:
        return QObject::tr("weight gradients");
    case Tap::ActivationGrad:
        return QObject::tr("activation gradients");
    case Tap::Activation:
        return QObject::tr("activations");
    }
    return {};
}

QString selectionText(const RunModel& run)
{
    const std::vector<int>& modules = run.selection.modules;
    if (modules.empty())
        return QObject::tr("all layers");
    const auto name = [&run](int id) {
        const auto module = static_cast<std::size_t>(id);
        return id >= 0 && module < run.info.modules.size() ? QString::fromStdString(run.info.modules[module].name)
                                                           : QObject::tr("one layer");
    };
    const auto count = static_cast<int>(modules.size());
    if (!run.selection.name.empty() && count > 1)
        return QObject::tr("%1 (%n layers)", nullptr, count).arg(QString::fromStdString(run.selection.name));
    constexpr int kNamed = 3; // more are too many to read
    if (count > kNamed)
        return QObject::tr("%n layers, %1 … %2", nullptr, count).arg(name(modules.front()), name(modules.back()));
    QStringList names;
    for (const int module : modules)
        names << name(module);
    return names.join(QStringLiteral(" + "));
}

QString emptyText(const RunModel* run)
{
    if (run == nullptr || run->info.generation == 0)
        return QObject::tr("Waiting for the first step…");
    if (run->live.state == EngineState::Failed)
        return QObject::tr("The run ended before anything was measured.");
    if (run->latest == nullptr)
        return QObject::tr("Nothing has been measured yet.");
    if (run->selection.tap == Tap::Activation && !run->live.config.measureActivations)
        return QObject::tr("Activations are not measured. Switch them on under “Statistics”.");
    if (run->selection.tap == Tap::ActivationGrad && !run->live.config.measureActivationGrads)
        return QObject::tr("Activation gradients are not measured. Switch them on under “Statistics”.");
    return QObject::tr("%1 has no %2.").arg(selectionText(*run), tapText(run->selection.tap));
}

namespace {

QString countOf(double count, bool exact)
{
    return (exact || count == 0 ? QString() : QStringLiteral("≈ ")) +
           countText(static_cast<quint64>(std::llround(count)));
}

} // namespace

QString SpectrumPlot::title() const
{
    if (m_run == nullptr)
        return tr("Gradient spectrum");
    if (!m_run->selectionIsScaled())
        return tr("Activation spectrum · %1").arg(selectionText(*m_run));
    return tr("Gradient spectrum · %1 · %2").arg(selectionText(*m_run), tapText(m_run->selection.tap));
}

QString SpectrumPlot::widestXLabel() const { return powerOfTwo(-100); }

// With the scaled axis the number of powers of two that everything is moved by is said where the axis is read.
QString SpectrumPlot::screenXTitle() const
{
    return m_scaledAxis && m_data.isScaled() ? tr("|g| scaled by %1").arg(shortScaleText(m_scale)) : QString();
}

QString SpectrumPlot::xTitle() const
{
    if (!m_data.isScaled())
        return tr("activation magnitude |a|, power of two");
    if (m_scaledAxis)
        return tr("gradient magnitude |g|, scaled by %1, power of two").arg(shortScaleText(m_scale));
    return tr("gradient magnitude |g|, unscaled, power of two");
}

QString SpectrumPlot::yTitle() const { return tr("number of values"); }

QString SpectrumPlot::sourceText() const
{
    if (m_data.isEmpty())
        return {};
    const qint64 first = m_data.firstStep();
    const qint64 last = m_data.lastStep();
    const QString steps =
        first == last ? tr("step %1").arg(stepText(last)) : tr("steps %1–%2").arg(stepText(first), stepText(last));
    QString text = m_data.isScaled() ? tr("%1 · scale %2").arg(steps, scaleText(m_scale))
                                     : tr("%1 · not multiplied by the loss scale").arg(steps);
    if (isExporting())
        return text;
    if (m_preview)
        text += QStringLiteral(" · ") + tr("under the pointer");
    else if (m_frozen)
        text += QStringLiteral(" · ") + tr("held; Esc returns to the newest");
    return text;
}

QString SpectrumPlot::headline() const
{
    if (m_data.isEmpty())
        return {};
    const SpectrumNumbers n = m_data.numbersAt(m_scale);
    const auto part = [&](double count) {
        return countOf(count, n.exact) + QStringLiteral(" = ") + shareText(count, n.total);
    };
    QString text =
        tr("%1; zero: %2, flushed to 0: %3, subnormal: %4, normal: %5, overflowing or not finite: %6")
            .arg(sourceText(), part(n.zero), part(n.flushed), part(n.subnormal), part(n.normal), part(n.overflow));
    if (m_data.hasOthers())
        text += tr(", in %1: %2").arg(m_data.otherName(), part(n.other));
    const double octaves = m_data.headroom(m_window);
    if (!std::isfinite(octaves)) // nothing but zeros and what is not finite
        return text;
    return text +
           (m_data.isComparison() ? tr(", headroom if it were %1: %2 octaves") : tr(", headroom in %1: %2 octaves"))
               .arg(m_data.formatName(), octavesText(octaves));
}

QString SpectrumPlot::windowClassText(int exponent) const
{
    // The classes at both ends of the bin; the window's edge may lie inside.
    const ValueClass first = m_window.classAt(exponent);
    const ValueClass last = m_window.classAt(std::nextafter(exponent + 1.0, exponent));
    const auto word = [](ValueClass c) {
        switch (c) {
        case ValueClass::Flushed:
            return tr("flushed to 0");
        case ValueClass::Subnormal:
            return tr("subnormal");
        case ValueClass::Saturating:
            return tr("overflows");
        default:
            return tr("normal");
        }
    };
    // 65520 is 2^16 short of a 4096th: an edge that close to the bin's end divides nothing worth a word.
    const double edge = last == ValueClass::Saturating ? m_window.overflow
                        : first == ValueClass::Flushed ? m_window.flush
                                                       : m_window.subnormal;
    QString words = word(first);
    if (first != last && edge <= exponent + 0.999)
        words = tr("%1 or %2, the edge cuts this bin").arg(word(first), word(last));
    const QString name = m_data.formatName();
    const std::uint64_t count = m_data.countAt(exponent);
    if (count != 0 && m_data.ownAt(exponent) == 0)
        return tr("would be in %1: %2").arg(name, words);
    return tr("in %1: %2").arg(name, words);
}

QStringList SpectrumPlot::describeBin(int exponent) const
{
    if (exponent < ExponentHistogram::kMinExponent || exponent > ExponentHistogram::kMaxExponent)
        return {};
    const std::uint64_t count = m_data.countAt(exponent);
    const std::uint64_t all = m_data.all().count();
    QStringList lines{
        tr("%1 of %2 (%3)")
            .arg(countText(count), countText(all), shareText(static_cast<double>(count), static_cast<double>(all)))};
    if (m_data.hasOthers() && count != 0) {
        const std::uint64_t own = m_data.ownAt(exponent);
        lines << (m_data.isComparison()
                      ? tr("%1 in %2").arg(countText(count), m_data.otherName())
                      : tr("%1 in %2, %3 in %4")
                            .arg(countText(own), m_data.formatName(), countText(count - own), m_data.otherName()));
    }
    lines << tr("%1 ≤ |%2| < %3")
                 .arg(powerOfTwo(exponent), m_data.isScaled() ? tr("g") : tr("a"), powerOfTwo(exponent + 1));
    lines << QStringLiteral("%1 … %2").arg(roundedText(std::ldexp(1.0, exponent), 4),
                                           roundedText(std::ldexp(1.0, exponent + 1), 4));
    if (m_scaledAxis && m_data.isScaled())
        lines << tr("scaled: %1 … %2")
                     .arg(shortScaleText(std::ldexp(m_scale, exponent)),
                          shortScaleText(std::ldexp(m_scale, exponent + 1)));
    lines << windowClassText(exponent);
    return lines;
}

} // namespace halfscope
