// SPDX-License-Identifier: GPL-3.0-or-later
// What follows a matrix product: the FP32 result (m, n), which cuBLAS left in memory, gets its bias, activation,
// residual, is counted and rounded, in one pass. CPU twin: finishBlock() in backend/cpu/gemm.cpp.
#pragma once

#include "engine/backend/cuda/kernels/probe.cuh"

namespace halfscope::cuda {

enum class Finish { Store, Activate, AddResidual, ActivationBackward }; // as Epilogue in backend.h

struct EpilogueArguments {
    const float* product; // (m, n)
    Source bias;          // (1, n); no data: none
    Finish finish;
    bool relu;              // else GELU
    Source operand;         // (m, n), where `finish` needs one
    FormatId productFormat; // AddResidual rounds the product into it first,
    float productFactor;    // and multiplies it by this
    float alpha;            // the product is multiplied by it before anything else
    Destination c;          // (m, n); may be where `product` or `operand` is
    Destination activated;  // (m, n), Activate
    long long rows;
    long long cols;
};
void epilogue(cudaStream_t stream, const EpilogueArguments& arguments, const Probe& probe, const Probe& activatedProbe);
unsigned epilogueBlocks(long long rows, long long cols);

} // namespace halfscope::cuda
