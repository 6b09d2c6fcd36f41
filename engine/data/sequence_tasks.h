// SPDX-License-Identifier: GPL-3.0-or-later
// Two questions about sequences that have one right answer, and wrong ones that are hard to tell from it.
#pragma once

#include <memory>

#include "engine/data/dataset.h"

namespace halfscope {

// Whether every bracket of "([{}])" is closed in order; between 4 pairs and what fits into `context`. Those that are
// not balanced differ from balanced ones in one or two places: a bracket of another kind, two exchanged, one turned
// round. Throws std::runtime_error when `context` is below 8.
std::unique_ptr<Dataset> makeBrackets(int context);

// Whether two-digit numbers ascend ("12 34 34 81"); between three and what fits into `context`. Those that do not are
// sorted but for two neighbours exchanged or one number that is elsewhere, or shuffled.
// Throws std::runtime_error when `context` is below 8.
std::unique_ptr<Dataset> makeSortedness(int context);

} // namespace halfscope
