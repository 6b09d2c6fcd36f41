// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/data/dataset.h"

namespace halfscope {

// Digits as if written by hand, 28 x 28, white on black: each a few strokes through points of ours, which are shaken,
// slanted, turned, stretched, shifted and drawn by pens of different widths, with a little noise. `patchSize` as in
// DatasetRequest; throws std::runtime_error when it does not fit.
std::unique_ptr<Dataset> makeDigits(int patchSize);

} // namespace halfscope
