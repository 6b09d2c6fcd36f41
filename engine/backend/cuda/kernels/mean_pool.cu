// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/mean_pool.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    forwardKernel(Source x, Destination out, long long rows, long long length, long long cols, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, out, shared);
    const float factor = 1.0F / static_cast<float>(length);
    forGroups(rows, cols, [&](long long row, long long column, int count) {
        float sum[8] = {};
        for (long long t = 0; t < length; ++t) {
            float v[8];
            loadGroup(x, (row * length + t) * cols + column, count, v);
            for (int i = 0; i < 8; ++i)
                sum[i] += v[i];
        }
        for (int i = 0; i < 8; ++i)
            sum[i] *= factor;
        sink.store(row * cols + column, count, sum);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    backwardKernel(Source dOut, Destination dx, long long rows, long long length, long long cols, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, dx, shared);
    const float factor = 1.0F / static_cast<float>(length);
    forGroups(rows * length, cols, [&](long long row, long long column, int count) {
        float v[8];
        loadGroup(dOut, row / length * cols + column, count, v);
        for (int i = 0; i < 8; ++i)
            v[i] *= factor;
        sink.store(row * cols + column, count, v);
    });
    sink.finish();
}

} // namespace

unsigned meanPoolBlocks(long long rows, long long cols) { return groupBlocks(rows, cols); }

void meanPoolForward(cudaStream_t stream, Source x, Destination out, long long rows, long long length, long long cols,
                     const Probe& probe)
{
    launch(stream, meanPoolBlocks(rows, cols), sinkBytes(probe), forwardKernel, x, out, rows, length, cols, probe);
}

void meanPoolBackward(cudaStream_t stream, Source dOut, Destination dx, long long rows, long long length,
                      long long cols, const Probe& probe)
{
    launch(stream, meanPoolBlocks(rows * length, cols), sinkBytes(probe), backwardKernel, dOut, dx, rows, length, cols,
           probe);
}

} // namespace halfscope::cuda
