// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/embedding.cuh"

#include "engine/backend/cuda/kernels/sink.cuh"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads) forwardKernel(EmbeddingTables tables, Destination out, long long count,
                                                          long long context, long long width, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, out, shared);
    forGroups(count, width, [&](long long n, long long column, int inGroup) {
        const long long row = tables.rows[n];
        float v[8];
        float w[8];
        loadGroup(row < 0 ? tables.patches : tables.token, (row < 0 ? -1 - row : row) * width + column, inGroup, v);
        loadGroup(tables.position, n % context * width + column, inGroup, w);
        for (int i = 0; i < 8; ++i)
            v[i] += w[i];
        sink.store(n * width + column, inGroup, v);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    gatherRowsKernel(Source from, const int* rows, Destination to, long long count, long long width, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, to, shared);
    forGroups(count, width, [&](long long n, long long column, int inGroup) {
        float v[8];
        loadGroup(from, rows[n] * width + column, inGroup, v);
        sink.store(n * width + column, inGroup, v);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads)
    tokenBackwardKernel(const int* begin, const int* order, Source dOut, Destination dToken, long long vocabulary,
                        long long width, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, dToken, shared);
    forGroups(vocabulary, width, [&](long long id, long long column, int inGroup) {
        float sum[8] = {};
        for (int place = begin[id]; place < begin[id + 1]; ++place) {
            float v[8];
            loadGroup(dOut, order[place] * width + column, inGroup, v);
            for (int i = 0; i < 8; ++i)
                sum[i] += v[i];
        }
        sink.store(id * width + column, inGroup, sum);
    });
    sink.finish();
}

__global__ void __launch_bounds__(kThreads) positionBackwardKernel(Source dOut, Destination dPosition, long long count,
                                                                   long long context, long long width, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, dPosition, shared);
    forGroups(context, width, [&](long long t, long long column, int inGroup) {
        float sum[8] = {};
        for (long long n = t; n < count; n += context) {
            float v[8];
            loadGroup(dOut, n * width + column, inGroup, v);
            for (int i = 0; i < 8; ++i)
                sum[i] += v[i];
        }
        sink.store(t * width + column, inGroup, sum);
    });
    sink.finish();
}

} // namespace

unsigned embeddingBlocks(long long rows, long long width) { return groupBlocks(rows, width); }

void embeddingForward(cudaStream_t stream, const EmbeddingTables& tables, Destination out, long long count,
                      long long context, long long width, const Probe& probe)
{
    launch(stream, embeddingBlocks(count, width), sinkBytes(probe), forwardKernel, tables, out, count, context, width,
           probe);
}

void gatherRows(cudaStream_t stream, Source from, const int* rows, Destination to, long long count, long long width,
                const Probe& probe)
{
    launch(stream, embeddingBlocks(count, width), sinkBytes(probe), gatherRowsKernel, from, rows, to, count, width,
           probe);
}

void tokenEmbeddingBackward(cudaStream_t stream, const int* begin, const int* order, Source dOut, Destination dToken,
                            long long vocabulary, long long width, const Probe& probe)
{
    launch(stream, embeddingBlocks(vocabulary, width), sinkBytes(probe), tokenBackwardKernel, begin, order, dOut,
           dToken, vocabulary, width, probe);
}

void positionEmbeddingBackward(cudaStream_t stream, Source dOut, Destination dPosition, long long count,
                               long long context, long long width, const Probe& probe)
{
    launch(stream, embeddingBlocks(context, width), sinkBytes(probe), positionBackwardKernel, dOut, dPosition, count,
           context, width, probe);
}

} // namespace halfscope::cuda
