// SPDX-License-Identifier: GPL-3.0-or-later
// Multi-head attention, a job for each sequence and head, 48 queries at a time:
//
//   S = round(Q K^T)   P = round(softmax(S / sqrt(d)))   O = P V
//   dP = dO V^T        dS = round(P * (dP - rowsum(P * dP)) / sqrt(d))
//   dV = P^T dO        dQ = dS K                          dK = dS^T Q
//
// With T the context and d the width of a head, Q, K, V, O are (T, d) and S, P (T, T). Causal: query i meets only keys
// j <= i. Whole blocks beyond the diagonal are not computed; within the diagonal block the masked probabilities are
// zeros, which add nothing unless the other factor is infinite or NaN: then those sums are formed one by one.
//
// "round" is into the module's format. TF32 is a format of factors only: there S, P and dS stay FP32, and Q, K, V, dO
// and copies of P and dS are rounded for the products that read them.
#include "engine/backend/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "engine/backend/cpu/gemm_pack.h"
#include "engine/backend/cpu/row_kernels.h"
#include "engine/backend/cpu/store.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::int64_t kQueries = 48;     // a block; a multiple of every tileRows
constexpr std::int64_t kKeyMultiple = 32; // of every tileCols, and of the row kernels' groups of 16
constexpr double kNanosecondsPerScore = 2.0;

enum SharedBuffer { kWideQkv, kWideGradient };
enum LocalBuffer {
    kOutput,
    kPackedFirst,
    kPackedSecond,
    kPackedRows,
    kPackedCols,
    kProbabilities,
    kScores,
    kGradients,
    kStored,
    kPackScratch,
};

std::int64_t roundUp(std::int64_t a, std::int64_t to) { return ceilDivide(a, to) * to; }

// A whole input as FP32, so that heads can read their columns of it in place.
struct Input {
    const float* values = nullptr;
    std::int64_t stride = 0;
    bool nonfinite = false;
    bool saturated = false; // by rounding into the module's format
};

Input widen(Context& context, const Tensor& from, FormatId format, SharedBuffer buffer)
{
    const bool round = format != FormatId::Fp32 && format != from.format();
    const bool inPlace = !round && from.format() == FormatId::Fp32;
    float* to = inPlace ? nullptr : context.shared<float>(buffer, from.size());
    std::atomic<bool> nonfinite{false};
    std::atomic<bool> saturated{false};
    const double work = 0.2 * static_cast<double>(from.size());
    context.pool.parallelFor(ceilDivide(from.size(), kChunkElements), work, [&](std::int64_t chunk, int worker) {
        const std::int64_t first = chunk * kChunkElements;
        const std::int64_t n = std::min(kChunkElements, from.size() - first);
        if (!inPlace) {
            widenArray(from.format(), elementAddress(from, first), to + first, static_cast<std::size_t>(n));
        }
        if (round && Sink::roundInPlace(format, to + first, n, context.local<float>(worker, kStored, n))) {
            saturated.store(true, std::memory_order_relaxed);
        }
        if (anyNonfinite(inPlace ? from.as<float>() + first : to + first, n)) {
            nonfinite.store(true, std::memory_order_relaxed);
        }
    });
    return {inPlace ? from.as<float>() : to, from.cols(), nonfinite.load(), saturated.load()};
}

// What forward and backward share for one sequence and head.
class Head {
public:
    Head(Context& context, const AttentionShape& shape, FormatId format, const Input& qkv, std::int64_t index,
         int worker)
        : m_context(context),
          m_kernels(gemmKernels()),
          m_tf32(format == FormatId::Tf32),
          m_format(m_tf32 ? FormatId::Fp32 : format),
          m_t(shape.context),
          m_d(shape.headWidth),
          m_width(std::int64_t{shape.heads} * shape.headWidth),
          m_causal(shape.causal),
          m_index(index),
          m_row(index / shape.heads * shape.context),
          m_col(index % shape.heads * shape.headWidth),
          m_worker(worker),
          m_scale(1.0F / std::sqrt(static_cast<float>(shape.headWidth))),
          m_headStride(roundUp(shape.headWidth, m_kernels.tileCols)),
          m_stride(qkv.stride),
          m_q(qkv.values + m_row * qkv.stride + m_col),
          m_k(m_q + m_width),
          m_v(m_k + m_width)
    {
    }

protected:
    float* local(LocalBuffer buffer, std::int64_t count) const
    {
        return m_context.local<float>(m_worker, buffer, count);
    }
    float* scratch() const { return local(kPackScratch, packScratchSize(m_kernels)); }

    // Panels of op(b) (depth, cols).
    const float* packRight(const Operand& b, std::int64_t cols, std::int64_t depth, LocalBuffer buffer)
    {
        float* to = local(buffer, roundUp(cols, m_kernels.tileCols) * depth);
        packB(m_kernels, b, 0, cols, depth, to, depth * m_kernels.tileCols, scratch());
        return to;
    }

    // c (rows, cols) [+]= op(a) b. `bDepth` values of k were packed for b, of which the first `depth` are used. c has
    // room for whole tiles.
    void multiply(const Operand& a, std::int64_t rows, const float* b, std::int64_t bDepth, std::int64_t cols,
                  std::int64_t depth, float* c, std::int64_t stride, bool accumulate)
    {
        float* packed = local(kPackedRows, panelsSizeA(m_kernels, rows, depth));
        const PanelsA panels = panelsA(m_kernels, a, 0, rows, depth, packed, scratch());
        for (std::int64_t k = 0; k < depth; k += m_kernels.depth) {
            m_kernels.multiply({panels.first + k * panels.step, panels.panel, panels.row,
                                ceilDivide(rows, m_kernels.tileRows), b + k * m_kernels.tileCols,
                                bDepth * m_kernels.tileCols, ceilDivide(cols, m_kernels.tileCols),
                                std::min(m_kernels.depth, depth - k), c, stride, accumulate || k > 0});
        }
    }

    // 48 queries, or what is left of the sequence.
    struct Block {
        std::int64_t query;  // the first
        std::int64_t count;  // of queries
        std::int64_t keys;   // that some of them meet
        std::int64_t stride; // of their scores
    };
    Block block(std::int64_t query) const
    {
        const std::int64_t count = std::min(kQueries, m_t - query);
        const std::int64_t keys = m_causal ? query + count : m_t;
        return {query, count, keys, roundUp(keys, kKeyMultiple)};
    }
    std::int64_t largestBlock() const { return kQueries * roundUp(m_t, kKeyMultiple); }
    std::int64_t keysOf(std::int64_t query) const { return m_causal ? query + 1 : m_t; }

    // Zeros for what query `query` does not meet, up to the end of its row.
    void mask(float* row, std::int64_t query, const Block& b) const
    {
        std::fill(row + keysOf(query), row + b.stride, 0.0F);
    }

    LowerProduct lowerProduct(const float* lower, std::int64_t lowerStride, const Block& b, const float* right,
                              std::int64_t rightStride, float* c) const
    {
        const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
        return {lower, size(lowerStride), size(b.query), size(b.count), right, size(rightStride), size(m_d),
                c,     size(m_headStride)};
    }

    // What is from now on a factor of products only.
    void roundFactor(float* x, std::int64_t size)
    {
        if (m_tf32) {
            m_saturated |= Sink::roundInPlace(FormatId::Tf32, x, size, local(kStored, size));
        }
    }

    // Stores a (T, d) matrix with whole tiles a row into the head's place.
    void store(Sink& sink, float* values, Tensor& to, std::int64_t col)
    {
        sink.storeBlock(values, m_headStride, m_t, m_d, elementAddress(to, m_row * to.cols() + col), to.cols(),
                        local(kStored, m_t * m_d));
    }

    Context& m_context;
    const GemmKernels& m_kernels;
    bool m_tf32;
    FormatId m_format; // of scores and their gradients
    std::int64_t m_t;
    std::int64_t m_d;
    std::int64_t m_width;
    bool m_causal;
    std::int64_t m_index;
    std::int64_t m_row; // of the sequence's first token
    std::int64_t m_col; // of the head's first column
    int m_worker;
    float m_scale;
    std::int64_t m_headStride; // of (T, d) results, in whole tiles
    std::int64_t m_stride;     // of q, k and v
    const float* m_q;
    const float* m_k;
    const float* m_v;
    bool m_saturated = false;
};

class ForwardHead : Head {
public:
    using Head::Head;

    void run(bool exactMask, Tensor& out, Tensor& probabilities, Sink sink)
    {
        const float* keys = packRight(Operand::of(m_k, m_stride, true), m_t, m_d, kPackedFirst);
        const float* values = packRight(Operand::of(m_v, m_stride, false), m_d, m_t, kPackedSecond);
        float* output = local(kOutput, (m_t + kQueries) * m_headStride);
        float* scores = local(kScores, largestBlock());
        for (std::int64_t query = 0; query < m_t; query += kQueries) {
            const Block b = block(query);
            multiply(Operand::of(m_q + query * m_stride, m_stride, false), b.count, keys, m_d, b.keys, m_d, scores,
                     b.stride, false);
            makeProbabilities(b, scores, probabilities);
            float* to = output + query * m_headStride;
            if (exactMask) {
                rowKernels().multiplyLower(lowerProduct(scores, b.stride, b, m_v, m_stride, to));
            } else {
                multiply(Operand::of(scores, b.stride, false), b.count, values, m_t, m_d, b.keys, to, m_headStride,
                         false);
            }
        }
        sink.noteSaturated(m_saturated);
        store(sink, output, out, m_col);
    }

private:
    // From q k^T to the probabilities as the module's format holds them, in `scores` and in the tensor.
    void makeProbabilities(const Block& b, float* scores, Tensor& probabilities)
    {
        const std::int64_t size = b.count * b.stride;
        void* stored = local(kStored, size);
        for (std::int64_t i = 0; i < b.count; ++i) {
            mask(scores + i * b.stride, b.query + i, b);
        }
        m_saturated |= Sink::roundInPlace(m_format, scores, size, stored);
        for (std::int64_t i = 0; i < b.count; ++i) {
            float* row = scores + i * b.stride;
            rowKernels().softmax(row, static_cast<std::size_t>(keysOf(b.query + i)), m_scale);
            mask(row, b.query + i, b);
        }
        const FormatId format = probabilities.format();
        if (format == FormatId::Fp32) {
            stored = scores;
        } else {
            castArray(format, scores, stored, static_cast<std::size_t>(size));
            widenArray(format, stored, scores, static_cast<std::size_t>(size));
        }
        const auto bytes = static_cast<std::size_t>(floatFormat(format).storageBytes);
        const auto used = static_cast<std::size_t>(b.keys) * bytes;
        const auto rest = static_cast<std::size_t>(m_t - b.keys) * bytes;
        for (std::int64_t i = 0; i < b.count; ++i) {
            auto* to = static_cast<std::byte*>(elementAddress(probabilities, (m_index * m_t + b.query + i) * m_t));
            std::memcpy(to, static_cast<const std::byte*>(stored) + static_cast<std::size_t>(i * b.stride) * bytes,
                        used);
            std::memset(to + used, 0, rest);
        }
        roundFactor(scores, size);
    }
};

class BackwardHead : Head {
public:
    using Head::Head;

    void run(bool exactMask, const Input& dOut, const Tensor& probabilities, Tensor& dQkv, Sink sink)
    {
        const float* gradient = dOut.values + m_row * dOut.stride + m_col;
        const float* values = packRight(Operand::of(m_v, m_stride, true), m_t, m_d, kPackedFirst);
        const float* keys = packRight(Operand::of(m_k, m_stride, false), m_d, m_t, kPackedSecond);
        const std::int64_t size = (m_t + kQueries) * m_headStride; // whole tiles
        float* dQuery = local(kGradients, 3 * size);
        float* dKey = dQuery + size;
        float* dValue = dKey + size;
        std::fill_n(dKey, 2 * size, 0.0F);
        float* dScores = local(kScores, largestBlock());
        for (std::int64_t query = 0; query < m_t; query += kQueries) {
            const Block b = block(query);
            float* factor = local(kProbabilities, kQueries * m_t);
            const float* p = readElements(probabilities, (m_index * m_t + query) * m_t, b.count * m_t, factor);
            const float* dBlock = gradient + query * dOut.stride;
            const float* qBlock = m_q + query * m_stride;
            multiply(Operand::of(dBlock, dOut.stride, false), b.count, values, m_d, b.keys, m_d, dScores, b.stride,
                     false);
            makeScoreGradients(b, p, dScores);
            if (m_tf32) {
                std::copy_n(p, b.count * m_t, factor); // `p` is the tensor itself
                roundFactor(factor, b.count * m_t);
                p = factor;
            }
            float* to = dQuery + query * m_headStride;
            if (exactMask) {
                rowKernels().multiplyLower(lowerProduct(dScores, b.stride, b, m_k, m_stride, to));
                rowKernels().addLowerTransposed(lowerProduct(p, m_t, b, dBlock, dOut.stride, dValue));
                rowKernels().addLowerTransposed(lowerProduct(dScores, b.stride, b, qBlock, m_stride, dKey));
            } else {
                multiply(Operand::of(dScores, b.stride, false), b.count, keys, m_t, m_d, b.keys, to, m_headStride,
                         false);
                addTransposed(b, p, m_t, dBlock, dOut.stride, dValue);
                addTransposed(b, dScores, b.stride, qBlock, m_stride, dKey);
            }
        }
        sink.noteSaturated(m_saturated);
        store(sink, dQuery, dQkv, m_col);
        store(sink, dKey, dQkv, m_width + m_col);
        store(sink, dValue, dQkv, 2 * m_width + m_col);
    }

private:
    // From dO V^T to the rounded gradients of the scores.
    void makeScoreGradients(const Block& b, const float* p, float* d)
    {
        for (std::int64_t i = 0; i < b.count; ++i) {
            const std::int64_t n = keysOf(b.query + i);
            rowKernels().softmaxBackward(p + i * m_t, d + i * b.stride, static_cast<std::size_t>(n), m_scale);
            mask(d + i * b.stride, b.query + i, b);
        }
        const std::int64_t size = b.count * b.stride;
        m_saturated |= Sink::roundInPlace(m_format, d, size, local(kStored, size));
        roundFactor(d, size);
    }

    // to (keys, d) += left^T right; left (count, keys), right (count, d)
    void addTransposed(const Block& b, const float* left, std::int64_t leftStride, const float* right,
                       std::int64_t rightStride, float* to)
    {
        const float* packed = packRight(Operand::of(right, rightStride, false), m_d, b.count, kPackedCols);
        multiply(Operand::of(left, leftStride, true), b.keys, packed, b.count, m_d, b.count, to, m_headStride, true);
    }
};

double work(const AttentionShape& s) { return kNanosecondsPerScore * s.batch * s.heads * s.context * s.context; }

} // namespace

void attentionForward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                      Tensor& probabilities, CastProbe* probe)
{
    const Input input = widen(context, qkv, format, kWideQkv);
    const std::int64_t heads = std::int64_t{shape.batch} * shape.heads;
    const bool exactMask = shape.causal && input.nonfinite;
    ProbeSlots slots(context.slots, probe, heads);
    context.pool.parallelFor(heads, work(shape), [&](std::int64_t head, int worker) {
        ForwardHead(context, shape, format, input, head, worker)
            .run(exactMask, out, probabilities, slots.sink(out.format(), head));
    });
    slots.finish();
    if (probe != nullptr) {
        probe->saturated |= input.saturated;
    }
}

void attentionBackward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& dOut,
                       const Tensor& qkv, const Tensor& probabilities, Tensor& dQkv, CastProbe* probe)
{
    const Input input = widen(context, qkv, format, kWideQkv);
    const FormatId gradientFormat = format == FormatId::Tf32 ? format : dOut.format();
    const Input gradient = widen(context, dOut, gradientFormat, kWideGradient);
    const std::int64_t heads = std::int64_t{shape.batch} * shape.heads;
    const bool exactMask = shape.causal && (input.nonfinite || gradient.nonfinite);
    ProbeSlots slots(context.slots, probe, heads);
    context.pool.parallelFor(heads, 2.5 * work(shape), [&](std::int64_t head, int worker) {
        BackwardHead(context, shape, format, input, head, worker)
            .run(exactMask, gradient, probabilities, dQkv, slots.sink(dQkv.format(), head));
    });
    slots.finish();
}

} // namespace halfscope::cpu
