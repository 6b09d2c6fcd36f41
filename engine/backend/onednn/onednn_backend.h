// SPDX-License-Identifier: GPL-3.0-or-later
// The processor's own BF16 instructions, by way of the library oneDNN (option HALFSCOPE_ONEDNN). Products of two BF16
// tensors run on them; everything else, and what follows a product, is the CPU backend's. The library chooses the order
// in which it sums, and takes subnormal BF16 numbers for zero: results are not bit-identical to the CPU backend's, nor
// from one processor or number of threads to another.
#pragma once

#include <memory>
#include <string>

#include "engine/backend/backend.h"

namespace halfscope {

// Why it cannot be used, one sentence; empty when it can.
std::string onednnProblem();

// Throws BackendError with the reason when it cannot be used. `threads` as in makeBackend().
std::unique_ptr<Backend> makeOnednnBackend(int threads);

} // namespace halfscope
