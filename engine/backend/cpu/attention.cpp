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
#include "engine/backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "engine/backend/cpu/gemm_pack.h"
#include "engine/backend/cpu/row_kernels.h"
#include "engine/backend/cpu/store.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::int64_t kQueries = 48; // a block; a multiple of every tileRows
constexpr double kNanosecondsPerScore = 2.0;

enum LocalBuffer {
    kQuery,
    kKey,
    kValue,
    kOutput, // and its gradient
    kPackedFirst,
    kPackedSecond,
    kPackedRows,
    kPackedCols,
    kProbabilities,
    kScores,
    kGradients,
    kProduct,
    kStored,
    kPackScratch,
};

std::int64_t roundUp(std::int64_t a, std::int64_t to) { return ceilDivide(a, to) * to; }

void check(const AttentionShape& s, const Tensor& qkv, const Tensor& out, const Tensor& probabilities)
{
    const std::int64_t tokens = std::int64_t{s.batch} * s.context;
    const std::int64_t width = std::int64_t{s.heads} * s.headWidth;
    require(s.batch > 0 && s.context > 0 && s.heads > 0 && s.headWidth > 0 && qkv.rows() == tokens &&
                qkv.cols() == 3 * width && out.rows() == tokens && out.cols() == width &&
                probabilities.rows() == std::int64_t{s.batch} * s.heads * s.context &&
                probabilities.cols() == s.context,
            "attention: shapes do not fit");
}

// What forward and backward share for one sequence and head.
class Head {
public:
    Head(Context& context, const AttentionShape& shape, FormatId format, std::int64_t index, int worker)
        : m_context(context),
          m_kernels(gemmKernels()),
          m_format(format),
          m_t(shape.context),
          m_d(shape.headWidth),
          m_width(std::int64_t{shape.heads} * shape.headWidth),
          m_causal(shape.causal),
          m_index(index),
          m_row(index / shape.heads * shape.context),
          m_col(index % shape.heads * shape.headWidth),
          m_worker(worker),
          m_scale(1.0F / std::sqrt(static_cast<float>(shape.headWidth))),
          m_scoreStride(roundUp(shape.context, m_kernels.tileCols)),
          m_headStride(roundUp(shape.headWidth, m_kernels.tileCols))
    {
    }

protected:
    float* local(LocalBuffer buffer, std::int64_t count) const
    {
        return m_context.local<float>(m_worker, buffer, count);
    }
    float* scratch() const { return local(kPackScratch, packScratchSize(m_kernels)); }

    // The head's (T, d) part of a tensor, beginning at column `col`; rounded into the module's format if asked to.
    float* load(const Tensor& from, std::int64_t col, LocalBuffer buffer, bool round)
    {
        float* to = local(buffer, m_t * m_d);
        for (std::int64_t t = 0; t < m_t; ++t) {
            widenArray(from.format(), elementAddress(from, (m_row + t) * from.cols() + col), to + t * m_d,
                       static_cast<std::size_t>(m_d));
        }
        if (round && from.format() != m_format) {
            m_saturated |= Sink::roundInPlace(m_format, to, m_t * m_d, local(kStored, m_t * m_d));
        }
        return to;
    }

    void loadQkv(const Tensor& qkv)
    {
        m_q = load(qkv, m_col, kQuery, true);
        m_k = load(qkv, m_width + m_col, kKey, true);
        m_v = load(qkv, 2 * m_width + m_col, kValue, true);
    }

    // Panels of op(b) (depth, cols).
    const float* packRight(const Operand& b, std::int64_t cols, std::int64_t depth, LocalBuffer buffer)
    {
        float* to = local(buffer, roundUp(cols, m_kernels.tileCols) * depth);
        packB(m_kernels, b, 0, cols, depth, to, scratch());
        return to;
    }

    // c (rows, cols) [+]= op(a) b. `bDepth` values of k were packed for b, of which the first `depth` are used. c has
    // room for whole tiles.
    void multiply(const Operand& a, std::int64_t rows, const float* b, std::int64_t bDepth, std::int64_t cols,
                  std::int64_t depth, float* c, std::int64_t stride, bool accumulate)
    {
        float* packed = local(kPackedRows, roundUp(rows, m_kernels.tileRows) * depth);
        packA(m_kernels, a, 0, rows, depth, packed, scratch());
        for (std::int64_t k = 0; k < depth; k += m_kernels.depth) {
            m_kernels.multiply({packed + k * m_kernels.tileRows, depth * m_kernels.tileRows,
                                ceilDivide(rows, m_kernels.tileRows), b + k * m_kernels.tileCols,
                                bDepth * m_kernels.tileCols, ceilDivide(cols, m_kernels.tileCols),
                                std::min(m_kernels.depth, depth - k), c, stride, accumulate || k > 0});
        }
    }

    std::int64_t queriesFrom(std::int64_t query) const { return std::min(kQueries, m_t - query); }
    // Keys that some query of the block beginning at `query` meets, and those that `query` itself meets.
    std::int64_t keysOfBlock(std::int64_t query) const { return m_causal ? query + queriesFrom(query) : m_t; }
    std::int64_t keysOf(std::int64_t query) const { return m_causal ? query + 1 : m_t; }

    // c (count, d) = rows [first, first + count) of L b, L lower triangular: only the terms that are not masked.
    void multiplyLower(const float* lower, std::int64_t first, std::int64_t count, const float* b, float* c,
                       std::int64_t stride) const
    {
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t col = 0; col < m_d; ++col) {
                float sum = 0.0F;
                for (std::int64_t j = 0; j <= first + i; ++j) {
                    sum = std::fma(lower[i * m_scoreStride + j], b[j * m_d + col], sum);
                }
                c[i * stride + col] = sum;
            }
        }
    }
    // c (T, d) += L^T b for the same rows of L; b (count, d).
    void addLowerTransposed(const float* lower, std::int64_t first, std::int64_t count, const float* b, float* c,
                            std::int64_t stride) const
    {
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j <= first + i; ++j) {
                for (std::int64_t col = 0; col < m_d; ++col) {
                    float& sum = c[j * stride + col];
                    sum = std::fma(lower[i * m_scoreStride + j], b[i * m_d + col], sum);
                }
            }
        }
    }

    // Stores a (T, d) matrix with whole tiles a row into the head's place.
    void store(Sink& sink, float* values, Tensor& to, std::int64_t col)
    {
        if (m_headStride != m_d) {
            for (std::int64_t t = 1; t < m_t; ++t) {
                std::copy_n(values + t * m_headStride, m_d, values + t * m_d);
            }
        }
        sink.storeBlock(values, m_t, m_d, elementAddress(to, m_row * to.cols() + col), to.cols(),
                        local(kStored, m_t * m_d));
    }

    Context& m_context;
    const GemmKernels& m_kernels;
    FormatId m_format;
    std::int64_t m_t;
    std::int64_t m_d;
    std::int64_t m_width;
    bool m_causal;
    std::int64_t m_index;
    std::int64_t m_row; // of the sequence's first token
    std::int64_t m_col; // of the head's first column
    int m_worker;
    float m_scale;
    std::int64_t m_scoreStride;
    std::int64_t m_headStride;
    bool m_saturated = false;
    const float* m_q = nullptr;
    const float* m_k = nullptr;
    const float* m_v = nullptr;
};

class ForwardHead : Head {
public:
    using Head::Head;

    void run(const Tensor& qkv, Tensor& out, Tensor& probabilities, Sink sink)
    {
        loadQkv(qkv);
        const bool exactMask = m_causal && anyNonfinite(m_v, m_t * m_d);
        const float* keys = packRight(Operand::of(m_k, m_d, true), m_t, m_d, kPackedFirst);
        const float* values = packRight(Operand::of(m_v, m_d, false), m_d, m_t, kPackedSecond);
        float* output = local(kOutput, (m_t + kQueries) * m_headStride);
        float* scores = local(kScores, kQueries * m_scoreStride);
        for (std::int64_t query = 0; query < m_t; query += kQueries) {
            const std::int64_t count = queriesFrom(query);
            const std::int64_t keyCount = keysOfBlock(query);
            multiply(Operand::of(m_q + query * m_d, m_d, false), count, keys, m_d, keyCount, m_d, scores, m_scoreStride,
                     false);
            for (std::int64_t i = 0; i < count; ++i) {
                makeProbabilities(scores + i * m_scoreStride, query + i, keyCount, probabilities);
            }
            float* block = output + query * m_headStride;
            if (exactMask) {
                multiplyLower(scores, query, count, m_v, block, m_headStride);
            } else {
                multiply(Operand::of(scores, m_scoreStride, false), count, values, m_t, m_d, keyCount, block,
                         m_headStride, false);
            }
        }
        sink.noteSaturated(m_saturated);
        store(sink, output, out, m_col);
    }

private:
    // From a row of q k^T to the probabilities, rounded, in `row` and in the tensor.
    void makeProbabilities(float* row, std::int64_t query, std::int64_t keyCount, Tensor& probabilities)
    {
        const std::int64_t n = keysOf(query);
        m_saturated |= Sink::roundInPlace(m_format, row, n, local(kStored, m_t));
        rowKernels().softmax(row, static_cast<std::size_t>(n), m_scale);
        std::fill(row + n, row + keyCount, 0.0F);
        void* to = elementAddress(probabilities, (m_index * m_t + query) * m_t);
        castArray(probabilities.format(), row, to, static_cast<std::size_t>(keyCount));
        const auto elementBytes = static_cast<std::size_t>(floatFormat(probabilities.format()).storageBytes);
        std::memset(static_cast<std::byte*>(to) + static_cast<std::size_t>(keyCount) * elementBytes, 0,
                    static_cast<std::size_t>(m_t - keyCount) * elementBytes);
        if (probabilities.format() != FormatId::Fp32) {
            widenArray(probabilities.format(), to, row, static_cast<std::size_t>(keyCount));
        }
    }
};

class BackwardHead : Head {
public:
    using Head::Head;

    void run(const Tensor& dOut, const Tensor& qkv, const Tensor& probabilities, Tensor& dQkv, Sink sink)
    {
        loadQkv(qkv);
        m_dOut = load(dOut, m_col, kOutput, false);
        m_exactMask = m_causal &&
                      (anyNonfinite(m_q, m_t * m_d) || anyNonfinite(m_k, m_t * m_d) || anyNonfinite(m_dOut, m_t * m_d));
        const float* values = packRight(Operand::of(m_v, m_d, true), m_t, m_d, kPackedFirst);
        const float* keys = packRight(Operand::of(m_k, m_d, false), m_d, m_t, kPackedSecond);

        const std::int64_t size = (m_t + kQueries) * m_headStride; // whole tiles
        float* dQuery = local(kGradients, 3 * size);
        float* dKey = dQuery + size;
        float* dValue = dKey + size;
        std::fill_n(dKey, 2 * size, 0.0F);
        m_probabilities = local(kProbabilities, kQueries * m_scoreStride);
        m_dScores = local(kScores, kQueries * m_scoreStride);
        for (std::int64_t query = 0; query < m_t; query += kQueries) {
            const std::int64_t count = queriesFrom(query);
            const std::int64_t keyCount = keysOfBlock(query);
            multiply(Operand::of(m_dOut + query * m_d, m_d, false), count, values, m_d, keyCount, m_d, m_dScores,
                     m_scoreStride, false);
            for (std::int64_t i = 0; i < count; ++i) {
                makeScoreGradients(i, query + i, keyCount, probabilities);
            }
            float* block = dQuery + query * m_headStride;
            if (m_exactMask) {
                multiplyLower(m_dScores, query, count, m_k, block, m_headStride);
                addLowerTransposed(m_probabilities, query, count, m_dOut + query * m_d, dValue, m_headStride);
                addLowerTransposed(m_dScores, query, count, m_q + query * m_d, dKey, m_headStride);
            } else {
                multiply(Operand::of(m_dScores, m_scoreStride, false), count, keys, m_t, m_d, keyCount, block,
                         m_headStride, false);
                addTransposed(m_probabilities, m_dOut + query * m_d, count, keyCount, dValue);
                addTransposed(m_dScores, m_q + query * m_d, count, keyCount, dKey);
            }
        }
        sink.noteSaturated(m_saturated);
        store(sink, dQuery, dQkv, m_col);
        store(sink, dKey, dQkv, m_width + m_col);
        store(sink, dValue, dQkv, 2 * m_width + m_col);
    }

private:
    // From row i of dO V^T to the rounded gradient of the scores.
    void makeScoreGradients(std::int64_t i, std::int64_t query, std::int64_t keyCount, const Tensor& probabilities)
    {
        const std::int64_t n = keysOf(query);
        float* p = m_probabilities + i * m_scoreStride;
        float* d = m_dScores + i * m_scoreStride;
        widenArray(probabilities.format(), elementAddress(probabilities, (m_index * m_t + query) * m_t), p,
                   static_cast<std::size_t>(keyCount));
        rowKernels().softmaxBackward(p, d, static_cast<std::size_t>(n), m_scale);
        m_saturated |= Sink::roundInPlace(m_format, d, n, local(kStored, m_t));
        std::fill(d + n, d + keyCount, 0.0F);
    }

    // to (keyCount, d) += block^T b, block (count, keyCount), b (count, d)
    void addTransposed(const float* block, const float* b, std::int64_t count, std::int64_t keyCount, float* to)
    {
        const float* packed = packRight(Operand::of(b, m_d, false), m_d, count, kPackedCols);
        multiply(Operand::of(block, m_scoreStride, true), keyCount, packed, count, m_d, count, to, m_headStride, true);
    }

    const float* m_dOut = nullptr;
    float* m_probabilities = nullptr;
    float* m_dScores = nullptr;
    bool m_exactMask = false;
};

double work(const AttentionShape& s) { return kNanosecondsPerScore * s.batch * s.heads * s.context * s.context; }

} // namespace

void attentionForward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                      Tensor& probabilities, CastProbe* probe)
{
    check(shape, qkv, out, probabilities);
    const std::int64_t heads = std::int64_t{shape.batch} * shape.heads;
    ProbeSlots slots(context.slots, probe, heads);
    context.pool.parallelFor(heads, work(shape), [&](std::int64_t head, int worker) {
        ForwardHead(context, shape, format, head, worker).run(qkv, out, probabilities, slots.sink(out.format(), head));
    });
    slots.finish();
}

void attentionBackward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& dOut,
                       const Tensor& qkv, const Tensor& probabilities, Tensor& dQkv, CastProbe* probe)
{
    check(shape, qkv, dOut, probabilities);
    require(dQkv.rows() == qkv.rows() && dQkv.cols() == qkv.cols(), "attentionBackward: dQkv must have qkv's shape");
    const std::int64_t heads = std::int64_t{shape.batch} * shape.heads;
    ProbeSlots slots(context.slots, probe, heads);
    context.pool.parallelFor(heads, 2.5 * work(shape), [&](std::int64_t head, int worker) {
        BackwardHead(context, shape, format, head, worker)
            .run(dOut, qkv, probabilities, dQkv, slots.sink(dQkv.format(), head));
    });
    slots.finish();
}

} // namespace halfscope::cpu
