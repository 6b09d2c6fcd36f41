// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/store.h"

namespace halfscope::cpu {

namespace {

enum SharedBuffer { kBegin, kOrder, kSource };
enum LocalBuffer { kInput, kResult };

// Rows of an embedding's gradient in a chunk: few, because some tokens are far more frequent than others.
std::int64_t gradientRows(std::int64_t cols) { return std::min<std::int64_t>(rowsPerChunk(cols), 16); }

constexpr std::int32_t kPatch = -1; // in the place of a token

// dTable[r] = the sum of dOut[n] over those n that forEach(r, take) passes to take(n), in that order.
template <typename ForEachSource>
void gatherGradient(Context& context, const Tensor& dOut, Tensor& dTable, CastProbe* probe, ForEachSource&& forEach)
{
    const std::int64_t cols = dTable.cols();
    const std::int64_t perChunk = gradientRows(cols);
    const std::int64_t chunks = ceilDivide(dTable.rows(), perChunk);
    const double work = 0.2 * static_cast<double>(dOut.size() + dTable.size());
    const ElementKernels& kernels = elementKernels();
    ProbeSlots slots(context.slots, probe, chunks);
    context.pool.parallelFor(chunks, work, [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t rows = std::min(perChunk, dTable.rows() - first);
        float* temporary = context.local<float>(worker, kInput, cols);
        float* sums = context.local<float>(worker, kResult, perChunk * cols);
        std::fill_n(sums, rows * cols, 0.0F);
        for (std::int64_t row = 0; row < rows; ++row) {
            float* sum = sums + row * cols;
            forEach(first + row, [&](std::int64_t n) {
                kernels.add(sum, readElements(dOut, n * cols, cols, temporary), sum, static_cast<std::size_t>(cols));
            });
        }
        slots.sink(dTable.format(), chunk).store(sums, elementAddress(dTable, first * cols), rows * cols);
    });
    slots.finish();
}

} // namespace

void embeddingForward(Context& context, std::span<const std::int32_t> tokens, const Tensor& token,
                      const Tensor& patches, const Tensor& position, Tensor& out, CastProbe* probe)
{
    const auto count = static_cast<std::int64_t>(tokens.size());
    const std::int64_t cols = out.cols();
    // The row of either table that each token or patch is.
    auto* source = context.shared<std::int64_t>(kSource, count);
    std::int64_t patch = 0;
    for (std::int64_t n = 0; n < count; ++n) {
        const std::int32_t id = tokens[static_cast<std::size_t>(n)];
        source[n] = id == kPatch ? patch++ : id;
    }
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(count, perChunk);
    const ElementKernels& kernels = elementKernels();
    ProbeSlots slots(context.slots, probe, chunks);
    context.pool.parallelFor(chunks, 0.3 * static_cast<double>(out.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t rows = std::min(perChunk, count - first);
        float* temporary = context.local<float>(worker, kInput, 2 * cols);
        float* result = resultPlace(out, first * cols, context.local<float>(worker, kResult, perChunk * cols));
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t n = first + row;
            const Tensor& table = tokens[static_cast<std::size_t>(n)] == kPatch ? patches : token;
            kernels.add(readElements(table, source[n] * cols, cols, temporary),
                        readElements(position, n % position.rows() * cols, cols, temporary + cols), result + row * cols,
                        static_cast<std::size_t>(cols));
        }
        slots.sink(out.format(), chunk).store(result, elementAddress(out, first * cols), rows * cols);
    });
    slots.finish();
}

void tokenEmbeddingBackward(Context& context, std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                            CastProbe* probe)
{
    const auto count = static_cast<std::int64_t>(tokens.size());
    // The tokens' places sorted by token, in order within each: order[begin[v]] ... order[begin[v + 1] - 1].
    const std::int64_t vocabulary = dToken.rows();
    auto* begin = context.shared<std::int64_t>(kBegin, vocabulary + 2);
    auto* order = context.shared<std::int64_t>(kOrder, count);
    std::fill_n(begin, vocabulary + 2, 0);
    for (const std::int32_t t : tokens) {
        ++begin[t + 2];
    }
    for (std::int64_t v = 2; v < vocabulary + 2; ++v) {
        begin[v] += begin[v - 1];
    }
    for (std::int64_t n = 0; n < count; ++n) {
        order[begin[tokens[static_cast<std::size_t>(n)] + 1]++] = n;
    }
    gatherGradient(context, dOut, dToken, probe, [&](std::int64_t v, auto&& take) {
        for (std::int64_t i = begin[v]; i < begin[v + 1]; ++i) {
            take(order[i]);
        }
    });
}

void positionEmbeddingBackward(Context& context, const Tensor& dOut, Tensor& dPosition, CastProbe* probe)
{
    gatherGradient(context, dOut, dPosition, probe, [&](std::int64_t t, auto&& take) {
        for (std::int64_t n = t; n < dOut.rows(); n += dPosition.rows()) {
            take(n);
        }
    });
}

void gatherRows(Context& context, const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe)
{
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::int64_t cols = to.cols();
    const std::int64_t perChunk = rowsPerChunk(cols);
    const std::int64_t chunks = ceilDivide(count, perChunk);
    ProbeSlots slots(context.slots, probe, chunks);
    context.pool.parallelFor(chunks, 0.3 * static_cast<double>(to.size()), [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * perChunk;
        const std::int64_t n = std::min(perChunk, count - first);
        float* temporary = context.local<float>(worker, kInput, cols);
        float* result = resultPlace(to, first * cols, context.local<float>(worker, kResult, perChunk * cols));
        for (std::int64_t row = 0; row < n; ++row) {
            const std::int64_t source = rows[static_cast<std::size_t>(first + row)];
            std::copy_n(readElements(from, source * cols, cols, temporary), cols, result + row * cols);
        }
        slots.sink(to.format(), chunk).store(result, elementAddress(to, first * cols), n * cols);
    });
    slots.finish();
}

} // namespace halfscope::cpu
