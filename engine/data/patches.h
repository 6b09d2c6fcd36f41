// SPDX-License-Identifier: GPL-3.0-or-later
// Images as sequences of patches.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/dataset.h"

namespace halfscope {

// Writes the image and patch fields of `info`. `patchSize` as in DatasetRequest, `suitable` what kSuitablePatch stands
// for. Throws std::runtime_error when squares of that size do not tile the image; the sentence names the sizes that do.
void setPatches(DatasetInfo& info, int width, int height, int channels, int patchSize, int suitable);

// Pixels (rows from the top, channels innermost, 0 black to 255) as patches: those of a row of patches from left to
// right, rows from the top; in a patch its pixels in the same order; a pixel is pixel / 127.5 - 1, so in [-1, 1].
// `patches` has room for info.patches * info.patchWidth.
void cutPatches(const DatasetInfo& info, const std::uint8_t* pixels, float* patches);

// The way back, exactly: imageHeight * imageWidth * imageChannels pixels, to draw an example.
std::vector<std::uint8_t> pixelsOf(const DatasetInfo& info, const float* patches);

} // namespace halfscope
