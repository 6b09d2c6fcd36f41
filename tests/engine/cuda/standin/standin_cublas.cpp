// SPDX-License-Identifier: GPL-3.0-or-later
#include "cublas_v2.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "standin_cublas.h"

cublasStatus_t standin::cublasAnswer(const char* function)
{
    switch (answer(function)) {
    case cudaSuccess:
        return CUBLAS_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation:
        return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorInsufficientDriver:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    case cudaErrorNoKernelImageForDevice:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

namespace {

float element(const void* p, cudaDataType type, long long i)
{
    if (type == CUDA_R_32F)
        return static_cast<const float*>(p)[i];
    if (type == CUDA_R_16F)
        return __half2float(static_cast<const __half*>(p)[i]);
    return __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]);
}

void store(void* p, cudaDataType type, long long i, float value)
{
    if (type == CUDA_R_32F)
        static_cast<float*>(p)[i] = value;
    else if (type == CUDA_R_16F)
        static_cast<__half*>(p)[i] = __float2half_rn(value);
    else
        static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16_rn(value);
}

// op(matrix) (rows, depth) as rows of FP32, each contiguous.
std::vector<float> rowsOf(const void* p, cudaDataType type, bool transposed, int rows, int depth, int ld,
                          long long first)
{
    std::vector<float> all(static_cast<std::size_t>(rows) * static_cast<std::size_t>(depth));
    std::size_t i = 0;
    for (long long row = 0; row < rows; ++row) {
        for (long long k = 0; k < depth; ++k)
            all[i++] = element(p, type, first + (transposed ? k + row * ld : row + k * ld));
    }
    return all;
}

} // namespace

const char* cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the function failed to launch on the GPU";
    default:
        return "another status";
    }
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle)
{
    const cublasStatus_t status = standin::cublasAnswer("cublasCreate");
    if (status == CUBLAS_STATUS_SUCCESS)
        *handle = reinterpret_cast<cublasHandle_t>(std::uintptr_t{16});
    return status;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return standin::cublasAnswer("cublasDestroy"); }
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return standin::cublasAnswer("cublasSetStream"); }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t)
{
    return standin::cublasAnswer("cublasSetWorkspace");
}

// An element is a chain of fused multiply-adds from k = 0 on.
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t opA, cublasOperation_t opB, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType aType, int lda,
                                          long long strideA, const void* b, cudaDataType bType, int ldb,
                                          long long strideB, const void* beta, void* c, cudaDataType cType, int ldc,
                                          long long strideC, int count, cublasComputeType_t, cublasGemmAlgo_t)
{
    if (const cublasStatus_t status = standin::cublasAnswer("cublasGemmStridedBatchedEx");
        status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (handle == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || count < 0 || lda < std::max(1, opA == CUBLAS_OP_N ? m : k) ||
        ldb < std::max(1, opB == CUBLAS_OP_N ? k : n) || ldc < std::max(1, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (aType != bType || (cType != aType && cType != CUDA_R_32F)) // the combinations that cuBLAS has
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const float factor = *static_cast<const float*>(alpha);
    const float keep = *static_cast<const float*>(beta);
    const auto depth = static_cast<std::size_t>(k);
    for (long long batch = 0; batch < count; ++batch) {
        const std::vector<float> left = rowsOf(a, aType, opA == CUBLAS_OP_T, m, k, lda, batch * strideA);
        const std::vector<float> right = rowsOf(b, bType, opB == CUBLAS_OP_N, n, k, ldb, batch * strideB);
        for (long long j = 0; j < n; ++j) {
            for (long long i = 0; i < m; ++i) {
                const float* x = left.data() + static_cast<std::size_t>(i) * depth;
                const float* y = right.data() + static_cast<std::size_t>(j) * depth;
                float sum = 0.0F;
                for (std::size_t p = 0; p < depth; ++p)
                    sum = std::fma(x[p], y[p], sum);
                const long long place = batch * strideC + i + j * ldc;
                store(c, cType, place, factor * sum + (keep != 0.0F ? keep * element(c, cType, place) : 0.0F));
            }
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}
