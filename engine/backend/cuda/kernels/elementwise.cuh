// SPDX-License-Identifier: GPL-3.0-or-later
// Operations on whole tensors of n elements. CPU twin: backend/cpu/elementwise.cpp.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

void cast(cudaStream_t stream, Source from, Destination to, long long n, const Probe& probe);
// to = a + b; may be in place
void add(cudaStream_t stream, Source a, Source b, Destination to, long long n, const Probe& probe);
// to = kept ? from / keep : 0; kept where the element's random number reaches `threshold`. May be in place.
struct DropoutRule {
    unsigned long long seed;
    unsigned long long threshold;
    float keep;
    bool dropAll;
};
void dropout(cudaStream_t stream, Source from, Destination to, long long n, const DropoutRule& rule,
             const Probe& probe);
unsigned elementwiseBlocks(long long n); // of each of these grids

} // namespace halfscope::cuda
