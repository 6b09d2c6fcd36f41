// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/errors.h"

#include <string>

#include "engine/backend/backend.h"

namespace halfscope::cuda {

namespace {

// After one of these nothing on the device works any more in this process.
bool isLost(cudaError_t answer)
{
    switch (answer) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
        return true;
    default:
        return false;
    }
}

} // namespace

void check(cudaError_t answer, const char* what)
{
    if (answer == cudaSuccess)
        return;
    cudaGetLastError(); // so that the next call does not report this one
    const std::string reason = cudaGetErrorString(answer);
    if (answer == cudaErrorMemoryAllocation)
        throw BackendError("The GPU is out of memory (while " + std::string(what) +
                           "); choose a smaller model or batch.");
    if (isLost(answer))
        throw BackendError("The GPU stopped working while " + std::string(what) + ": " + reason +
                           "; go on on the CPU, or start the program again.");
    throw BackendError("The GPU failed while " + std::string(what) + ": " + reason + ".");
}

void check(cublasStatus_t answer, const char* what)
{
    if (answer == CUBLAS_STATUS_SUCCESS)
        return;
    if (answer == CUBLAS_STATUS_ALLOC_FAILED)
        check(cudaErrorMemoryAllocation, what);
    throw BackendError("cuBLAS failed while " + std::string(what) + ": " + cublasGetStatusString(answer) + ".");
}

} // namespace halfscope::cuda
