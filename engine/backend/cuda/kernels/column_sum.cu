// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/column_sum.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

// A thread a column, so that neighbours read neighbours; chunks beyond the grid's y are taken in turn.
__global__ void __launch_bounds__(kThreads)
    columnPartialsKernel(Source from, float* partials, long long rows, long long cols)
{
    const long long column = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
    if (column >= cols)
        return;
    for (long long chunk = blockIdx.y; chunk < rowChunks(rows); chunk += gridDim.y) {
        const long long end = (chunk + 1) * kRowsPerChunk < rows ? (chunk + 1) * kRowsPerChunk : rows;
        float sum = 0.0F;
        for (long long row = chunk * kRowsPerChunk; row < end; ++row)
            sum += loadElement(from, row * cols + column);
        partials[chunk * cols + column] = sum;
    }
}

__global__ void __launch_bounds__(kThreads) sumPartialsKernel(const float* partials, Destination out, long long chunks,
                                                              long long stride, long long cols, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, out, shared);
    forGroups(1, cols, [&](long long, long long column, int count) {
        float v[8] = {};
        for (long long chunk = 0; chunk < chunks; ++chunk) {
            for (int i = 0; i < count; ++i)
                v[i] += partials[chunk * stride + column + i];
        }
        sink.store(column, count, v);
    });
    sink.finish();
}

} // namespace

dim3 columnGrid(long long rows, long long cols)
{
    const long long chunks = rowChunks(rows);
    return dim3(static_cast<unsigned>(ceilDivide(cols, kThreads)), static_cast<unsigned>(chunks < 1       ? 1
                                                                                         : chunks > 32768 ? 32768
                                                                                                          : chunks));
}

void columnPartials(cudaStream_t stream, Source from, float* partials, long long rows, long long cols)
{
    launch(stream, columnGrid(rows, cols), 0, columnPartialsKernel, from, partials, rows, cols);
}

unsigned sumPartialsBlocks(long long cols) { return groupBlocks(1, cols); }

void sumPartials(cudaStream_t stream, const float* partials, Destination out, long long chunks, long long stride,
                 long long cols, const Probe& probe)
{
    launch(stream, sumPartialsBlocks(cols), sinkBytes(probe), sumPartialsKernel, partials, out, chunks, stride, cols,
           probe);
}

} // namespace halfscope::cuda
