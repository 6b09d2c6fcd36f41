// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/spectrum_data.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

namespace halfscope {

QString formatText(FormatId format)
{
    const std::string_view name = floatFormat(format).name;
    return QString::fromUtf8(name.data(), qsizetype(name.size()));
}

void SpectrumData::take(const RunModel* run, std::optional<qint64> past)
{
    m_all.reset();
    m_parts.clear();
    m_aside.clear();
    m_ownScale = false;
    m_comparison = false;
    m_scaled = run == nullptr || run->selectionIsScaled();
    m_measuredScale = 1.0;
    if (run == nullptr)
        return;
    m_format = &floatFormat(run->windowFormat());
    std::vector<Tensor> tensors;
    const TapSelection& selection = run->selection;
    const auto wanted = [&](int module) {
        return selection.modules.empty() || std::ranges::find(selection.modules, module) != selection.modules.end();
    };
    if (past) {
        const std::size_t index = run->history.rowAt(*past);
        if (index >= run->history.rowCount())
            return;
        const HistoryRow& row = run->history.row(index);
        if (const auto histogram = run->selected(row))
            m_all = histogram->expand();
        for (int module = 0; module < run->history.moduleCount(); ++module) {
            const SparseHistogram& tap =
                row.taps[static_cast<std::size_t>(run->history.tapIndex(module, selection.tap))];
            if (wanted(module) && tap.classes.total() != 0)
                tensors.push_back({tap.format, tap.expand(), tap.ownScale});
        }
        m_firstStep = row.firstStep;
        m_lastStep = row.lastStep;
        m_measuredScale = static_cast<double>(row.lastScale);
    } else if (run->latest != nullptr) {
        const Snapshot& snapshot = *run->latest;
        m_all = run->selected(snapshot);
        for (const TapStatistics& tap : snapshot.taps) {
            if (tap.tap == selection.tap && wanted(tap.module))
                tensors.push_back({tap.format, tap.statistics, tap.ownScale});
        }
        m_lastStep = snapshot.step;
        m_firstStep = snapshot.measuredSteps > 1 ? snapshot.firstStep : snapshot.step;
        m_measuredScale = static_cast<double>(snapshot.scale);
    }
    if (!m_scaled)
        m_measuredScale = 1.0;
    takeParts(tensors);
    // A step of the past may have been in other formats than the newest one.
    std::optional<FormatId> narrow;
    for (const auto& [format, statistics] : m_parts)
        narrow = narrowerOf(narrow, format);
    if (m_all) {
        m_format = &floatFormat(narrow.value_or(FormatId::Fp16));
        m_comparison = !narrow;
    }
}

void SpectrumData::takeParts(const std::vector<Tensor>& tensors)
{
    const float scale = tensors.empty() ? 0.0F : tensors.front().ownScale;
    m_ownScale = scale != 0 && std::ranges::all_of(tensors, [&](const Tensor& t) { return t.ownScale == scale; });
    if (m_ownScale)
        m_measuredScale = static_cast<double>(scale);
    for (const Tensor& t : tensors) {
        if (t.ownScale == 0 || m_ownScale)
            addPart(t.format, t.statistics);
        else
            m_aside.emplace_back(t.format, t.statistics);
    }
}

void SpectrumData::addPart(FormatId format, const TensorStatistics& statistics)
{
    const auto known = std::ranges::find(m_parts, format, &FormatPart::first);
    if (known == m_parts.end())
        m_parts.emplace_back(format, statistics);
    else
        known->second.merge(statistics);
}

const TensorStatistics* SpectrumData::own() const
{
    const auto found = std::ranges::find(m_parts, m_format->id, &FormatPart::first);
    return found == m_parts.end() ? nullptr : &found->second;
}

std::uint64_t SpectrumData::countAt(int exponent) const
{
    if (!m_all || exponent < ExponentHistogram::kMinExponent || exponent > ExponentHistogram::kMaxExponent)
        return 0;
    return m_all->histogram.at(exponent);
}

std::uint64_t SpectrumData::ownAt(int exponent) const
{
    const TensorStatistics* mine = own();
    if (mine == nullptr || exponent < ExponentHistogram::kMinExponent || exponent > ExponentHistogram::kMaxExponent)
        return 0;
    return mine->histogram.at(exponent);
}

ClassCounts SpectrumData::ownClasses() const
{
    const TensorStatistics* mine = own();
    return mine != nullptr ? mine->classes : ClassCounts{};
}

bool SpectrumData::hasOthers() const
{
    return !m_aside.empty() || std::ranges::any_of(m_parts, [this](const auto& part) {
        return part.first != m_format->id && part.second.count() > 0;
    });
}

QString SpectrumData::formatName() const { return formatText(m_format->id); }

QString SpectrumData::otherName() const
{
    QStringList names;
    for (const auto& [format, statistics] : m_parts) {
        if (format != m_format->id && statistics.count() > 0)
            names << formatText(format);
    }
    for (const auto& [format, statistics] : m_aside) {
        const QString name =
            QCoreApplication::translate("SpectrumPlot", "%1 with its own scale").arg(formatText(format));
        if (!names.contains(name))
            names << name;
    }
    names.sort();
    return names.size() > 2 ? QCoreApplication::translate("SpectrumPlot", "other formats")
                            : names.join(QCoreApplication::translate("SpectrumPlot", " and "));
}

QString SpectrumData::otherShortName() const
{
    const QString name = otherName();
    if (m_aside.empty() && !name.contains(QLatin1Char(' ')))
        return name;
    const bool onlyAside = std::ranges::none_of(
        m_parts, [this](const auto& part) { return part.first != m_format->id && part.second.count() > 0; });
    return onlyAside ? QCoreApplication::translate("SpectrumPlot", "own scales")
                     : QCoreApplication::translate("SpectrumPlot", "others");
}

SpectrumNumbers SpectrumData::numbersAt(double scale) const
{
    SpectrumNumbers n;
    n.exact = scale == m_measuredScale;
    for (const auto& [format, statistics] : m_parts) {
        const auto of = [&classes = statistics.classes](ValueClass c) { return static_cast<double>(classes[c]); };
        const ClassEstimate guess = n.exact ? ClassEstimate() : estimateClasses(statistics, floatFormat(format), scale);
        const double subnormal = n.exact ? of(ValueClass::Subnormal) : guess.subnormal.value;
        const double normal = n.exact ? of(ValueClass::Normal) : guess.normal.value;
        n.zero += of(ValueClass::Zero);
        n.flushed += n.exact ? of(ValueClass::Flushed) : guess.flushed.value;
        n.overflow +=
            (n.exact ? of(ValueClass::Saturating) : guess.overflow.value) + of(ValueClass::Inf) + of(ValueClass::NaN);
        if (format == m_format->id) {
            n.subnormal += subnormal;
            n.normal += normal;
        } else {
            n.other += subnormal + normal;
        }
        n.total += static_cast<double>(statistics.count());
    }
    for (const auto& [format, statistics] : m_aside) {
        const auto of = [&classes = statistics.classes](ValueClass c) { return static_cast<double>(classes[c]); };
        n.zero += of(ValueClass::Zero);
        n.flushed += of(ValueClass::Flushed);
        n.overflow += of(ValueClass::Saturating) + of(ValueClass::Inf) + of(ValueClass::NaN);
        n.other += of(ValueClass::Subnormal) + of(ValueClass::Normal);
        n.total += static_cast<double>(statistics.count());
    }
    return n;
}

double SpectrumData::headroom(const FormatWindow& window) const
{
    const TensorStatistics* mine = own();
    return headroomOctaves(mine != nullptr ? *mine : *m_all, window);
}

} // namespace halfscope
