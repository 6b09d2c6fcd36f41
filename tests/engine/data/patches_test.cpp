// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/patches.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset_registry.h"
#include "tests/engine/data/support.h"

namespace halfscope {
namespace {

using ::testing::ElementsAre;

// Pixel i has the value i.
std::vector<int> patchesOf(int width, int height, int channels, int patchSize)
{
    DatasetInfo info;
    setPatches(info, width, height, channels, patchSize, kPatchRows);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * channels));
    std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
    std::vector<float> patches(pixels.size());
    cutPatches(info, pixels.data(), patches.data());
    EXPECT_EQ(pixelsOf(info, patches.data()), pixels);
    std::vector<int> values;
    for (const float number : patches)
        values.push_back(static_cast<int>(std::lround((number + 1.0F) * 127.5F)));
    return values;
}

TEST(Patches, SquaresFromLeftToRightAndDown)
{
    EXPECT_THAT(patchesOf(4, 4, 1, 2), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
    EXPECT_THAT(patchesOf(4, 2, 2, 2), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15));
}

TEST(Patches, RowsAndSinglePixelsAreInTheOrderOfTheImage)
{
    EXPECT_THAT(patchesOf(3, 2, 1, kPatchRows), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(patchesOf(3, 2, 1, 1), ElementsAre(0, 1, 2, 3, 4, 5));
    DatasetInfo info;
    setPatches(info, 3, 2, 3, kPatchRows, 1);
    EXPECT_EQ(info.patches, 2);
    EXPECT_EQ(info.patchWidth, 9);
    setPatches(info, 6, 4, 1, kSuitablePatch, 2);
    EXPECT_EQ(info.patches, 6);
}

TEST(Patches, BlackIsMinusOneWhiteIsOneAndAllGreysComeBack)
{
    DatasetInfo info;
    setPatches(info, 256, 1, 1, kPatchRows, kPatchRows);
    std::vector<std::uint8_t> pixels(256);
    std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
    std::vector<float> patches(256);
    cutPatches(info, pixels.data(), patches.data());
    EXPECT_EQ(patches.front(), -1.0F);
    EXPECT_EQ(patches.back(), 1.0F);
    EXPECT_EQ(pixelsOf(info, patches.data()), pixels);
}

TEST(Patches, SayWhichSizesFit)
{
    DatasetInfo info;
    EXPECT_EQ(test::problemOf([&] { setPatches(info, 28, 28, 1, 5, kPatchRows); }),
              "An image of 28 x 28 pixels cannot be cut into squares of 5; rows fit, and squares of 2, 4, 7, 14, 28.");
    EXPECT_EQ(test::problemOf([&] { setPatches(info, 5, 7, 1, 2, kPatchRows); }),
              "An image of 5 x 7 pixels cannot be cut into squares of 2; only rows fit.");
    EXPECT_NE(test::problemOf([&] { setPatches(info, 28, 28, 1, -7, kPatchRows); }), "(no problem)");
}

} // namespace
} // namespace halfscope
