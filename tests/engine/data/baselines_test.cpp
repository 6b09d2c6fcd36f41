// SPDX-License-Identifier: GPL-3.0-or-later
// What the models have to beat (docs/tasks.md), counted here by methods that learn nothing but frequencies and means.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/data/authors_dataset.h"
#include "engine/data/image_dataset.h"
#include "engine/data/novels.h"
#include "engine/data/sequence_tasks.h"
#include "tests/engine/data/support.h"

namespace halfscope {
namespace {

// Five deviations of a share that was counted in `examples`.
double fiveDeviations(double share, std::size_t examples)
{
    return 5 * std::sqrt(share * (1 - share) / static_cast<double>(examples));
}

void expectAccuracy(const Dataset& dataset, std::size_t length, double expected)
{
    const double accuracy = test::runsAccuracy(dataset, length, 20'000);
    ::testing::Test::RecordProperty("runs_of_" + std::to_string(length), std::to_string(accuracy));
    EXPECT_NEAR(accuracy, expected, fiveDeviations(expected, dataset.validationSize())) << "runs of " << length;
}

// The share of what is held out whose class has the nearest mean image.
double nearestMeanAccuracy(const Dataset& dataset, int training)
{
    const auto size =
        static_cast<std::size_t>(dataset.info().patches) * static_cast<std::size_t>(dataset.info().patchWidth);
    const auto classes = static_cast<std::size_t>(dataset.info().classes);
    std::vector<std::vector<double>> means(classes, std::vector<double>(size));
    std::vector<double> counts(classes);
    const Examples known = test::trainingExamples(dataset, training);
    for (std::size_t i = 0; i < known.targets.size(); ++i) {
        const auto label = static_cast<std::size_t>(known.targets[i]);
        ++counts[label];
        for (std::size_t j = 0; j < size; ++j)
            means[label][j] += static_cast<double>(known.patches[i * size + j]);
    }
    for (std::size_t c = 0; c < classes; ++c) {
        for (double& value : means[c])
            value /= counts[c];
    }
    const Examples held = test::heldOut(dataset);
    int right = 0;
    for (std::size_t i = 0; i < held.targets.size(); ++i) {
        std::vector<double> distances(classes);
        for (std::size_t c = 0; c < classes; ++c) {
            for (std::size_t j = 0; j < size; ++j)
                distances[c] += std::pow(static_cast<double>(held.patches[i * size + j]) - means[c][j], 2);
        }
        right += std::ranges::min_element(distances) - distances.begin() == held.targets[i];
    }
    return right / static_cast<double>(held.targets.size());
}

// Expected values were counted by another program, on other examples of the same distribution: 0.876, 0.746 and 0.907
// here.
TEST(Baselines, BracketsByRunsOfCharacters) { expectAccuracy(*makeBrackets(16), 4, 0.88); }

TEST(Baselines, SortednessByRunsOfCharacters)
{
    const auto dataset = makeSortedness(16);
    expectAccuracy(*dataset, 3, 0.75);
    expectAccuracy(*dataset, 5, 0.92);
}

// The novels with their line ends, counted whole by another program; here white space is one space: 0.869 and 0.883.
TEST(Baselines, AuthorsByRunsOfCharacters)
{
    const auto dataset = makeAuthors(novelFolders(), 64);
    if (dataset->info().generated)
        GTEST_SKIP() << "the novels are not installed";
    expectAccuracy(*dataset, 3, 0.874);
    expectAccuracy(*dataset, 5, 0.907);
}

TEST(Baselines, ClothingByTheNearestMean)
{
    if (!std::filesystem::exists(kFashionMnistFolder))
        GTEST_SKIP() << "the package is not installed";
    const auto dataset = makeFashionMnist(kFashionMnistFolder, 7);
    const double accuracy = nearestMeanAccuracy(*dataset, 20'000);
    RecordProperty("accuracy", std::to_string(accuracy));
    EXPECT_NEAR(accuracy, 0.687, fiveDeviations(0.687, 2500)); // 2500 test images there
}

} // namespace
} // namespace halfscope
