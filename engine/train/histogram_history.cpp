// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/histogram_history.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace halfscope {
namespace {

constexpr std::size_t kMergedTogether = 4;

HistoryRow rowOf(const Snapshot& snapshot, int moduleCount)
{
    HistoryRow row;
    const bool merged = snapshot.measuredSteps > 1;
    row.firstStep = merged ? snapshot.firstStep : snapshot.step;
    row.lastStep = snapshot.step;
    row.measuredSteps = snapshot.measuredSteps;
    row.skippedSteps = merged ? snapshot.skippedSteps : snapshot.outcome == StepOutcome::Applied ? 0 : 1;
    row.minScale = merged ? snapshot.minScale : snapshot.scale;
    row.maxScale = merged ? snapshot.maxScale : snapshot.scale;
    row.lastScale = snapshot.scale;
    row.taps.resize(static_cast<std::size_t>(moduleCount) * kTapCount);
    for (const TapStatistics& tap : snapshot.taps) {
        if (tap.module < 0 || tap.module >= moduleCount)
            throw std::out_of_range("A snapshot names a module the history does not have.");
        const auto index = static_cast<std::size_t>(tap.module) * kTapCount + static_cast<std::size_t>(tap.tap);
        row.taps[index].merge(SparseHistogram::from(tap));
    }
    return row;
}

void mergeInto(HistoryRow& row, const HistoryRow& later)
{
    row.lastStep = later.lastStep;
    row.measuredSteps += later.measuredSteps;
    row.skippedSteps += later.skippedSteps;
    row.minScale = std::min(row.minScale, later.minScale);
    row.maxScale = std::max(row.maxScale, later.maxScale);
    row.lastScale = later.lastScale;
    for (std::size_t i = 0; i < row.taps.size(); ++i)
        row.taps[i].merge(later.taps[i]);
}

} // namespace

SparseHistogram SparseHistogram::from(const TapStatistics& tap)
{
    const TensorStatistics& s = tap.statistics;
    SparseHistogram h;
    const auto occupied = [](std::uint64_t n) { return n != 0; };
    const auto first = std::ranges::find_if(s.histogram.bins, occupied);
    if (first != s.histogram.bins.end()) {
        const auto last = std::find_if(s.histogram.bins.rbegin(), s.histogram.bins.rend(), occupied).base();
        h.firstExponent =
            static_cast<std::int16_t>(ExponentHistogram::kMinExponent + (first - s.histogram.bins.begin()));
        h.counts.assign(first, last);
    }
    h.classes = s.classes;
    h.absMin = s.absMin;
    h.absMax = s.absMax;
    h.sum = s.sum;
    h.sumSquares = s.sumSquares;
    h.unscaledToInfinity = s.unscaledToInfinity;
    h.format = tap.format;
    h.ownScale = tap.ownScale;
    return h;
}

void SparseHistogram::merge(const SparseHistogram& later)
{
    if (later.classes.total() == 0)
        return;
    if (classes.total() == 0) {
        *this = later;
        return;
    }
    if (counts.empty()) {
        firstExponent = later.firstExponent;
        counts = later.counts;
    } else if (!later.counts.empty()) {
        const int begin = std::min<int>(firstExponent, later.firstExponent);
        const int end = std::max(firstExponent + static_cast<int>(counts.size()),
                                 later.firstExponent + static_cast<int>(later.counts.size()));
        if (static_cast<std::size_t>(end - begin) != counts.size()) { // exactly as long as needed: thousands are kept
            std::vector<std::uint64_t> wider(static_cast<std::size_t>(end - begin));
            std::ranges::copy(counts, wider.begin() + (firstExponent - begin));
            counts = std::move(wider);
            firstExponent = static_cast<std::int16_t>(begin);
        }
        const auto offset = static_cast<std::size_t>(later.firstExponent - begin);
        for (std::size_t i = 0; i < later.counts.size(); ++i)
            counts[offset + i] += later.counts[i];
    }
    for (std::size_t c = 0; c < classes.of.size(); ++c)
        classes.of[c] += later.classes.of[c];
    if (later.absMax > 0.0F) { // 0: no nonzero finite value
        absMin = absMax > 0.0F ? std::min(absMin, later.absMin) : later.absMin;
        absMax = std::max(absMax, later.absMax);
    }
    sum += later.sum;
    sumSquares += later.sumSquares;
    unscaledToInfinity += later.unscaledToInfinity;
    format = later.format;
    ownScale = later.ownScale;
}

std::uint64_t SparseHistogram::at(int exponent) const
{
    const int index = exponent - firstExponent;
    return index >= 0 && index < static_cast<int>(counts.size()) ? counts[static_cast<std::size_t>(index)] : 0;
}

TensorStatistics SparseHistogram::expand() const
{
    TensorStatistics s;
    s.classes = classes;
    std::ranges::copy(counts, s.histogram.bins.begin() +
                                  (counts.empty() ? 0 : firstExponent - ExponentHistogram::kMinExponent));
    s.absMin = absMin;
    s.absMax = absMax;
    s.sum = sum;
    s.sumSquares = sumSquares;
    s.unscaledToInfinity = unscaledToInfinity;
    return s;
}

HistogramHistory::HistogramHistory(int moduleCount) { clear(moduleCount); }

void HistogramHistory::clear(int moduleCount)
{
    if (moduleCount < 0)
        throw std::invalid_argument("A history cannot have a negative number of modules.");
    m_moduleCount = moduleCount;
    m_levels.assign(1, {});
    ++m_version;
}

void HistogramHistory::append(const Snapshot& snapshot)
{
    HistoryRow row = rowOf(snapshot, m_moduleCount);
    if (!m_levels.front().empty() && row.firstStep <= m_levels.front().back().lastStep)
        throw std::invalid_argument("Snapshots must be appended in the order of their steps.");
    m_levels.front().push_back(std::move(row));
    // A level that is full hands its four oldest rows, as one, to the next. Each level covers four times the steps of
    // the one before, so even 2^63 steps need fewer than 30 levels.
    for (std::size_t level = 0; level < m_levels.size(); ++level) {
        if (m_levels[level].size() <= (level == 0 ? kWholeRows : kRowsPerLevel))
            break;
        if (level + 1 == m_levels.size())
            m_levels.emplace_back();
        std::deque<HistoryRow>& rows = m_levels[level];
        HistoryRow merged = std::move(rows.front());
        rows.pop_front();
        for (std::size_t i = 1; i < kMergedTogether; ++i) {
            mergeInto(merged, rows.front());
            rows.pop_front();
        }
        m_levels[level + 1].push_back(std::move(merged));
    }
    ++m_version;
}

std::size_t HistogramHistory::rowCount() const
{
    std::size_t count = 0;
    for (const auto& level : m_levels)
        count += level.size();
    return count;
}

const HistoryRow& HistogramHistory::row(std::size_t index) const
{
    for (auto level = m_levels.rbegin(); level != m_levels.rend(); ++level) { // the last level is the oldest
        if (index < level->size())
            return (*level)[index];
        index -= level->size();
    }
    throw std::out_of_range("The history has no such row.");
}

std::size_t HistogramHistory::rowAt(std::int64_t step) const
{
    std::size_t before = 0; // rows of older levels
    std::size_t found = 0;  // rows that begin at or before `step`
    for (auto level = m_levels.rbegin(); level != m_levels.rend(); ++level) {
        const auto end = std::partition_point(level->begin(), level->end(),
                                              [step](const HistoryRow& r) { return r.firstStep <= step; });
        found = before + static_cast<std::size_t>(end - level->begin());
        before += level->size();
        if (end != level->end())
            break;
    }
    return found > 0 ? found - 1 : rowCount();
}

std::size_t HistogramHistory::bytes() const
{
    std::size_t total = sizeof(*this);
    for (const auto& level : m_levels) {
        total += sizeof(std::deque<HistoryRow>);
        for (const HistoryRow& row : level) {
            total += sizeof(row) + row.taps.capacity() * sizeof(SparseHistogram);
            for (const SparseHistogram& tap : row.taps)
                total += tap.counts.capacity() * sizeof(std::uint64_t);
        }
    }
    return total;
}

} // namespace halfscope
