// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/transpose.cuh"

#include "engine/backend/cuda/kernels/launch.cuh"

namespace halfscope::cuda {

namespace {

constexpr int kTile = 32;
constexpr int kPitch = kTile + 4; // bytes of a row in shared memory; a column then meets every bank

// A block takes tiles of 32 x 32 by way of shared memory, so that neighbours read and write neighbours.
__global__ void __launch_bounds__(kThreads)
    transposeKernel(const unsigned char* from, unsigned char* to, long long rows, long long cols)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    auto* tile = reinterpret_cast<unsigned char*>(shared);
    const int lane = threadIdx.x % kTile;
    const long long tilesAcross = ceilDivide(cols, kTile);
    const long long tiles = ceilDivide(rows, kTile) * tilesAcross;
    for (long long t = blockIdx.x; t < tiles; t += gridDim.x) {
        const long long row = t / tilesAcross * kTile;
        const long long col = t % tilesAcross * kTile;
        for (int i = threadIdx.x / kTile; i < kTile; i += kThreads / kTile) {
            if (row + i < rows && col + lane < cols)
                tile[i * kPitch + lane] = from[(row + i) * cols + col + lane];
        }
        __syncthreads();
        for (int i = threadIdx.x / kTile; i < kTile; i += kThreads / kTile) {
            if (col + i < cols && row + lane < rows)
                to[(col + i) * rows + row + lane] = tile[lane * kPitch + i];
        }
        __syncthreads(); // before the next tile comes
    }
}

} // namespace

void transposeBytes(cudaStream_t stream, const void* from, void* to, long long rows, long long cols)
{
    const long long tiles = ceilDivide(rows, kTile) * ceilDivide(cols, kTile);
    if (tiles == 0)
        return;
    launch(stream, static_cast<unsigned>(tiles < kMostBlocks ? tiles : kMostBlocks), kTile * kPitch, transposeKernel,
           static_cast<const unsigned char*>(from), static_cast<unsigned char*>(to), rows, cols);
}

} // namespace halfscope::cuda
