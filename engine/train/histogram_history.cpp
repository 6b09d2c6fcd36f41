// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/histogram_history.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace halfscope {
namespace {

constexpr std::size_t kMergedTogether = 4;

HistorySpan spanOf(const Snapshot& snapshot)
{
    HistorySpan span;
    const bool merged = snapshot.measuredSteps > 1;
    span.firstStep = merged ? snapshot.firstStep : snapshot.step;
    span.lastStep = snapshot.step;
    span.measuredSteps = snapshot.measuredSteps;
    span.skippedSteps = merged ? snapshot.skippedSteps : snapshot.outcome == StepOutcome::Applied ? 0 : 1;
    span.minScale = merged ? snapshot.minScale : snapshot.scale;
    span.maxScale = merged ? snapshot.maxScale : snapshot.scale;
    span.lastScale = snapshot.scale;
    return span;
}

void mergeInto(HistorySpan& span, const HistorySpan& later)
{
    span.lastStep = later.lastStep;
    span.measuredSteps += later.measuredSteps;
    span.skippedSteps += later.skippedSteps;
    span.minScale = std::min(span.minScale, later.minScale);
    span.maxScale = std::max(span.maxScale, later.maxScale);
    span.lastScale = later.lastScale;
}

} // namespace

SparseHistogram SparseHistogram::from(const TapStatistics& tap)
{
    const TensorStatistics& s = tap.statistics;
    SparseHistogram h;
    const OccupiedBins bins = occupiedBins(s.histogram);
    h.firstExponent = static_cast<std::int16_t>(bins.firstExponent);
    h.counts.assign(bins.counts.begin(), bins.counts.end());
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

PackedRow HistogramHistory::pack(const Snapshot& snapshot) const
{
    std::vector<const TapStatistics*> taps(static_cast<std::size_t>(m_moduleCount) * kTapCount);
    std::vector<SparseHistogram> sums; // of taps that stand in the snapshot more than once; else empty
    for (const TapStatistics& tap : snapshot.taps) {
        if (tap.module < 0 || tap.module >= m_moduleCount)
            throw std::out_of_range("A snapshot names a module the history does not have.");
        const auto index = static_cast<std::size_t>(tapIndex(tap.module, tap.tap));
        if (taps[index] != nullptr) {
            sums.resize(taps.size());
            if (sums[index].classes.total() == 0)
                sums[index] = SparseHistogram::from(*taps[index]);
            sums[index].merge(SparseHistogram::from(tap));
        } else {
            taps[index] = &tap;
        }
    }
    PackedRow::Writer writer;
    for (std::size_t i = 0; i < taps.size(); ++i) {
        if (!sums.empty() && sums[i].classes.total() != 0)
            writer.add(sums[i]);
        else if (taps[i] != nullptr)
            writer.add(*taps[i]);
        else
            writer.addEmpty();
    }
    return writer.take();
}

void HistogramHistory::append(const Snapshot& snapshot)
{
    const HistorySpan span = spanOf(snapshot);
    if (!m_levels.front().empty() && span.firstStep <= m_levels.front().back().span.lastStep)
        throw std::invalid_argument("Snapshots must be appended in the order of their steps.");
    m_levels.front().push_back({span, pack(snapshot)});
    // A level that is full hands its four oldest rows, as one, to the next. Each level covers four times the steps of
    // the one before, so even 2^63 steps need fewer than 30 levels.
    for (std::size_t level = 0; level < m_levels.size(); ++level) {
        if (m_levels[level].size() <= (level == 0 ? kWholeRows : kRowsPerLevel))
            break;
        if (level + 1 == m_levels.size())
            m_levels.emplace_back();
        std::deque<Row>& rows = m_levels[level];
        Row merged{rows.front().span, {}};
        std::vector<PackedRow::Reader> readers;
        for (std::size_t i = 0; i < kMergedTogether; ++i) {
            readers.emplace_back(rows[i].taps);
            if (i > 0)
                mergeInto(merged.span, rows[i].span);
        }
        PackedRow::Writer writer;
        SparseHistogram sum;
        SparseHistogram one;
        for (int tap = 0; tap < m_moduleCount * kTapCount; ++tap) {
            readers.front().read(sum);
            for (std::size_t i = 1; i < readers.size(); ++i) {
                readers[i].read(one);
                sum.merge(one);
            }
            writer.add(sum);
        }
        merged.taps = writer.take();
        rows.erase(rows.begin(), rows.begin() + kMergedTogether);
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

const HistogramHistory::Row& HistogramHistory::packed(std::size_t index) const
{
    for (auto level = m_levels.rbegin(); level != m_levels.rend(); ++level) { // the last level is the oldest
        if (index < level->size())
            return (*level)[index];
        index -= level->size();
    }
    throw std::out_of_range("The history has no such row.");
}

const HistorySpan& HistogramHistory::span(std::size_t index) const { return packed(index).span; }

HistoryRow HistogramHistory::row(std::size_t index) const
{
    HistoryRow row{span(index), {}};
    row.taps.resize(static_cast<std::size_t>(m_moduleCount) * kTapCount);
    PackedRow::Reader reader(packed(index).taps);
    for (SparseHistogram& tap : row.taps)
        reader.read(tap);
    return row;
}

void HistogramHistory::addTaps(HistogramSum& sum, std::size_t index, Tap tap, const std::vector<int>& modules,
                               std::optional<FormatId> only) const
{
    std::vector<bool> wanted(static_cast<std::size_t>(m_moduleCount), modules.empty());
    for (const int module : modules) {
        if (module >= 0 && module < m_moduleCount)
            wanted[static_cast<std::size_t>(module)] = true;
    }
    PackedRow::Reader reader(packed(index).taps);
    for (const bool one : wanted) {
        for (int i = 0; i < kTapCount; ++i) {
            if (one && i == static_cast<int>(tap))
                reader.addTo(sum, only);
            else
                reader.skip();
        }
    }
}

std::size_t HistogramHistory::rowAt(std::int64_t step) const
{
    std::size_t before = 0; // rows of older levels
    std::size_t found = 0;  // rows that begin at or before `step`
    for (auto level = m_levels.rbegin(); level != m_levels.rend(); ++level) {
        const auto end = std::partition_point(level->begin(), level->end(),
                                              [step](const Row& r) { return r.span.firstStep <= step; });
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
        total += sizeof(level);
        for (const Row& row : level)
            total += sizeof(row) + row.taps.bytes();
    }
    return total;
}

} // namespace halfscope
