// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/store.h"
#include "engine/core/rng.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

enum SharedBuffer { kPartials, kLargest };
enum LocalBuffer { kInput, kSecondInput, kResult };

// Calls body(chunk, first, n, worker) for the chunks of a tensor of `size` elements.
template <typename Body>
void forChunks(Context& context, std::int64_t size, double nanosecondsPerElement, Body&& body)
{
    const double work = nanosecondsPerElement * static_cast<double>(size);
    context.pool.parallelFor(ceilDivide(size, kChunkElements), work, [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * kChunkElements;
        body(chunk, first, std::min(kChunkElements, size - first), worker);
    });
}

} // namespace

void fillZero(Tensor& t)
{
    if (!t.empty()) {
        std::memset(t.data(), 0, t.bytes());
    }
}

void upload(Context& context, std::span<const float> host, Tensor& to)
{
    forChunks(context, to.size(), 0.2, [&](std::int64_t, std::int64_t first, std::int64_t n, int) {
        castArray(to.format(), host.data() + first, elementAddress(to, first), static_cast<std::size_t>(n));
    });
}

void download(Context& context, const Tensor& from, std::span<float> host)
{
    forChunks(context, from.size(), 0.2, [&](std::int64_t, std::int64_t first, std::int64_t n, int) {
        widenArray(from.format(), elementAddress(from, first), host.data() + first, static_cast<std::size_t>(n));
    });
}

void cast(Context& context, const Tensor& from, Tensor& to, CastProbe* probe)
{
    ProbeSlots slots(context.slots, probe, ceilDivide(from.size(), kChunkElements));
    forChunks(context, from.size(), 0.3, [&](std::int64_t chunk, std::int64_t first, std::int64_t n, int worker) {
        float* temporary = context.local<float>(worker, kInput, kChunkElements);
        const float* values = readElements(from, first, n, temporary);
        if (values != temporary && probe != nullptr && (probe->factor != 1.0F || probe->clamp)) {
            std::copy_n(values, n, temporary); // the sink changes its input
            values = temporary;
        }
        slots.sink(to.format(), chunk).store(const_cast<float*>(values), elementAddress(to, first), n);
    });
    slots.finish();
}

float largestMagnitude(Context& context, const Tensor& t)
{
    const std::int64_t chunks = ceilDivide(t.size(), kChunkElements);
    float* largest = context.shared<float>(kLargest, chunks);
    const ElementKernels& kernels = elementKernels();
    forChunks(context, t.size(), 0.15, [&](std::int64_t chunk, std::int64_t first, std::int64_t n, int worker) {
        const float* values = readElements(t, first, n, context.local<float>(worker, kInput, kChunkElements));
        largest[chunk] = kernels.largestMagnitude(values, static_cast<std::size_t>(n));
    });
    return chunks == 0 ? 0.0F : *std::max_element(largest, largest + chunks);
}

void add(Context& context, const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe)
{
    const ElementKernels& kernels = elementKernels();
    ProbeSlots slots(context.slots, probe, ceilDivide(to.size(), kChunkElements));
    forChunks(context, to.size(), 0.3, [&](std::int64_t chunk, std::int64_t first, std::int64_t n, int worker) {
        const float* left = readElements(a, first, n, context.local<float>(worker, kInput, kChunkElements));
        const float* right = readElements(b, first, n, context.local<float>(worker, kSecondInput, kChunkElements));
        float* sum = resultPlace(to, first, context.local<float>(worker, kResult, kChunkElements));
        kernels.add(left, right, sum, static_cast<std::size_t>(n));
        slots.sink(to.format(), chunk).store(sum, elementAddress(to, first), n);
    });
    slots.finish();
}

void dropout(Context& context, const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe)
{
    const bool dropAll = p >= 1.0F;
    // An element is dropped when its random number, as a fraction of 2^64, lies below p.
    const auto threshold = dropAll ? 0 : static_cast<std::uint64_t>(std::ldexp(static_cast<double>(p), 64));
    const float keep = 1.0F - p;
    ProbeSlots slots(context.slots, probe, ceilDivide(from.size(), kChunkElements));
    forChunks(context, from.size(), 1.5, [&](std::int64_t chunk, std::int64_t first, std::int64_t n, int worker) {
        const float* values = readElements(from, first, n, context.local<float>(worker, kInput, kChunkElements));
        float* result = resultPlace(to, first, context.local<float>(worker, kResult, kChunkElements));
        for (std::int64_t i = 0; i < n; ++i) {
            const bool kept = !dropAll && hash64(seed, static_cast<std::uint64_t>(first + i)) >= threshold;
            result[i] = kept ? values[i] / keep : 0.0F;
        }
        slots.sink(to.format(), chunk).store(result, elementAddress(to, first), n);
    });
    slots.finish();
}

// Each chunk of rows is summed from its first row on, then the chunks' sums are added in order.
void columnSum(Context& context, const Tensor& from, Tensor& out, CastProbe* probe)
{
    const std::int64_t cols = from.cols();
    if (cols == 0) {
        return;
    }
    const std::int64_t rows = from.rows();
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(rows, perChunk);
    const ElementKernels& kernels = elementKernels();
    const auto width = static_cast<std::size_t>(cols);
    float* partials = context.shared<float>(kPartials, (chunks + 1) * cols);
    context.pool.parallelFor(chunks, 0.2 * static_cast<double>(from.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t count = std::min(perChunk, rows - first);
        const float* values =
            readElements(from, first * cols, count * cols, context.local<float>(worker, kInput, perChunk * cols));
        float* sum = partials + (chunk + 1) * cols;
        std::fill_n(sum, cols, 0.0F);
        for (std::int64_t row = 0; row < count; ++row) {
            kernels.add(sum, values + row * cols, sum, width);
        }
    });
    std::fill_n(partials, cols, 0.0F);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        kernels.add(partials, partials + (chunk + 1) * cols, partials, width);
    }
    ProbeSlots slots(context.slots, probe, 1);
    slots.sink(out.format(), 0).store(partials, out.data(), cols);
    slots.finish();
}

} // namespace halfscope::cpu
