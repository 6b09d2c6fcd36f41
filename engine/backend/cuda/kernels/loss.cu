// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/loss.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    crossEntropyKernel(Source logits, const int* targets, Destination dLogits, float factor, long long rows,
                       long long cols, Report loss, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    __shared__ double parts[kWarps];
    Sink sink(probe, dLogits, shared);
    double total = 0.0;
    forRows(rows, [&](long long row) {
        const int target = targets[row];
        float x[8] = {};
        if (target < 0) {
            forLaneGroups(dLogits.data == nullptr ? 0 : cols,
                          [&](long long column, int count) { sink.store(row * cols + column, count, x); });
            return;
        }
        // A NaN is passed over here: subtracted from, it stays NaN, and makes the sum, and with it the row, NaN.
        float most = -INFINITY;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(logits, row * cols + column, count, x);
            for (int i = 0; i < count; ++i)
                most = fmaxf(most, x[i]);
        });
        most = warpMax(most);
        float sum = 0.0F;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(logits, row * cols + column, count, x);
            for (int i = 0; i < count; ++i)
                sum += expf(x[i] - most);
        });
        sum = warpSum(sum);
        if (threadIdx.x % kLanes == 0) {
            const float hit = loadElement(logits, row * cols + target);
            total += static_cast<double>(logf(sum)) - (static_cast<double>(hit) - static_cast<double>(most));
        }
        if (dLogits.data == nullptr)
            return;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(logits, row * cols + column, count, x);
            for (int i = 0; i < 8; ++i) {
                const float p = expf(x[i] - most) / sum;
                x[i] = column + i == target ? (p - 1.0F) * factor : p * factor;
            }
            sink.store(row * cols + column, count, x);
        });
    });
    const double sum = blockSum(total, parts);
    if (threadIdx.x == 0)
        loss.sums[blockIdx.x] = {sum, 0.0};
    sink.finish();
}

__global__ void __launch_bounds__(kThreads) argmaxKernel(Source x, int* columns, long long rows, long long cols)
{
    forRows(rows, [&](long long row) {
        float v[8];
        float most = -INFINITY;
        long long place = cols;
        bool ordered = true;
        forLaneGroups(cols, [&](long long column, int count) {
            loadGroup(x, row * cols + column, count, v);
            for (int i = 0; i < count; ++i) {
                ordered = ordered && v[i] == v[i];
                if (v[i] > most || place == cols) {
                    most = v[i];
                    place = column + i;
                }
            }
        });
        for (int by = kLanes / 2; by > 0; by /= 2) {
            const float other = __shfl_xor_sync(kAllLanes, most, by);
            const long long otherPlace = __shfl_xor_sync(kAllLanes, place, by);
            if (otherPlace < cols && (place == cols || other > most || (other == most && otherPlace < place))) {
                most = other;
                place = otherPlace;
            }
        }
        const bool all = __ballot_sync(kAllLanes, ordered) == kAllLanes;
        if (threadIdx.x % kLanes == 0)
            columns[row] = all ? static_cast<int>(place) : -1;
    });
}

} // namespace

void argmax(cudaStream_t stream, Source x, int* columns, long long rows, long long cols)
{
    launch(stream, rowBlocks(rows), 0, argmaxKernel, x, columns, rows, cols);
}

void crossEntropy(cudaStream_t stream, Source logits, const int* targets, Destination dLogits, float factor,
                  long long rows, long long cols, const Report& loss, const Probe& probe)
{
    launch(stream, rowBlocks(rows), sinkBytes(probe), crossEntropyKernel, logits, targets, dLogits, factor, rows, cols,
           loss, probe);
}

} // namespace halfscope::cuda
