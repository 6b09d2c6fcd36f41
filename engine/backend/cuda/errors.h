// SPDX-License-Identifier: GPL-3.0-or-later
// What the driver, the runtime and cuBLAS answer, as BackendErrors of one sentence. C++17: kernels' launchers use it.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace halfscope::cuda {

// Throws BackendError unless all went well. `what` says what was being done: "copying to the GPU".
void check(cudaError_t answer, const char* what);
void check(cublasStatus_t answer, const char* what);

} // namespace halfscope::cuda
