// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels/embedding.cuh"

namespace halfscope::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    forwardKernel(const int* tokens, Source token, Source position, Destination out, long long count, long long context,
                  long long width, Probe probe)
{
    HALFSCOPE_DYNAMIC_SHARED(shared);
    Sink sink(probe, out, shared);
    forGroups(count, width, [&](long long n, long long column, int inGroup) {
        float v[8];
        float w[8];
        loadGroup(token, tokens[n] * width + column, inGroup, v);
        loadGroup(position, n % context * width + column, inGroup, w);
        for (int i = 0; i < 8; ++i)
            v[i] += w[i];
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

void embeddingForward(cudaStream_t stream, const int* tokens, Source token, Source position, Destination out,
                      long long count, long long context, long long width, const Probe& probe)
{
    launch(stream, embeddingBlocks(count, width), sinkBytes(probe), forwardKernel, tokens, token, position, out, count,
           context, width, probe);
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
