// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/elementwise.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"
#include "engine/core/rng.h"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads) castKernel(Source from, Destination to, long long n, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, to, shared);
    forGroups(1, n, [&](long long, long long index, int count) {
        float v[8];
        loadGroup(from, index, count, v);
        sink.store(index, count, v);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads) addKernel(Source a, Source b, Destination to, long long n, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, to, shared);
    forGroups(1, n, [&](long long, long long index, int count) {
        float v[8];
        float w[8];
        loadGroup(a, index, count, v);
        loadGroup(b, index, count, w);
        for (int i = 0; i < 8; ++i)
            v[i] += w[i];
        sink.store(index, count, v);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    dropoutKernel(Source from, Destination to, long long n, DropoutRule rule, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, to, shared);
    forGroups(1, n, [&](long long, long long index, int count) {
        float v[8];
        loadGroup(from, index, count, v);
        for (int i = 0; i < 8; ++i) {
            const bool kept =
                !rule.dropAll && hash64(rule.seed, static_cast<unsigned long long>(index + i)) >= rule.threshold;
            v[i] = kept ? v[i] / rule.keep : 0.0F;
        }
        sink.store(index, count, v);
    });
    sink.finish();
}

} // namespace

unsigned elementwiseBlocks(long long n) { return groupBlocks(1, n); }

void cast(cudaStream_t stream, Source from, Destination to, long long n, const Probe& probe)
{
    launch(stream, elementwiseBlocks(n), sinkBytes(probe), castKernel, from, to, n, probe);
}

void add(cudaStream_t stream, Source a, Source b, Destination to, long long n, const Probe& probe)
{
    launch(stream, elementwiseBlocks(n), sinkBytes(probe), addKernel, a, b, to, n, probe);
}

void dropout(cudaStream_t stream, Source from, Destination to, long long n, const DropoutRule& rule, const Probe& probe)
{
    launch(stream, elementwiseBlocks(n), sinkBytes(probe), dropoutKernel, from, to, n, rule, probe);
}

} // namespace halfscope::cuda
