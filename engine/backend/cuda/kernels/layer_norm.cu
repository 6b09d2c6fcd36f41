// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/layer_norm.cuh"

#include "engine/backend/cuda/kernels/column_sum.cuh"
#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

constexpr float kEpsilon = 1e-5F;

__global__ void __launch_bounds__(kThreads)
    forwardKernel(Source x, Source gain, Source shift, Destination out, float* mean, float* rstd, long long rows,
                  long long cols, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, out, shared);
    forRows(rows, [&](long long row) {
        float v[8];
        float sum = 0.0F;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(x, row * cols + column, count, v);
            for (int i = 0; i < count; ++i)
                sum += v[i];
        });
        const float average = warpSum(sum) / static_cast<float>(cols);
        float squares = 0.0F;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(x, row * cols + column, count, v);
            for (int i = 0; i < count; ++i)
                squares = fmaf(v[i] - average, v[i] - average, squares);
        });
        const float inverse = 1.0F / sqrtf(warpSum(squares) / static_cast<float>(cols) + kEpsilon);
        forLaneGroups(cols, [&](long long column, int count) {
            float g[8];
            float s[8];
            loadGroup(x, row * cols + column, count, v);
            loadGroup(gain, column, count, g);
            loadGroup(shift, column, count, s);
            for (int i = 0; i < 8; ++i)
                v[i] = fmaf((v[i] - average) * inverse, g[i], s[i]);
            sink.store(row * cols + column, count, v);
        });
        if (threadIdx.x % kLanes == 0) {
            mean[row] = average;
            rstd[row] = inverse;
        }
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    backwardKernel(LayerNormInputs in, Destination dx, long long rows, long long cols, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, dx, shared);
    forRows(rows, [&](long long row) {
        const float mean = in.mean[row];
        const float rstd = in.rstd[row];
        float d[8];
        float v[8];
        float g[8];
        float sum = 0.0F;
        float product = 0.0F;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(in.dOut, row * cols + column, count, d);
            loadGroup(in.x, row * cols + column, count, v);
            loadGroup(in.gain, column, count, g);
            for (int i = 0; i < count; ++i) {
                const float u = d[i] * g[i];
                sum += u;
                product = fmaf(u, (v[i] - mean) * rstd, product);
            }
        });
        const float meanU = warpSum(sum) / static_cast<float>(cols);
        const float meanProduct = warpSum(product) / static_cast<float>(cols);
        forLaneGroups(cols, [&](long long column, int count) {
            float r[8] = {};
            loadGroup(in.dOut, row * cols + column, count, d);
            loadGroup(in.x, row * cols + column, count, v);
            loadGroup(in.gain, column, count, g);
            if (in.residual.data != nullptr)
                loadGroup(in.residual, row * cols + column, count, r);
            for (int i = 0; i < 8; ++i) {
                const float h = (v[i] - mean) * rstd;
                v[i] = rstd * ((d[i] * g[i] - meanU) - h * meanProduct);
                if (in.residual.data != nullptr)
                    v[i] = r[i] + v[i];
            }
            sink.store(row * cols + column, count, v);
        });
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    partialsKernel(LayerNormInputs in, float* partials, long long rows, long long cols)
{
    const long long column = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
    if (column >= cols)
        return;
    for (long long chunk = blockIdx.y; chunk < rowChunks(rows); chunk += gridDim.y) {
        const long long end = (chunk + 1) * kRowsPerChunk < rows ? (chunk + 1) * kRowsPerChunk : rows;
        float dGain = 0.0F;
        float dShift = 0.0F;
        for (long long row = chunk * kRowsPerChunk; row < end; ++row) {
            const float d = loadElement(in.dOut, row * cols + column);
            const float h = (loadElement(in.x, row * cols + column) - in.mean[row]) * in.rstd[row];
            dGain = fmaf(d, h, dGain);
            dShift += d;
        }
        partials[2 * chunk * cols + column] = dGain;
        partials[(2 * chunk + 1) * cols + column] = dShift;
    }
}

} // namespace

void layerNormForward(cudaStream_t stream, Source x, Source gain, Source shift, Destination out, float* mean,
                      float* rstd, long long rows, long long cols, const Probe& probe)
{
    launch(stream, rowBlocks(rows), sinkBytes(probe), forwardKernel, x, gain, shift, out, mean, rstd, rows, cols,
           probe);
}

void layerNormBackward(cudaStream_t stream, const LayerNormInputs& in, Destination dx, long long rows, long long cols,
                       const Probe& probe)
{
    launch(stream, rowBlocks(rows), sinkBytes(probe), backwardKernel, in, dx, rows, cols, probe);
}

void layerNormPartials(cudaStream_t stream, const LayerNormInputs& in, float* partials, long long rows, long long cols)
{
    launch(stream, columnGrid(rows, cols), 0, partialsKernel, in, partials, rows, cols);
}

} // namespace halfscope::cuda
