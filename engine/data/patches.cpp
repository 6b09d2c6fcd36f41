// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/patches.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/data/dataset_registry.h"

namespace halfscope {
namespace {

// Calls run(pixel's index, its place in the patches) for every run of `patchCols * channels` numbers that lie together
// in both.
template <typename Run>
void forEachRun(const DatasetInfo& info, const Run& run)
{
    const std::size_t length = static_cast<std::size_t>(info.patchCols) * static_cast<std::size_t>(info.imageChannels);
    const std::size_t across = static_cast<std::size_t>(info.imageWidth / info.patchCols);
    const auto rows = static_cast<std::size_t>(info.patchRows);
    for (std::size_t y = 0; y < static_cast<std::size_t>(info.imageHeight); ++y) {
        for (std::size_t p = 0; p < across; ++p) {
            const std::size_t patch = y / rows * across + p;
            run((y * across + p) * length, (patch * rows + y % rows) * length, length);
        }
    }
}

std::string sizesThatFit(int width, int height)
{
    std::string sizes;
    for (int size = 2; size <= std::min(width, height); ++size) {
        if (width % size == 0 && height % size == 0)
            sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    return sizes.empty() ? "only rows fit" : "rows fit, and squares of " + sizes;
}

} // namespace

void setPatches(DatasetInfo& info, int width, int height, int channels, int patchSize, int suitable)
{
    if (patchSize == kSuitablePatch)
        patchSize = suitable;
    if (patchSize < 0)
        throw std::runtime_error("A patch of " + std::to_string(patchSize) + " pixels is none; " +
                                 sizesThatFit(width, height) + ".");
    if (patchSize > 0 && (width % patchSize != 0 || height % patchSize != 0)) {
        throw std::runtime_error("An image of " + std::to_string(width) + " x " + std::to_string(height) +
                                 " pixels cannot be cut into squares of " + std::to_string(patchSize) + "; " +
                                 sizesThatFit(width, height) + ".");
    }
    info.imageWidth = width;
    info.imageHeight = height;
    info.imageChannels = channels;
    info.patchRows = patchSize == kPatchRows ? 1 : patchSize;
    info.patchCols = patchSize == kPatchRows ? width : patchSize;
    info.patches = (height / info.patchRows) * (width / info.patchCols);
    info.patchWidth = info.patchRows * info.patchCols * channels;
}

void cutPatches(const DatasetInfo& info, const std::uint8_t* pixels, float* patches)
{
    forEachRun(info, [=](std::size_t pixel, std::size_t patch, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i)
            patches[patch + i] = static_cast<float>(pixels[pixel + i]) / 127.5F - 1.0F;
    });
}

std::vector<std::uint8_t> pixelsOf(const DatasetInfo& info, const float* patches)
{
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(info.patches) *
                                     static_cast<std::size_t>(info.patchWidth));
    forEachRun(info, [&](std::size_t pixel, std::size_t patch, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {
            const float value = std::clamp((patches[patch + i] + 1.0F) * 127.5F, 0.0F, 255.0F);
            pixels[pixel + i] = static_cast<std::uint8_t>(std::lround(value));
        }
    });
    return pixels;
}

} // namespace halfscope
