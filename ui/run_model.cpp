// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_model.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

namespace {

bool contains(const TapSelection& selection, int module)
{
    return selection.modules.empty() ||
           std::find(selection.modules.begin(), selection.modules.end(), module) != selection.modules.end();
}

} // namespace

std::optional<TensorStatistics> RunModel::selected(const Snapshot& snapshot, std::optional<FormatId> only) const
{
    std::optional<TensorStatistics> sum;
    for (const TapStatistics& tap : snapshot.taps) {
        if (tap.tap != selection.tap || !contains(selection, tap.module) || tap.format != only.value_or(tap.format))
            continue;
        if (sum)
            sum->merge(tap.statistics);
        else
            sum = tap.statistics;
    }
    return sum;
}

std::optional<SparseHistogram> RunModel::selected(const HistoryRow& row, std::optional<FormatId> only) const
{
    std::optional<SparseHistogram> sum;
    const auto moduleCount = static_cast<int>(row.taps.size()) / kTapCount;
    for (int module = 0; module < moduleCount; ++module) {
        if (!contains(selection, module))
            continue;
        const SparseHistogram& tap = row.taps[static_cast<std::size_t>(history.tapIndex(module, selection.tap))];
        if (tap.classes.total() == 0 || tap.format != only.value_or(tap.format)) // not measured, or not meant
            continue;
        if (sum)
            sum->merge(tap);
        else
            sum = tap;
    }
    return sum;
}

std::optional<SparseHistogram> RunModel::selectedAt(std::size_t row, std::optional<FormatId> only) const
{
    HistogramSum sum;
    history.addTaps(sum, row, selection.tap, selection.modules, only);
    return sum.empty() ? std::nullopt : std::optional(sum.result());
}

const TapStatistics* RunModel::tapOf(const Snapshot& snapshot, int module, Tap tap) const
{
    const auto found = std::find_if(snapshot.taps.begin(), snapshot.taps.end(), [&](const TapStatistics& candidate) {
        return candidate.module == module && candidate.tap == tap;
    });
    return found == snapshot.taps.end() ? nullptr : &*found;
}

std::optional<FormatId> RunModel::narrowFormat(const TapSelection& of) const
{
    std::optional<FormatId> narrow;
    if (latest != nullptr) {
        for (const TapStatistics& tap : latest->taps) {
            if (tap.tap == of.tap && contains(of, tap.module) && tap.ownScale == 0)
                narrow = narrowerOf(narrow, tap.format);
        }
    }
    return narrow;
}

bool RunModel::windowIsComparison() const
{
    return !narrowFormat() && latest != nullptr && std::ranges::any_of(latest->taps, [this](const TapStatistics& tap) {
        return tap.tap == selection.tap && contains(selection, tap.module);
    });
}

bool RunModel::isSpiked(std::int64_t step) const
{
    return std::binary_search(spikedSteps.begin(), spikedSteps.end(), step);
}

int RunModel::moduleId(const std::string& name) const
{
    const auto found = std::find_if(info.modules.begin(), info.modules.end(),
                                    [&](const ModuleInfo& module) { return module.name == name; });
    return found == info.modules.end() ? -1 : static_cast<int>(found - info.modules.begin());
}

} // namespace halfscope
