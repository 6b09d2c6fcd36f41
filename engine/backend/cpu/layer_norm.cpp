// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/row_kernels.h"
#include "engine/backend/cpu/store.h"

namespace halfscope::cpu {

namespace {

enum SharedBuffer { kGain, kShift, kPartials };
enum LocalBuffer { kX, kGradient, kResidual, kResult };

} // namespace

void layerNormForward(Context& context, const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out,
                      Tensor& mean, Tensor& rstd, CastProbe* probe)
{
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    const float* gains = readElements(gain, 0, cols, context.shared<float>(kGain, cols));
    const float* shifts = readElements(shift, 0, cols, context.shared<float>(kShift, cols));
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(rows, perChunk);
    const RowKernels& kernels = rowKernels();
    ProbeSlots slots(context.slots, probe, chunks);
    context.pool.parallelFor(chunks, 0.5 * static_cast<double>(x.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t count = std::min(perChunk, rows - first);
        const std::int64_t size = perChunk * cols;
        const float* input = readElements(x, first * cols, count * cols, context.local<float>(worker, kX, size));
        float* result = resultPlace(out, first * cols, context.local<float>(worker, kResult, size));
        for (std::int64_t row = 0; row < count; ++row) {
            kernels.layerNorm(input + row * cols, gains, shifts, result + row * cols, static_cast<std::size_t>(cols),
                              mean.as<float>() + first + row, rstd.as<float>() + first + row);
        }
        slots.sink(out.format(), chunk).store(result, elementAddress(out, first * cols), count * cols);
    });
    slots.finish();
}

void layerNormBackward(Context& context, const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                       const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe, Tensor& dGain,
                       Tensor& dShift, CastProbe* weightProbe)
{
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    const float* gains = readElements(gain, 0, cols, context.shared<float>(kGain, cols));
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(rows, perChunk);
    const RowKernels& kernels = rowKernels();
    // dGain and dShift side by side: the total, then the sums of each chunk of rows.
    float* partials = context.shared<float>(kPartials, (chunks + 1) * 2 * cols);
    ProbeSlots slots(context.slots, dxProbe, chunks);
    context.pool.parallelFor(chunks, 1.0 * static_cast<double>(x.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t count = std::min(perChunk, rows - first);
        const std::int64_t size = perChunk * cols;
        const float* input = readElements(x, first * cols, count * cols, context.local<float>(worker, kX, size));
        const float* gradient =
            readElements(dOut, first * cols, count * cols, context.local<float>(worker, kGradient, size));
        const float* rest = nullptr;
        if (residual != nullptr) {
            rest = readElements(*residual, first * cols, count * cols, context.local<float>(worker, kResidual, size));
        }
        float* result = context.local<float>(worker, kResult, size);
        float* sums = partials + (chunk + 1) * 2 * cols;
        std::fill_n(sums, 2 * cols, 0.0F);
        for (std::int64_t row = 0; row < count; ++row) {
            kernels.layerNormBackward({gradient + row * cols, input + row * cols, gains,
                                       rest == nullptr ? nullptr : rest + row * cols, mean.as<float>()[first + row],
                                       rstd.as<float>()[first + row], result + row * cols, sums, sums + cols,
                                       static_cast<std::size_t>(cols)});
        }
        slots.sink(dx.format(), chunk).store(result, elementAddress(dx, first * cols), count * cols);
    });
    slots.finish();

    std::fill_n(partials, 2 * cols, 0.0F);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        elementKernels().add(partials, partials + (chunk + 1) * 2 * cols, partials, static_cast<std::size_t>(2 * cols));
    }
    ProbeSlots weightSlots(context.slots, weightProbe, 2);
    weightSlots.sink(dGain.format(), 0).store(partials, dGain.data(), cols);
    weightSlots.sink(dShift.format(), 1).store(partials + cols, dShift.data(), cols);
    weightSlots.finish();
}

} // namespace halfscope::cpu
