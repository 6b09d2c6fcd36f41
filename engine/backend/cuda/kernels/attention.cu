// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/attention.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

// Column `column` of token n (N, C) as an index into (H, T, d).
__device__ inline long long headIndex(const HeadShape& s, long long n, long long column)
{
    const long long sequence = n / s.context;
    const long long head = column / s.headWidth;
    return ((sequence * s.heads + head) * s.context + n % s.context) * s.headWidth + column % s.headWidth;
}

// f(part, index into the part, index into the matrix (N, parts * C), count): neighbours in both. A group of 8 stays
// within a head when the head's width is a multiple of 8, else it is taken one by one.
template <class F>
__device__ __forceinline__ void forHeadGroups(const HeadShape& s, int parts, F f)
{
    const long long width = static_cast<long long>(s.heads) * s.headWidth;
    forGroups(tokenCount(s), parts * width, [&](long long n, long long column, int count) {
        const long long row = n * parts * width;
        if (s.headWidth % 8 == 0) {
            f(static_cast<int>(column / width), headIndex(s, n, column % width), row + column, count);
            return;
        }
        for (int i = 0; i < count; ++i)
            f(static_cast<int>((column + i) / width), headIndex(s, n, (column + i) % width), row + column + i, 1);
    });
}

// Sets flags for the whole grid from those of each thread.
__device__ inline void raise(unsigned* flags, bool nonfinite, bool saturated)
{
    const int anyNonfinite = __syncthreads_or(nonfinite);
    const int anySaturated = __syncthreads_or(saturated);
    if (threadIdx.x == 0 && (anyNonfinite != 0 || anySaturated != 0))
        atomicOr(flags, (anyNonfinite != 0 ? kNonfiniteInput : 0U) | (anySaturated != 0 ? kSaturatedInput : 0U));
}

__device__ inline unsigned magnitudeBits(float x) { return __float_as_uint(x) & 0x7FFFFFFFU; }
__device__ inline bool saturates(float x, unsigned from)
{
    return magnitudeBits(x) >= from && magnitudeBits(x) < 0x7F800000U;
}

__global__ void __launch_bounds__(kThreads) splitKernel(HeadShape s, SplitArguments a, unsigned* flags)
{
    bool nonfinite = false;
    bool saturated = false;
    forHeadGroups(s, a.count, [&](int part, long long to, long long from, int count) {
        float v[8];
        loadGroup(a.from, from, count, v);
        for (int i = 0; i < count; ++i) {
            saturated = saturated || saturates(v[i], a.saturatingFrom);
            v[i] = roundTo(a.format, v[i]);
            nonfinite = nonfinite || magnitudeBits(v[i]) >= 0x7F800000U;
        }
        storeGroup(a.parts[part], to, count, v);
    });
    raise(flags, nonfinite, saturated);
}

__global__ void __launch_bounds__(kThreads) mergeKernel(HeadShape s, MergeArguments a, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, a.to, shared);
    if (a.flags != nullptr)
        sink.noteSaturated((*a.flags & kSaturatedInput) != 0);
    forHeadGroups(s, a.count, [&](int part, long long from, long long to, int count) {
        float v[8];
        loadGroup({a.parts[part], FormatId::Fp32}, from, count, v);
        sink.store(to, count, v);
    });
    sink.finish();
}

__device__ inline long long keysOf(const HeadShape& s, long long row)
{
    return s.causal ? row % s.context + 1 : s.context;
}

__global__ void __launch_bounds__(kThreads) softmaxKernel(HeadShape s, SoftmaxArguments a, unsigned* flags)
{
    bool saturated = false;
    const Source scores{a.scores, FormatId::Fp32};
    forRows(headCount(s) * s.context, [&](long long row) {
        const long long first = row * s.context;
        const long long keys = keysOf(s, row);
        float v[8];
        float most = -INFINITY;
        forLaneGroups(keys, [&](long long key, int count) {
            loadGroup(scores, first + key, count, v);
            for (int i = 0; i < count; ++i) {
                saturated = saturated || saturates(v[i], a.saturatingFrom);
                most = fmaxf(most, roundTo(a.format, v[i]));
            }
        });
        most = warpMax(most);
        float sum = 0.0F;
        forLaneGroups(keys, [&](long long key, int count) {
            loadGroup(scores, first + key, count, v);
            for (int i = 0; i < count; ++i)
                sum += expf((roundTo(a.format, v[i]) - most) * a.scale);
        });
        sum = warpSum(sum);
        forLaneGroups(s.context, [&](long long key, int count) {
            loadGroup(scores, first + key, count, v);
            for (int i = 0; i < 8; ++i)
                v[i] = key + i < keys ? expf((roundTo(a.format, v[i]) - most) * a.scale) / sum : 0.0F;
            storeGroup(a.probabilities, first + key, count, v);
            if (a.copy.data != nullptr) {
                for (int i = 0; i < 8; ++i)
                    v[i] = roundTo(a.probabilities.format, v[i]);
                storeGroup(a.copy, first + key, count, v);
            }
        });
    });
    raise(flags, false, saturated);
}

__global__ void __launch_bounds__(kThreads)
    softmaxBackwardKernel(HeadShape s, SoftmaxBackwardArguments a, unsigned* flags)
{
    bool saturated = false;
    const Source gradients{a.dProbabilities, FormatId::Fp32};
    forRows(headCount(s) * s.context, [&](long long row) {
        const long long first = row * s.context;
        const long long keys = keysOf(s, row);
        float p[8];
        float d[8];
        float dot = 0.0F;
        forLaneGroups(keys, [&](long long key, int count) {
            loadGroup(a.probabilities, first + key, count, p);
            loadGroup(gradients, first + key, count, d);
            for (int i = 0; i < count; ++i)
                dot = fmaf(p[i], d[i], dot);
        });
        dot = warpSum(dot);
        forLaneGroups(s.context, [&](long long key, int count) {
            loadGroup(a.probabilities, first + key, count, p);
            loadGroup(gradients, first + key, count, d);
            for (int i = 0; i < 8; ++i) {
                const float gradient = key + i < keys && i < count ? p[i] * (d[i] - dot) * a.scale : 0.0F;
                saturated = saturated || saturates(gradient, a.saturatingFrom);
                d[i] = roundTo(a.format, gradient);
            }
            storeGroup(a.dScores, first + key, count, d);
        });
    });
    raise(flags, false, saturated);
}

// A thread an element of c: a chain of fused multiply-adds over the keys, or over the queries where transposed.
__global__ void __launch_bounds__(kThreads)
    causalProductKernel(HeadShape s, Source lower, bool transposed, Source b, float* c, const unsigned* flags)
{
    if ((*flags & kNonfiniteInput) == 0)
        return;
    const long long size = headCount(s) * s.context * s.headWidth;
    const long long step = static_cast<long long>(gridDim.x) * kThreads;
    for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < size; i += step) {
        const long long column = i % s.headWidth;
        const long long row = i / s.headWidth % s.context;
        const long long head = i / s.headWidth / s.context;
        const long long matrix = head * s.context * s.context;
        const long long begin = transposed ? row : 0;
        const long long end = transposed ? s.context : row + 1;
        float sum = 0.0F;
        for (long long k = begin; k < end; ++k) {
            const float factor = loadElement(lower, matrix + (transposed ? k * s.context + row : row * s.context + k));
            sum = fmaf(factor, loadElement(b, (head * s.context + k) * s.headWidth + column), sum);
        }
        c[i] = sum;
    }
}

} // namespace

void splitHeads(cudaStream_t stream, const HeadShape& shape, const SplitArguments& arguments, unsigned* flags)
{
    launch(stream, mergeBlocks(shape, arguments.count), 0, splitKernel, shape, arguments, flags);
}

unsigned mergeBlocks(const HeadShape& shape, int parts)
{
    return groupBlocks(tokenCount(shape), static_cast<long long>(parts) * shape.heads * shape.headWidth);
}

void mergeHeads(cudaStream_t stream, const HeadShape& shape, const MergeArguments& arguments, const Probe& probe)
{
    launch(stream, mergeBlocks(shape, arguments.count), sinkBytes(probe), mergeKernel, shape, arguments, probe);
}

void softmax(cudaStream_t stream, const HeadShape& shape, const SoftmaxArguments& arguments, unsigned* flags)
{
    launch(stream, rowBlocks(headCount(shape) * shape.context), 0, softmaxKernel, shape, arguments, flags);
}

void softmaxBackward(cudaStream_t stream, const HeadShape& shape, const SoftmaxBackwardArguments& arguments,
                     unsigned* flags)
{
    launch(stream, rowBlocks(headCount(shape) * shape.context), 0, softmaxBackwardKernel, shape, arguments, flags);
}

void causalProduct(cudaStream_t stream, const HeadShape& shape, Source lower, bool transposed, Source b, float* c,
                   const unsigned* flags)
{
    if (!shape.causal)
        return;
    launch(stream, groupBlocks(headCount(shape) * shape.context, shape.headWidth), 0, causalProductKernel, shape, lower,
           transposed, b, c, flags);
}

} // namespace halfscope::cuda
