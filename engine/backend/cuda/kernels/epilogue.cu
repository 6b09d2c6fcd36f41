// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/epilogue.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

// GELU with the error function: x Phi(x), Phi the normal distribution. CPU twin: core/simd_math.h.
__device__ inline float normalDistribution(float x) { return fmaf(0.5F, erff(x * 0.70710678F), 0.5F); }
__device__ inline float geluDerivative(float x) // Phi(x) + x phi(x)
{
    const float density = 0.39894228F * expf(x * x * -0.5F);
    return fmaf(x, density, normalDistribution(x));
}

// Written so that NaN stays NaN and -0 becomes +0, as max(x, 0) does in PyTorch.
__device__ inline float activate(bool relu, float x)
{
    if (relu)
        return x <= 0.0F ? 0.0F : x;
    return x * normalDistribution(x);
}
__device__ inline float activateBackward(bool relu, float gradient, float x)
{
    if (relu)
        return x <= 0.0F ? 0.0F : gradient;
    return gradient * geluDerivative(x);
}

__global__ void __launch_bounds__(kThreads) epilogueKernel(EpilogueArguments a, Probe probe, Probe activatedProbe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, a.c, shared);
    Sink activated(activatedProbe, a.activated, shared + (probe.measure ? kSinkBytes / sizeof(unsigned) : 0));
    forGroups(a.rows, a.cols, [&](long long row, long long column, int count) {
        const long long index = row * a.cols + column;
        float v[8];
        float w[8];
        loadGroup({a.product, FormatId::Fp32}, index, count, v);
        for (int i = 0; i < 8; ++i)
            v[i] *= a.alpha;
        if (a.bias.data != nullptr) {
            loadGroup(a.bias, column, count, w);
            for (int i = 0; i < 8; ++i)
                v[i] += w[i];
        }
        if (a.finish == Finish::AddResidual) {
            loadGroup(a.operand, index, count, w);
            for (int i = 0; i < 8; ++i)
                v[i] = w[i] + roundTo(a.productFormat, v[i]) * a.productFactor;
        } else if (a.finish == Finish::ActivationBackward) {
            loadGroup(a.operand, index, count, w);
            for (int i = 0; i < 8; ++i)
                v[i] = activateBackward(a.relu, v[i], w[i]);
        }
        sink.store(index, count, v);
        if (a.finish == Finish::Activate) {
            for (int i = 0; i < 8; ++i)
                v[i] = activate(a.relu, roundTo(a.c.format, v[i]));
            activated.store(index, count, v);
        }
    });
    sink.finish();
    if (a.finish == Finish::Activate)
        activated.finish();
}

} // namespace

unsigned epilogueBlocks(long long rows, long long cols) { return groupBlocks(rows, cols); }

void epilogue(cudaStream_t stream, const EpilogueArguments& arguments, const Probe& probe, const Probe& activatedProbe)
{
    launch(stream, epilogueBlocks(arguments.rows, arguments.cols), sinkBytes(probe) + sinkBytes(activatedProbe),
           epilogueKernel, arguments, probe, activatedProbe);
}

} // namespace halfscope::cuda
