// SPDX-License-Identifier: GPL-3.0-or-later
// What stands between a million steps and a thousand pixels: extremes, paths, merged marks.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "ui/plots/min_max_pyramid.h"
#include "ui/plots/run_digest.h"
#include "ui/plots/step_path.h"

namespace halfscope {

namespace {

MinMaxPyramid::Extent bruteForce(const MinMaxPyramid& series, std::size_t begin, std::size_t end)
{
    MinMaxPyramid::Extent extent;
    for (std::size_t i = begin; i < std::min(end, series.size()); ++i)
        extent.include(series.value(i));
    return extent;
}

TEST(MinMaxPyramid, AgreesWithBruteForceForAnyStretch)
{
    std::mt19937 random(1);
    MinMaxPyramid series;
    for (int i = 0; i < 5000; ++i) {
        const bool gap = random() % 7 == 0;
        series.append(gap ? std::numeric_limits<float>::infinity() : static_cast<float>(random() % 1000));
    }
    for (int i = 0; i < 3000; ++i) {
        const std::size_t begin = random() % 5000;
        const std::size_t end = begin + random() % 5100;
        const auto expected = bruteForce(series, begin, end);
        const auto actual = series.extent(begin, end);
        ASSERT_EQ(actual.valid, expected.valid) << begin << ".." << end;
        if (expected.valid) {
            ASSERT_EQ(actual.min, expected.min) << begin << ".." << end;
            ASSERT_EQ(actual.max, expected.max) << begin << ".." << end;
        }
    }
}

TEST(MinMaxPyramid, EveryLengthWhileGrowing)
{
    MinMaxPyramid series;
    for (int i = 0; i < 600; ++i) {
        series.append(static_cast<float>((i * 7919) % 601));
        const auto expected = bruteForce(series, 0, series.size());
        const auto actual = series.extent(0, series.size());
        ASSERT_EQ(actual.min, expected.min) << i;
        ASSERT_EQ(actual.max, expected.max) << i;
    }
}

TEST(MinMaxPyramid, OnlyGapsHaveNoExtent)
{
    MinMaxPyramid series;
    for (int i = 0; i < 40; ++i)
        series.append(std::numeric_limits<float>::quiet_NaN());
    EXPECT_FALSE(series.extent(0, 40).valid);
    EXPECT_FALSE(series.extent(10, 10).valid);
}

TEST(StepPath, KeepsALonePeakAmongAMillionSteps)
{
    MinMaxPyramid series;
    for (int i = 0; i < 1000000; ++i)
        series.append(i == 617283 ? 99.0F : 1.0F);
    const auto paths = stepPath(series, 0, 1000000, 50, 800, PathShape::Lines);
    ASSERT_EQ(paths.size(), 1U);
    EXPECT_LE(paths.front().size(), 4 * 800);
    const auto peak = std::max_element(paths.front().begin(), paths.front().end(),
                                       [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); });
    EXPECT_EQ(peak->y(), 99.0);
    // Step 617284 lies in column floor(617284 / 1250) = 493.
    EXPECT_EQ(peak->x(), 50 + 493 + 0.5);
}

TEST(StepPath, StairsHoldTheirValueForAStepAndBreakAtGaps)
{
    MinMaxPyramid series;
    for (const float value : {4.0F, 4.0F, 8.0F, std::numeric_limits<float>::quiet_NaN(), 2.0F})
        series.append(value);
    // 10 pixels a step, step 0 at pixel 0.
    const auto paths = stepPath(series, 0, 10, 0, 100, PathShape::Stairs);
    ASSERT_EQ(paths.size(), 2U);
    EXPECT_EQ(paths[0], QPolygonF({{5, 4}, {25, 4}, {25, 8}, {35, 8}}));
    EXPECT_EQ(paths[1], QPolygonF({{45, 2}, {55, 2}}));
}

TEST(StepPath, NoLineLeadsToTheStepOfABreak)
{
    MinMaxPyramid series;
    for (int i = 0; i < 6000; ++i)
        series.append(i < 3456 ? 5.0F : 1.0F); // step 3457 is the first of the low ones
    // A few steps, tens of pixels each; and all of them, several a pixel.
    for (const auto& [low, high] : {std::pair(3450.0, 3465.0), std::pair(0.0, 6000.0)}) {
        const auto whole = stepPath(series, low, high, 0, 900, PathShape::Lines);
        ASSERT_EQ(whole.size(), 1U);
        const auto paths = stepPath(series, low, high, 0, 900, PathShape::Lines, 3457);
        ASSERT_EQ(paths.size(), 2U) << high;
        for (const QPointF& point : paths[0])
            EXPECT_EQ(point.y(), 5.0);
        for (const QPointF& point : paths[1])
            EXPECT_EQ(point.y(), 1.0);
        EXPECT_LE(paths[0].last().x(), paths[1].first().x());
        EXPECT_EQ(stepPath(series, low, high, 0, 900, PathShape::Lines, 6001).size(), 1U); // out of the series
    }
}

TEST(StepPath, DenseStairsHaveNoSlopes)
{
    MinMaxPyramid series;
    for (int i = 0; i < 5000; ++i)
        series.append(static_cast<float>((i / 137) % 3));
    for (const QPolygonF& path : stepPath(series, 0, 5000, 0, 900, PathShape::Stairs)) {
        for (qsizetype i = 1; i < path.size(); ++i)
            EXPECT_TRUE(path[i].x() == path[i - 1].x() || path[i].y() == path[i - 1].y()) << i;
    }
}

TEST(StepPath, NothingToDrawIsNothing)
{
    MinMaxPyramid series;
    EXPECT_TRUE(stepPath(series, 0, 10, 0, 100, PathShape::Lines).empty());
    series.append(1);
    EXPECT_TRUE(stepPath(series, 10, 10, 0, 100, PathShape::Lines).empty());
    EXPECT_TRUE(stepPath(series, 50, 90, 0, 100, PathShape::Lines).empty());
    EXPECT_EQ(stepPath(series, 0, 10, 0, 100, PathShape::Lines).size(), 1U); // a single step is a dot
}

TEST(MarkClusters, NoMarkIsEverLostAtAnyZoom)
{
    std::mt19937 random(2);
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 1; step <= 1000000; step += 1 + random() % 400)
        steps.push_back(step);
    for (double span = 10; span <= 2e6; span *= 1.7) {
        for (const double low : {0.0, 1234.5, 499000.25, 990000.0}) {
            const double high = low + span;
            const auto expected = std::count_if(steps.begin(), steps.end(), [&](std::int64_t s) {
                return static_cast<double>(s) >= low && static_cast<double>(s) <= high;
            });
            std::size_t counted = 0;
            const auto clusters = clusterMarks(steps, low, high, 60, 900, 10);
            double before = -1e9;
            for (const MarkCluster& cluster : clusters) {
                counted += cluster.count;
                EXPECT_GE(cluster.x, 60 - 1e-6);
                EXPECT_LE(cluster.x, 960 + 1e-6);
                EXPECT_GT(cluster.x, before);
                before = cluster.x;
            }
            ASSERT_EQ(counted, static_cast<std::size_t>(expected)) << low << " + " << span;
            EXPECT_LE(clusters.size(), 2U * 900 / 10 + 2); // bounded by the pixels, not the steps
        }
    }
}

TEST(MarkClusters, StandStillWhileTheViewScrolls)
{
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 3; step < 100000; step += 37)
        steps.push_back(step);
    const auto a = clusterMarks(steps, 10000, 30000, 0, 1000, 10);
    const auto b = clusterMarks(steps, 10500, 30500, 0, 1000, 10);
    // The clusters away from the edges are the same groups of steps.
    std::size_t same = 0;
    for (const MarkCluster& cluster : a) {
        same += std::any_of(b.begin(), b.end(), [&](const MarkCluster& other) {
            return other.first == cluster.first && other.last == cluster.last && other.count == cluster.count;
        });
    }
    // 500 of 20000 steps left the view: 2.5 % of the clusters and the two that are cut may differ.
    EXPECT_GE(same, a.size() - a.size() * 3 / 100 - 2);
}

} // namespace

} // namespace halfscope
