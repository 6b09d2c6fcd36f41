// SPDX-License-Identifier: GPL-3.0-or-later
// Loss and optimizer.
#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/row_kernels.h"
#include "engine/backend/cpu/store.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

enum SharedBuffer { kLosses, kUnscaled, kCounted };
enum LocalBuffer { kLogits, kResult, kWeights, kMoment1, kMoment2, kBefore };

// A piece of a tensor that is updated: in place where it holds FP32 numbers, else widened and written back.
float* openElements(Tensor& t, std::int64_t first, std::int64_t n, float* temporary)
{
    return const_cast<float*>(readElements(t, first, n, temporary)); // of a tensor that may be written
}

void closeElements(Tensor& t, std::int64_t first, std::int64_t n, const float* values)
{
    if (floatFormat(t.format()).storageBytes != 4) {
        castArray(t.format(), values, elementAddress(t, first), static_cast<std::size_t>(n));
    }
}

constexpr std::int32_t kNone = -1; // a target where nothing is predicted; a prediction that is none

} // namespace

double crossEntropy(Context& context, const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                    Tensor* dLogits, CastProbe* probe)
{
    const auto rows = static_cast<std::int64_t>(targets.size());
    const std::int64_t cols = logits.cols();
    const auto predictions = static_cast<double>(rows - std::count(targets.begin(), targets.end(), kNone));
    const auto factor = static_cast<float>(static_cast<double>(lossScale) / predictions);
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(rows, perChunk);
    const RowKernels& kernels = rowKernels();
    auto* losses = context.shared<double>(kLosses, rows);
    ProbeSlots slots(context.slots, dLogits == nullptr ? nullptr : probe, chunks);
    context.pool.parallelFor(chunks, 1.5 * static_cast<double>(logits.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t count = std::min(perChunk, rows - first);
        const std::int64_t size = perChunk * cols;
        const float* x = readElements(logits, first * cols, count * cols, context.local<float>(worker, kLogits, size));
        float* result = dLogits == nullptr ? nullptr : context.local<float>(worker, kResult, size + 16);
        for (std::int64_t row = 0; row < count; ++row) {
            const std::int32_t target = targets[static_cast<std::size_t>(first + row)];
            if (target == kNone) {
                losses[first + row] = 0.0;
                if (result != nullptr) {
                    std::fill_n(result + row * cols, cols, 0.0F);
                }
                continue;
            }
            losses[first + row] =
                kernels.crossEntropy(x + row * cols, static_cast<std::size_t>(cols), static_cast<std::size_t>(target),
                                     result == nullptr ? nullptr : result + row * cols, factor);
        }
        if (dLogits != nullptr) {
            slots.sink(dLogits->format(), chunk).store(result, elementAddress(*dLogits, first * cols), count * cols);
        }
    });
    slots.finish();
    double sum = 0.0;
    for (std::int64_t row = 0; row < rows; ++row) {
        sum += losses[row];
    }
    return sum / predictions;
}

void argmax(Context& context, const Tensor& x, std::span<std::int32_t> columns)
{
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    const std::int64_t perChunk = rowsPerChunk(cols);
    context.pool.parallelFor(
        ceilDivide(rows, perChunk), 1.0 * static_cast<double>(x.size()), [&](std::int64_t chunk, int worker) {
            const std::int64_t first = chunk * perChunk;
            const std::int64_t count = std::min(perChunk, rows - first);
            const float* values =
                readElements(x, first * cols, count * cols, context.local<float>(worker, kLogits, perChunk * cols));
            for (std::int64_t row = 0; row < count; ++row) {
                const float* begin = values + row * cols;
                const bool ordered = std::none_of(begin, begin + cols, [](float v) { return std::isnan(v); });
                columns[static_cast<std::size_t>(first + row)] =
                    ordered ? static_cast<std::int32_t>(std::max_element(begin, begin + cols) - begin) : kNone;
            }
        });
}

Backend::Unscaled unscale(Context& context, const Tensor& gradient, float inverseScale, Tensor& to)
{
    const std::int64_t size = gradient.size();
    const std::int64_t chunks = ceilDivide(size, kChunkElements);
    auto* results = context.shared<UnscaleResult>(kUnscaled, chunks);
    context.pool.parallelFor(chunks, 0.2 * static_cast<double>(size), [&](std::int64_t chunk, int) {
        const std::int64_t first = chunk * kChunkElements;
        results[chunk] = unscaleArray(gradient.format(), elementAddress(gradient, first), to.as<float>() + first,
                                      static_cast<std::size_t>(std::min(kChunkElements, size - first)), inverseScale);
    });
    Backend::Unscaled all;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        all.foundInf |= results[chunk].foundInf;
        all.sumSquares += results[chunk].sumSquares;
    }
    return all;
}

void adamw(Context& context, const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1,
           Tensor& moment2, UpdateProbe* probe)
{
    const std::int64_t size = weights.size();
    const AdamWFactors factors = adamWFactors(hyper, weights.format(), moment1.format(), moment2.format());
    const ElementKernels& kernels = elementKernels();
    const std::size_t workers = probe == nullptr ? 0 : context.workers.size();
    auto* counted = context.shared<UpdateStatistics>(kCounted, static_cast<std::int64_t>(workers));
    std::uninitialized_fill_n(counted, workers, UpdateStatistics());
    const double work = (probe == nullptr ? 0.7 : 8.0) * static_cast<double>(size);
    context.pool.parallelFor(ceilDivide(size, kChunkElements), work, [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * kChunkElements;
        const std::int64_t n = std::min(kChunkElements, size - first);
        const auto open = [&](Tensor& t, LocalBuffer buffer) {
            return openElements(t, first, n, context.local<float>(worker, buffer, kChunkElements));
        };
        float* w = open(weights, kWeights);
        float* m1 = open(moment1, kMoment1);
        float* m2 = open(moment2, kMoment2);
        const auto count = static_cast<std::size_t>(n);
        float* before = nullptr;
        if (probe != nullptr) {
            before = context.local<float>(worker, kBefore, kChunkElements);
            std::copy_n(w, n, before);
        }
        kernels.adamw(factors, gradient.as<float>() + first, w, m1, m2, count);
        if (probe != nullptr) {
            countUpdates(before, w, count, probe->format, probe->factor, counted[worker]);
        }
        closeElements(weights, first, n, w);
        closeElements(moment1, first, n, m1);
        closeElements(moment2, first, n, m2);
    });
    for (std::size_t worker = 0; worker < workers; ++worker) {
        probe->statistics.merge(counted[worker]);
    }
}

} // namespace halfscope::cpu
