// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/update_history.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/train/histogram_history.h"

namespace halfscope {

namespace {

constexpr std::size_t kMergedTogether = 4;

void mergeInto(UpdateRow& row, const UpdateRow& later)
{
    row.lastStep = later.lastStep;
    row.measuredSteps += later.measuredSteps;
    for (const SparseUpdates& update : later.modules) {
        const auto same = std::ranges::find(row.modules, update.module, &SparseUpdates::module);
        if (same == row.modules.end()) {
            row.modules.push_back(update);
            continue;
        }
        ModuleUpdates sum = same->expand();
        const ModuleUpdates more = update.expand();
        sum.statistics.merge(more.statistics);
        sum.format = more.format;
        *same = SparseUpdates::from(sum);
    }
    std::ranges::stable_sort(row.modules, {}, &SparseUpdates::module);
}

} // namespace

SparseUpdates SparseUpdates::from(const ModuleUpdates& updates)
{
    const UpdateStatistics& s = updates.statistics;
    SparseUpdates sparse;
    sparse.module = updates.module;
    sparse.format = updates.format;
    sparse.weights = s.weights;
    sparse.unchanged = s.unchanged;
    sparse.fromZero = s.fromZero;
    sparse.nonfinite = s.nonfinite;
    sparse.lost = s.lost;
    const OccupiedBins bins = occupiedBins(s.ratios);
    sparse.firstExponent = static_cast<std::int16_t>(bins.firstExponent);
    sparse.ratios.assign(bins.counts.begin(), bins.counts.end());
    return sparse;
}

ModuleUpdates SparseUpdates::expand() const
{
    ModuleUpdates updates;
    updates.module = module;
    updates.format = format;
    UpdateStatistics& s = updates.statistics;
    s.weights = weights;
    s.unchanged = unchanged;
    s.fromZero = fromZero;
    s.nonfinite = nonfinite;
    s.lost = lost;
    std::ranges::copy(ratios,
                      s.ratios.bins.begin() + (ratios.empty() ? 0 : firstExponent - ExponentHistogram::kMinExponent));
    return updates;
}

void UpdateHistory::append(const Snapshot& snapshot)
{
    if (snapshot.updates.empty())
        return;
    UpdateRow row;
    row.firstStep = snapshot.measuredSteps > 1 ? snapshot.firstStep : snapshot.step;
    row.lastStep = snapshot.step;
    row.measuredSteps = snapshot.measuredSteps;
    for (const ModuleUpdates& update : snapshot.updates)
        row.modules.push_back(SparseUpdates::from(update));
    if (m_levels.empty())
        m_levels.emplace_back();
    if (!m_levels.front().empty() && row.firstStep <= m_levels.front().back().lastStep)
        throw std::invalid_argument("Snapshots must be appended in the order of their steps.");
    m_levels.front().push_back(std::move(row));
    for (std::size_t level = 0; level < m_levels.size(); ++level) {
        const std::size_t most = level == 0 ? HistogramHistory::kWholeRows : HistogramHistory::kRowsPerLevel;
        if (m_levels[level].size() <= most)
            break;
        if (level + 1 == m_levels.size())
            m_levels.emplace_back();
        std::deque<UpdateRow>& rows = m_levels[level];
        UpdateRow merged = std::move(rows.front());
        rows.pop_front();
        for (std::size_t i = 1; i < kMergedTogether; ++i) {
            mergeInto(merged, rows.front());
            rows.pop_front();
        }
        m_levels[level + 1].push_back(std::move(merged));
    }
}

void UpdateHistory::clear() { m_levels.clear(); }

std::size_t UpdateHistory::rowCount() const
{
    std::size_t count = 0;
    for (const auto& level : m_levels)
        count += level.size();
    return count;
}

const UpdateRow& UpdateHistory::row(std::size_t index) const
{
    for (auto level = m_levels.rbegin(); level != m_levels.rend(); ++level) { // the last level is the oldest
        if (index < level->size())
            return (*level)[index];
        index -= level->size();
    }
    throw std::out_of_range("The history of updates has no such row.");
}

std::size_t UpdateHistory::bytes() const
{
    std::size_t total = 0;
    for (const auto& level : m_levels) {
        for (const UpdateRow& row : level) {
            total += sizeof(row) + row.modules.capacity() * sizeof(SparseUpdates);
            for (const SparseUpdates& update : row.modules)
                total += update.ratios.capacity() * sizeof(std::uint64_t);
        }
    }
    return total;
}

} // namespace halfscope
