// SPDX-License-Identifier: GPL-3.0-or-later
// Stand-in for NVIDIA's header: FP8 products alone, as strict as the real ones about what they take.
#pragma once

#include "cublas_v2.h"

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct StandinOperation*;
using cublasLtMatrixLayout_t = struct StandinLayout*;
using cublasLtMatmulPreference_t = struct StandinPreference*;
enum cublasLtMatmulDescAttributes_t { CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4 };
enum cublasLtMatmulPreferenceAttributes_t { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };
struct cublasLtMatmulAlgo_t {
    std::uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    std::size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scaleType);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t aLayout, const void* b, cublasLtMatrixLayout_t bLayout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t cLayout, void* d,
                              cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspaceBytes, cudaStream_t stream);
