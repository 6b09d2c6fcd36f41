// SPDX-License-Identifier: GPL-3.0-or-later
#include "cublasLt.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "standin_cublas.h"

struct StandinOperation {
    cublasComputeType_t compute;
    cudaDataType_t scaleType;
    cublasOperation_t transposeA = CUBLAS_OP_N;
    cublasOperation_t transposeB = CUBLAS_OP_N;
};
struct StandinLayout {
    cudaDataType_t type;
    std::uint64_t rows;
    std::uint64_t cols;
    std::int64_t ld;
};
struct StandinPreference {
    std::uint64_t workspace = 0;
};

namespace {

constexpr std::uint64_t kAlgorithm = 0xA160; // marks one that the heuristic gave
constexpr std::size_t kWorkspace = 1024;     // that it asks for

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

// By the value of each bit, not as the backend does it.
float fp8(unsigned char bits, int exponentBits)
{
    const int mantissaBits = 7 - exponentBits;
    const int field = bits >> mantissaBits & ((1 << exponentBits) - 1);
    const int mantissa = bits & ((1 << mantissaBits) - 1);
    const int top = (1 << exponentBits) - 1;
    const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
    if (exponentBits == 5 && field == top)
        return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
    if (exponentBits == 4 && field == top && mantissa == 7)
        return std::numeric_limits<float>::quiet_NaN();
    const int bias = (1 << (exponentBits - 1)) - 1;
    const int whole = field == 0 ? mantissa : mantissa + (1 << mantissaBits);
    return sign * std::ldexp(static_cast<float>(whole), (field == 0 ? 1 : field) - bias - mantissaBits);
}

float element(const void* p, cudaDataType_t type, std::uint64_t i)
{
    return fp8(static_cast<const unsigned char*>(p)[i], type == CUDA_R_8F_E5M2 ? 5 : 4);
}

// What NVIDIA's documentation says that FP8 products need.
bool supported(const StandinOperation& o, const StandinLayout& a, const StandinLayout& b, const StandinLayout& d)
{
    const auto isFp8 = [](cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; };
    return standin::capability() >= 89 && o.compute == CUBLAS_COMPUTE_32F && o.scaleType == CUDA_R_32F &&
           o.transposeA == CUBLAS_OP_T && o.transposeB == CUBLAS_OP_N && isFp8(a.type) && isFp8(b.type) &&
           !(a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2) && d.type == CUDA_R_32F && a.rows % 16 == 0 &&
           a.cols % 16 == 0 && a.ld % 16 == 0 && b.ld % 16 == 0 && d.ld % 4 == 0;
}

bool fits(const StandinLayout& a, const StandinLayout& b, const StandinLayout& d)
{
    const auto whole = [](const StandinLayout& l) { return l.ld >= static_cast<std::int64_t>(l.rows); };
    return whole(a) && whole(b) && whole(d) && a.rows == b.rows && d.rows == a.cols && d.cols == b.cols;
}

} // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle)
{
    const cublasStatus_t status = standin::cublasAnswer("cublasLtCreate");
    if (status == CUBLAS_STATUS_SUCCESS)
        *handle = reinterpret_cast<cublasLtHandle_t>(std::uintptr_t{16});
    return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return standin::cublasAnswer("cublasLtDestroy"); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scaleType)
{
    const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmulDescCreate");
    if (status == CUBLAS_STATUS_SUCCESS)
        *operation = new StandinOperation{compute, scaleType};
    return status;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    delete operation;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes)
{
    if (const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmulDescSetAttribute"); status != 0)
        return status;
    if (bytes != sizeof(cublasOperation_t))
        return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &operation->transposeA : &operation->transposeB, value,
                bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t ld)
{
    const cublasStatus_t status = standin::cublasAnswer("cublasLtMatrixLayoutCreate");
    if (status == CUBLAS_STATUS_SUCCESS)
        *layout = new StandinLayout{type, rows, cols, ld};
    return status;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference)
{
    const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmulPreferenceCreate");
    if (status == CUBLAS_STATUS_SUCCESS)
        *preference = new StandinPreference;
    return status;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void* value,
                                                    std::size_t bytes)
{
    if (const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmulPreferenceSetAttribute"); status != 0)
        return status;
    if (bytes != sizeof preference->workspace)
        return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&preference->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found)
{
    *found = 0;
    if (const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmulAlgoGetHeuristic"); status != 0)
        return status;
    if (handle == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wanted < 1 || !fits(*a, *b, *d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!supported(*operation, *a, *b, *d) || preference->workspace < kWorkspace)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    results[0] = {};
    results[0].algo.data[0] = kAlgorithm;
    results[0].workspaceSize = kWorkspace;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

// An element is a chain of fused multiply-adds from k = 0 on, as in standin_cublas.cpp.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t aLayout, const void* b, cublasLtMatrixLayout_t bLayout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspaceBytes, cudaStream_t)
{
    if (const cublasStatus_t status = standin::cublasAnswer("cublasLtMatmul"); status != 0)
        return status;
    if (handle == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!fits(*aLayout, *bLayout, *dLayout) || !supported(*operation, *aLayout, *bLayout, *dLayout) || !aligned(a) ||
        !aligned(b) || !aligned(d) || algorithm->data[0] != kAlgorithm || workspaceBytes < kWorkspace || c != d ||
        *static_cast<const float*>(beta) != 0.0F)
        return CUBLAS_STATUS_INVALID_VALUE;
    std::memset(workspace, 0xFF, kWorkspace); // it is used
    const float factor = *static_cast<const float*>(alpha);
    for (std::uint64_t j = 0; j < dLayout->cols; ++j) {
        for (std::uint64_t i = 0; i < dLayout->rows; ++i) {
            const std::uint64_t row = i * static_cast<std::uint64_t>(aLayout->ld);
            const std::uint64_t column = j * static_cast<std::uint64_t>(bLayout->ld);
            float sum = 0.0F;
            for (std::uint64_t k = 0; k < aLayout->rows; ++k)
                sum = std::fma(element(a, aLayout->type, row + k), element(b, bLayout->type, column + k), sum);
            static_cast<float*>(d)[i + j * static_cast<std::uint64_t>(dLayout->ld)] = factor * sum;
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}
