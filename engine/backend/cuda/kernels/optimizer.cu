// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/optimizer.cuh"

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

__global__ void __launch_bounds__(kThreads)
    adamwKernel(AdamWFactors f, const float* gradient, float* master, float* moment1, float* moment2, long long n)
{
    forGroups(1, n, [&](long long, long long index, int count) {
        float g[8];
        float w[8];
        float m[8];
        float v[8];
        loadGroup({gradient, FormatId::Fp32}, index, count, g);
        loadGroup({master, FormatId::Fp32}, index, count, w);
        loadGroup({moment1, FormatId::Fp32}, index, count, m);
        loadGroup({moment2, FormatId::Fp32}, index, count, v);
        for (int i = 0; i < 8; ++i) {
            g[i] *= f.gradientFactor;
            m[i] = fmaf(g[i], f.oneMinusBeta1, m[i] * f.beta1);
            v[i] = fmaf(g[i] * g[i], f.oneMinusBeta2, v[i] * f.beta2);
            const float denominator = sqrtf(v[i]) / f.rootCorrection2 + f.epsilon;
            w[i] = w[i] * f.decay - f.stepSize * m[i] / denominator;
        }
        storeGroup({master, FormatId::Fp32}, index, count, w);
        storeGroup({moment1, FormatId::Fp32}, index, count, m);
        storeGroup({moment2, FormatId::Fp32}, index, count, v);
    });
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

void adamw(cudaStream_t stream, const AdamWFactors& factors, const float* gradient, float* master, float* moment1,
           float* moment2, long long n)
{
    launch(stream, groupBlocks(1, n), 0, adamwKernel, factors, gradient, master, moment1, moment2, n);
}

void finishRecords(cudaStream_t stream, Record* records, const BlockSums* sums, const SumRange* ranges, unsigned count)
{
    launch(stream, count, 0, finishKernel, records, sums, ranges);
}

} // namespace halfscope::cuda
