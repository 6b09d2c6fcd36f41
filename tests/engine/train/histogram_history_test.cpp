// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/histogram_history.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/rng.h"

namespace halfscope {
namespace {

TapStatistics makeTap(int module, Tap tap, std::initializer_list<std::pair<int, std::uint64_t>> bins)
{
    TapStatistics t;
    t.module = static_cast<std::int16_t>(module);
    t.tap = tap;
    t.format = FormatId::Fp16;
    for (const auto& [exponent, count] : bins) {
        t.statistics.histogram.at(exponent) += count;
        t.statistics.classes[ValueClass::Normal] += count;
    }
    return t;
}

TEST(SparseHistogram, KeepsEverythingOfATap)
{
    TapStatistics tap = makeTap(0, Tap::WeightGrad, {{-149, 1}, {-3, 7}, {0, 2}, {127, 5}});
    tap.statistics.classes[ValueClass::Zero] = 3;
    tap.statistics.classes[ValueClass::NaN] = 4;
    tap.statistics.absMin = 1e-40F;
    tap.statistics.absMax = 3e38F;
    tap.statistics.sum = -1.25;
    tap.statistics.sumSquares = 8.5;
    tap.statistics.unscaledToInfinity = 2;
    const SparseHistogram h = SparseHistogram::from(tap);
    const TensorStatistics back = h.expand();
    EXPECT_EQ(back.histogram, tap.statistics.histogram);
    EXPECT_EQ(back.classes, tap.statistics.classes);
    EXPECT_EQ(back.absMin, 1e-40F);
    EXPECT_EQ(back.absMax, 3e38F);
    EXPECT_EQ(back.sum, -1.25);
    EXPECT_EQ(back.sumSquares, 8.5);
    EXPECT_EQ(back.unscaledToInfinity, 2U);
    EXPECT_EQ(h.format, FormatId::Fp16);
    EXPECT_EQ(h.at(-149), 1U);
    EXPECT_EQ(h.at(-3), 7U);
    EXPECT_EQ(h.at(-4), 0U);
    EXPECT_EQ(h.at(127), 5U);
    EXPECT_EQ(h.at(-150), 0U);
    EXPECT_EQ(h.at(128), 0U);
    EXPECT_EQ(h.counts.size(), static_cast<std::size_t>(ExponentHistogram::kBinCount));
}

TEST(SparseHistogram, StoresTheOccupiedRangeOnly)
{
    const SparseHistogram h = SparseHistogram::from(makeTap(0, Tap::WeightGrad, {{-20, 1}, {-18, 1}}));
    EXPECT_EQ(h.firstExponent, -20);
    EXPECT_EQ(h.counts, (std::vector<std::uint64_t>{1, 0, 1}));
    const SparseHistogram none = SparseHistogram::from(makeTap(0, Tap::WeightGrad, {}));
    EXPECT_TRUE(none.counts.empty());
    EXPECT_EQ(none.expand().histogram, ExponentHistogram());
}

// Random tap whose sums are small integers, so that additions are exact in any order.
TapStatistics randomTap(Rng& rng)
{
    TapStatistics t;
    t.format = rng.below(2) == 0 ? FormatId::Fp16 : FormatId::Bf16;
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
        const std::uint64_t count = 1 + rng.below(1000);
        t.statistics.histogram.bins[rng.below(ExponentHistogram::kBinCount)] += count;
        t.statistics.classes[ValueClass::Normal] += count;
        t.statistics.absMax = std::max(t.statistics.absMax, static_cast<float>(1 + rng.below(100)));
        t.statistics.absMin = 0.5F / static_cast<float>(1 + rng.below(100));
    }
    for (std::uint64_t& count : t.statistics.classes.of)
        count += rng.below(3);
    t.statistics.sum = static_cast<double>(rng.below(1000)) - 500;
    t.statistics.sumSquares = static_cast<double>(rng.below(1000));
    t.statistics.unscaledToInfinity = rng.below(3);
    return t;
}

TEST(SparseHistogram, MergesLikeTheFullStatistics)
{
    Rng rng(11);
    for (int round = 0; round < 2000; ++round) {
        const TapStatistics a = randomTap(rng);
        const TapStatistics b = randomTap(rng);
        SparseHistogram sparse = SparseHistogram::from(a);
        sparse.merge(SparseHistogram::from(b));
        TensorStatistics full = a.statistics;
        full.merge(b.statistics);
        const TensorStatistics merged = sparse.expand();
        // A tap without a value is one that was not measured, whatever its sums say.
        if (a.statistics.count() == 0 || b.statistics.count() == 0)
            continue;
        ASSERT_EQ(merged.histogram, full.histogram);
        ASSERT_EQ(merged.classes, full.classes);
        ASSERT_EQ(merged.absMin, full.absMin);
        ASSERT_EQ(merged.absMax, full.absMax);
        ASSERT_EQ(merged.sum, full.sum);
        ASSERT_EQ(merged.sumSquares, full.sumSquares);
        ASSERT_EQ(merged.unscaledToInfinity, full.unscaledToInfinity);
        ASSERT_EQ(sparse.format, b.format);
    }
}

TEST(SparseHistogram, MergingWithNothingChangesNothing)
{
    const SparseHistogram h = SparseHistogram::from(makeTap(0, Tap::WeightGrad, {{-5, 3}}));
    SparseHistogram left = h;
    left.merge({});
    EXPECT_EQ(left.counts, h.counts);
    EXPECT_EQ(left.format, FormatId::Fp16);
    SparseHistogram right;
    right.merge(h);
    EXPECT_EQ(right.counts, h.counts);
    EXPECT_EQ(right.firstExponent, -5);
}

constexpr int kModules = 2;

// A snapshot of step `step` whose contents follow from the step, so that sums over any range can be recomputed.
Snapshot snapshotOf(std::int64_t step)
{
    Snapshot s;
    s.step = s.firstStep = step;
    s.scale = static_cast<float>(1 + step % 1000);
    s.minScale = s.maxScale = s.scale;
    s.outcome = step % 7 == 0 ? StepOutcome::SkippedOverflow : StepOutcome::Applied;
    s.skippedSteps = step % 7 == 0 ? 1 : 0;
    // The order of the backward pass: the later module first.
    s.taps.push_back(makeTap(1, Tap::WeightGrad, {{static_cast<int>(-20 + step % 5), 3}, {-2, 1}}));
    s.taps.push_back(makeTap(0, Tap::ActivationGrad, {{static_cast<int>(-30 + step % 11), 2}}));
    TensorStatistics& first = s.taps[0].statistics;
    first.absMin = 1.0F / static_cast<float>(step);
    first.absMax = static_cast<float>(step % 100'003);
    first.sum = static_cast<double>(step);
    first.sumSquares = 2.0 * static_cast<double>(step);
    return s;
}

// Checks that row `row` is exactly the sum of the steps it claims.
void expectRowIsSum(const HistoryRow& row, const HistogramHistory& history)
{
    HistogramHistory one(kModules);
    TensorStatistics weight;
    TensorStatistics activation;
    float minScale = std::numeric_limits<float>::infinity();
    float maxScale = 0.0F;
    std::int64_t skipped = 0;
    for (std::int64_t step = row.firstStep; step <= row.lastStep; ++step) {
        const Snapshot s = snapshotOf(step);
        weight.merge(s.taps[0].statistics);
        activation.merge(s.taps[1].statistics);
        minScale = std::min(minScale, s.scale);
        maxScale = std::max(maxScale, s.scale);
        skipped += s.skippedSteps;
    }
    ASSERT_EQ(row.measuredSteps, row.lastStep - row.firstStep + 1);
    EXPECT_EQ(row.skippedSteps, skipped);
    EXPECT_EQ(row.minScale, minScale);
    EXPECT_EQ(row.maxScale, maxScale);
    EXPECT_EQ(row.lastScale, snapshotOf(row.lastStep).scale);
    ASSERT_EQ(row.taps.size(), static_cast<std::size_t>(kModules * kTapCount));
    const auto tapOf = [&](int module, Tap tap) {
        return row.taps[static_cast<std::size_t>(history.tapIndex(module, tap))].expand();
    };
    const TensorStatistics storedWeight = tapOf(1, Tap::WeightGrad);
    EXPECT_EQ(storedWeight.histogram, weight.histogram);
    EXPECT_EQ(storedWeight.classes, weight.classes);
    EXPECT_EQ(storedWeight.absMin, weight.absMin);
    EXPECT_EQ(storedWeight.absMax, weight.absMax);
    EXPECT_EQ(storedWeight.sum, weight.sum); // integers: exact
    EXPECT_EQ(storedWeight.sumSquares, weight.sumSquares);
    EXPECT_EQ(tapOf(0, Tap::ActivationGrad).histogram, activation.histogram);
    EXPECT_EQ(tapOf(0, Tap::WeightGrad).count(), 0U);
    EXPECT_EQ(tapOf(1, Tap::Activation).count(), 0U);
}

TEST(HistogramHistory, StartsEmpty)
{
    const HistogramHistory history(3);
    EXPECT_EQ(history.moduleCount(), 3);
    EXPECT_EQ(history.rowCount(), 0U);
    EXPECT_EQ(history.rowAt(1), 0U);
    EXPECT_THROW(history.row(0), std::out_of_range);
}

TEST(HistogramHistory, RecentRowsStayWhole)
{
    HistogramHistory history(kModules);
    for (std::int64_t step = 1; step <= 1024; ++step)
        history.append(snapshotOf(step));
    ASSERT_EQ(history.rowCount(), HistogramHistory::kWholeRows);
    for (std::size_t i = 0; i < history.rowCount(); ++i)
        ASSERT_EQ(history.row(i).measuredSteps, 1);
    history.append(snapshotOf(1025)); // the four oldest become one
    ASSERT_EQ(history.rowCount(), HistogramHistory::kWholeRows - 2);
    EXPECT_EQ(history.row(0).measuredSteps, 4);
    EXPECT_EQ(history.row(1).measuredSteps, 1);
    expectRowIsSum(history.row(0), history);
    for (std::int64_t step = 1026; step <= 10'000; ++step) {
        history.append(snapshotOf(step));
        ASSERT_EQ(history.row(history.rowCount() - 1).firstStep, step);
    }
    for (std::size_t i = 0; i < history.rowCount(); ++i)
        expectRowIsSum(history.row(i), history);
}

TEST(HistogramHistory, AMillionStepsAreExactAndBounded)
{
    constexpr std::int64_t kSteps = 1'000'000;
    HistogramHistory history(kModules);
    TensorStatistics expectedWeight;
    TensorStatistics expectedActivation;
    std::size_t largest = 0;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
        const Snapshot s = snapshotOf(step);
        expectedWeight.merge(s.taps[0].statistics);
        expectedActivation.merge(s.taps[1].statistics);
        history.append(s);
        if (step % 50'000 == 0)
            largest = std::max(largest, history.bytes());
    }

    // Order and coverage without a gap; totals equal to the brute-force sums.
    TensorStatistics weight;
    TensorStatistics activation;
    std::int64_t next = 1;
    std::int64_t skipped = 0;
    for (std::size_t i = 0; i < history.rowCount(); ++i) {
        const HistoryRow& row = history.row(i);
        ASSERT_EQ(row.firstStep, next);
        ASSERT_EQ(row.measuredSteps, row.lastStep - row.firstStep + 1);
        next = row.lastStep + 1;
        skipped += row.skippedSteps;
        weight.merge(row.taps[static_cast<std::size_t>(history.tapIndex(1, Tap::WeightGrad))].expand());
        activation.merge(row.taps[static_cast<std::size_t>(history.tapIndex(0, Tap::ActivationGrad))].expand());
    }
    EXPECT_EQ(next, kSteps + 1);
    EXPECT_EQ(skipped, kSteps / 7);
    EXPECT_EQ(weight.histogram, expectedWeight.histogram);
    EXPECT_EQ(weight.classes, expectedWeight.classes);
    EXPECT_EQ(weight.absMin, expectedWeight.absMin);
    EXPECT_EQ(weight.absMax, expectedWeight.absMax);
    EXPECT_EQ(weight.sum, expectedWeight.sum); // 5e11: integers, exact in double
    EXPECT_EQ(weight.sumSquares, expectedWeight.sumSquares);
    EXPECT_EQ(activation.histogram, expectedActivation.histogram);

    // Level k holds at most 256 rows of 4^k steps; those of k = 1..6 cover 1.4 million, so there are no more than 6.
    const std::size_t rowLimit = HistogramHistory::kWholeRows + 6 * HistogramHistory::kRowsPerLevel;
    EXPECT_LE(history.rowCount(), rowLimit);
    // A row: its six taps, and at most 19 + 11 occupied bins of 8 bytes (exponents -20..-2 and -30..-20).
    const std::size_t rowBytes = sizeof(HistoryRow) + 6 * sizeof(SparseHistogram) + 30 * sizeof(std::uint64_t);
    const std::size_t levelBytes = 8 * sizeof(std::deque<HistoryRow>) + sizeof(HistogramHistory);
    EXPECT_LE(largest, rowLimit * rowBytes + levelBytes);
    std::cout << "1,000,000 steps of " << kModules << " modules: " << history.rowCount() << " rows, " << history.bytes()
              << " bytes, " << history.bytes() / history.rowCount() << " bytes a row\n";
}

TEST(HistogramHistory, RowAtFindsTheRowOfAStep)
{
    HistogramHistory history(kModules);
    constexpr std::int64_t kSteps = 30'000;
    for (std::int64_t step = 1; step <= kSteps; ++step)
        history.append(snapshotOf(step));
    for (std::int64_t step = 1; step <= kSteps; ++step) {
        const std::size_t index = history.rowAt(step);
        ASSERT_LT(index, history.rowCount());
        ASSERT_LE(history.row(index).firstStep, step);
        ASSERT_GE(history.row(index).lastStep, step);
    }
    EXPECT_EQ(history.rowAt(0), history.rowCount());
    EXPECT_EQ(history.rowAt(kSteps + 100), history.rowCount() - 1);
}

TEST(HistogramHistory, RowAtAStepThatWasNotMeasured)
{
    HistogramHistory history(kModules);
    for (const std::int64_t step : {10, 20, 30})
        history.append(snapshotOf(step));
    EXPECT_EQ(history.rowAt(9), 3U); // nothing before it
    EXPECT_EQ(history.rowAt(10), 0U);
    EXPECT_EQ(history.rowAt(19), 0U);
    EXPECT_EQ(history.rowAt(20), 1U);
    EXPECT_EQ(history.rowAt(1'000'000), 2U);
}

TEST(HistogramHistory, TakesSnapshotsThatAreSums)
{
    Snapshot s = snapshotOf(9);
    s.firstStep = 5;
    s.measuredSteps = 5;
    s.skippedSteps = 2;
    s.minScale = 3.0F;
    s.maxScale = 77.0F;
    HistogramHistory history(kModules);
    history.append(snapshotOf(4));
    history.append(s);
    ASSERT_EQ(history.rowCount(), 2U);
    const HistoryRow& row = history.row(1);
    EXPECT_EQ(row.firstStep, 5);
    EXPECT_EQ(row.lastStep, 9);
    EXPECT_EQ(row.measuredSteps, 5);
    EXPECT_EQ(row.skippedSteps, 2);
    EXPECT_EQ(row.minScale, 3.0F);
    EXPECT_EQ(row.maxScale, 77.0F);
    EXPECT_EQ(history.rowAt(7), 1U);
}

TEST(HistogramHistory, RefusesWhatWouldSpoilIt)
{
    HistogramHistory history(kModules);
    history.append(snapshotOf(5));
    EXPECT_THROW(history.append(snapshotOf(5)), std::invalid_argument);
    EXPECT_THROW(history.append(snapshotOf(4)), std::invalid_argument);
    Snapshot foreign;
    foreign.step = 6;
    foreign.taps.push_back(makeTap(kModules, Tap::WeightGrad, {{0, 1}}));
    EXPECT_THROW(history.append(foreign), std::out_of_range);
    EXPECT_EQ(history.rowCount(), 1U);
    EXPECT_THROW(history.clear(-1), std::invalid_argument);
}

TEST(HistogramHistory, VersionChangesWithEveryChange)
{
    HistogramHistory history(kModules);
    const std::uint64_t start = history.version();
    history.append(snapshotOf(1));
    const std::uint64_t appended = history.version();
    EXPECT_NE(appended, start);
    history.clear(4);
    EXPECT_NE(history.version(), appended);
    EXPECT_EQ(history.rowCount(), 0U);
    EXPECT_EQ(history.moduleCount(), 4);
}

} // namespace
} // namespace halfscope
