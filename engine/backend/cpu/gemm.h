// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

#include "engine/backend/cpu/scratch.h"

namespace halfscope::cpu {

void gemm(Context& context, const Gemm& args);

// Rows [row, row + rows) of op(a) op(b), row-major (rows, n) into `to`. Called by several workers at once.
using ProductRows = std::function<void(std::int64_t row, std::int64_t rows, float* to, int worker)>;

// The same with products that somebody else computes: bias, activation, residual, counting and rounding are ours.
void gemm(Context& context, const Gemm& args, const ProductRows& product);

} // namespace halfscope::cpu
