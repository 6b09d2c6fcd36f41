// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/data/dataset.h"

namespace halfscope {

// Image and text: one to four coloured shapes that do not touch, 32 x 32, and a question about them; the classes are
// the answers. A token is a word. The questions:
//   how many circles / how many red ones    0 ... 4
//   what colour is the circle               one of six; there is one circle
//   what shape is red                       one of four; there is one red shape
//   what shape is leftmost                  one of four; by more than two pixels; also rightmost, topmost, lowest
//   is there a red circle                   yes, no
//   is the circle left of the square        yes, no; one of each, more than two pixels apart; also above
// `patchSize` as in DatasetRequest; throws std::runtime_error when it does not fit.
std::unique_ptr<Dataset> makeShapes(int patchSize);

} // namespace halfscope
