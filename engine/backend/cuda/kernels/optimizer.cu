// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/optimizer.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    unscaleKernel(Source gradient, float inverseScale, float* to, long long n, Report report)
{
    __shared__ double parts[kWarps];
    double squares = 0.0;
    bool nonfinite = false;
    forGroups(1, n, [&](long long, long long index, int count) {
        float v[8];
        loadGroup(gradient, index, count, v);
        for (int i = 0; i < 8; ++i)
            v[i] *= inverseScale;
        for (int i = 0; i < count; ++i) {
            const auto wide = static_cast<double>(v[i]);
            squares += wide * wide;
            // What is not finite before the multiplication is not finite after it either.
            nonfinite = nonfinite || (__float_as_uint(v[i]) & 0x7FFFFFFFU) >= 0x7F800000U;
        }
        storeGroup({to, FormatId::Fp32}, index, count, v);
    });
    const int found = __syncthreads_or(nonfinite);
    const double sum = blockSum(squares, parts);
    if (threadIdx.x == 0) {
        report.sums[blockIdx.x] = {0.0, sum};
        if (found != 0)
            atomicOr(&report.record->flags, kNonfinite);
    }
}

__global__ void __launch_bounds__(kThreads) largestKernel(Source from, long long n, Report report)
{
    unsigned largest = 0;
    forGroups(1, n, [&](long long, long long index, int count) {
        float v[8];
        loadGroup(from, index, count, v);
        for (int i = 0; i < 8; ++i) {
            const unsigned magnitude = __float_as_uint(v[i]) & 0x7FFFFFFFU;
            largest = magnitude > largest ? magnitude : largest;
        }
    });
    largest = warpMaxBits(largest > 0x7F800000U ? 0x7F800000U : largest);
    if (threadIdx.x % kLanes == 0 && largest != 0)
        atomicMax(&report.record->largest, largest);
}

struct AdamState {
    float weight;
    float moment1;
    float moment2;
};

__device__ inline AdamState adamStep(const AdamWFactors& f, float gradient, AdamState s)
{
    const float g = gradient * f.gradientFactor;
    s.moment1 = fmaf(g, f.oneMinusBeta1, s.moment1 * f.beta1);
    s.moment2 = fmaf(g * g, f.oneMinusBeta2, s.moment2 * f.beta2);
    const float denominator = sqrtf(s.moment2) / f.rootCorrection2 + f.epsilon;
    s.weight = s.weight * f.decay - f.stepSize * s.moment1 / denominator;
    return s;
}

// As torch's sequence of operations on half tensors: mul_, lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_, of which
// each computes in FP32 and rounds its result. The last rounding is that of the store.
__device__ inline AdamState adamStepRounded(const AdamWFactors& f, float gradient, AdamState s)
{
    const FormatId every = f.every;
    const float g = gradient * f.gradientFactor;
    const float decayed = roundTo(every, s.weight * f.decay);
    const bool nearOld = f.oneMinusBeta1 < 0.5F; // lerp starts from the nearer end
    s.moment1 = roundTo(every, nearOld ? fmaf(f.oneMinusBeta1, g - s.moment1, s.moment1)
                                       : fmaf(f.oneMinusBeta1 - 1.0F, g - s.moment1, g));
    s.moment2 = roundTo(every, s.moment2 * f.beta2);
    s.moment2 = roundTo(every, s.moment2 + f.oneMinusBeta2 * g * g);
    const float root = roundTo(every, roundTo(every, sqrtf(s.moment2)) / f.rootCorrection2);
    s.weight = decayed - f.stepSize * s.moment1 / roundTo(every, root + f.epsilon);
    return s;
}

__device__ inline bool isFinite(float x) { return (__float_as_uint(x) & 0x7FFFFFFFU) < 0x7F800000U; }

// CPU twin: countUpdates() in numerics/update_statistics.cpp.
__device__ inline void countUpdate(const AdamWArguments& a, float before, float after, unsigned* bins,
                                   unsigned (&counts)[5])
{
    ++counts[kUpdateWeights];
    if (!isFinite(before) || !isFinite(after)) {
        ++counts[kUpdateNonfinite];
        return;
    }
    const double change = static_cast<double>(after) - static_cast<double>(before);
    if (change == 0.0) {
        ++counts[kUpdateUnchanged];
        return;
    }
    if (roundTo(a.movesIn, before * a.moveFactor) == roundTo(a.movesIn, after * a.moveFactor))
        ++counts[kUpdateLost];
    if (before == 0.0F) {
        ++counts[kUpdateFromZero];
        return;
    }
    const double ratio = change / static_cast<double>(before);
    int exponent = static_cast<int>(__double_as_longlong(ratio) >> 52 & 0x7FF) - 1023;
    exponent = exponent < -149 ? -149 : exponent > 127 ? 127 : exponent;
    atomicAdd(&bins[exponent + 149], 1U);
}

__global__ void __launch_bounds__(kThreads) adamwKernel(AdamWArguments a, long long n)
{
    HALFSCOPE_DYNAMIC_SHARED(shared); // kWarps histograms, where there is a record
    if (a.record != nullptr) {
        for (int i = threadIdx.x; i < kWarps * kBins; i += kThreads)
            shared[i] = 0;
        __syncthreads();
    }
    unsigned* const bins = shared + threadIdx.x / kLanes * kBins;
    unsigned counts[5] = {};
    forGroups(1, n, [&](long long, long long index, int count) {
        float g[8];
        float w[8];
        float m[8];
        float v[8];
        loadGroup({a.gradient, FormatId::Fp32}, index, count, g);
        loadGroup({a.weights.data, a.weights.format}, index, count, w);
        loadGroup({a.moment1.data, a.moment1.format}, index, count, m);
        loadGroup({a.moment2.data, a.moment2.format}, index, count, v);
        for (int i = 0; i < 8; ++i) {
            const AdamState before{w[i], m[i], v[i]};
            const AdamState after = a.factors.every == FormatId::Fp32 ? adamStep(a.factors, g[i], before)
                                                                      : adamStepRounded(a.factors, g[i], before);
            if (a.record != nullptr && i < count)
                countUpdate(a, before.weight, after.weight, bins, counts);
            w[i] = after.weight;
            m[i] = after.moment1;
            v[i] = after.moment2;
        }
        storeGroup(a.weights, index, count, w);
        storeGroup(a.moment1, index, count, m);
        storeGroup(a.moment2, index, count, v);
    });
    if (a.record == nullptr)
        return;
    for (int k = 0; k < 5; ++k) {
        const unsigned all = warpSum(counts[k]);
        if (threadIdx.x % kLanes == 0 && all != 0)
            atomicAdd(&a.record->classes[k], static_cast<unsigned long long>(all));
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += kThreads) {
        unsigned all = 0;
        for (int warp = 0; warp < kWarps; ++warp)
            all += shared[warp * kBins + bin];
        if (all != 0)
            atomicAdd(&a.record->bins[bin], static_cast<unsigned long long>(all));
    }
}

// A block a record.
__global__ void __launch_bounds__(kThreads) finishKernel(Record* records, const BlockSums* sums, const SumRange* ranges)
{
    __shared__ double parts[2][kWarps];
    const SumRange range = ranges[blockIdx.x];
    double sum = 0.0;
    double squares = 0.0;
    for (unsigned i = threadIdx.x; i < range.count; i += kThreads) {
        sum += sums[range.first + i].sum;
        squares += sums[range.first + i].squares;
    }
    sum = blockSum(sum, parts[0]);
    squares = blockSum(squares, parts[1]);
    if (threadIdx.x == 0) {
        records[blockIdx.x].sum = sum;
        records[blockIdx.x].sumSquares = squares;
    }
}

} // namespace

unsigned unscaleBlocks(long long n) { return groupBlocks(1, n); }

void unscale(cudaStream_t stream, Source gradient, float inverseScale, float* to, long long n, const Report& report)
{
    launch(stream, unscaleBlocks(n), 0, unscaleKernel, gradient, inverseScale, to, n, report);
}

void largestMagnitude(cudaStream_t stream, Source from, long long n, const Report& report)
{
    launch(stream, groupBlocks(1, n), 0, largestKernel, from, n, report);
}

void adamw(cudaStream_t stream, const AdamWArguments& arguments, long long n)
{
    const unsigned bytes = arguments.record == nullptr ? 0 : kWarps * kBins * sizeof(unsigned);
    launch(stream, groupBlocks(1, n), bytes, adamwKernel, arguments, n);
}

void finishRecords(cudaStream_t stream, Record* records, const BlockSums* sums, const SumRange* ranges, unsigned count)
{
    launch(stream, count, 0, finishKernel, records, sums, ranges);
}

} // namespace halfscope::cuda
