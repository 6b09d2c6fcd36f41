// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/store.h"

namespace halfscope::cpu {

namespace {

enum LocalBuffer { kInput, kResult };

// T: rows of `many` that meet in one row of `few`.
std::int64_t rowsInOne(const Tensor& few, const Tensor& many) { return many.rows() / few.rows(); }

} // namespace

void meanPoolForward(Context& context, const Tensor& x, Tensor& out, CastProbe* probe)
{
    const std::int64_t length = rowsInOne(out, x);
    const std::int64_t cols = x.cols();
    const float factor = 1.0F / static_cast<float>(length);
    const ElementKernels& kernels = elementKernels();
    ProbeSlots slots(context.slots, probe, out.rows());
    context.pool.parallelFor(out.rows(), 0.2 * static_cast<double>(x.size()), [&](std::int64_t row, int worker) {
        float* temporary = context.local<float>(worker, kInput, cols);
        float* sum = resultPlace(out, row * cols, context.local<float>(worker, kResult, cols));
        std::fill_n(sum, cols, 0.0F);
        for (std::int64_t t = 0; t < length; ++t) {
            const float* values = readElements(x, (row * length + t) * cols, cols, temporary);
            kernels.add(sum, values, sum, static_cast<std::size_t>(cols));
        }
        kernels.scale(sum, static_cast<std::size_t>(cols), factor);
        slots.sink(out.format(), row).store(sum, elementAddress(out, row * cols), cols);
    });
    slots.finish();
}

void meanPoolBackward(Context& context, const Tensor& dOut, Tensor& dx, CastProbe* probe)
{
    const std::int64_t length = rowsInOne(dOut, dx);
    const std::int64_t cols = dx.cols();
    const float factor = 1.0F / static_cast<float>(length);
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(dx.rows(), perChunk);
    const ElementKernels& kernels = elementKernels();
    ProbeSlots slots(context.slots, probe, chunks);
    context.pool.parallelFor(chunks, 0.3 * static_cast<double>(dx.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t rows = std::min(perChunk, dx.rows() - first);
        float* temporary = context.local<float>(worker, kInput, cols);
        float* result = resultPlace(dx, first * cols, context.local<float>(worker, kResult, perChunk * cols));
        for (std::int64_t row = 0; row < rows; ++row) {
            const float* values = readElements(dOut, (first + row) / length * cols, cols, temporary);
            std::copy_n(values, cols, result + row * cols);
        }
        kernels.scale(result, static_cast<std::size_t>(rows * cols), factor);
        slots.sink(dx.format(), chunk).store(result, elementAddress(dx, first * cols), rows * cols);
    });
    slots.finish();
}

} // namespace halfscope::cpu
