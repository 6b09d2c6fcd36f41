// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/fp8_products.h"

#include "engine/backend/cuda/errors.h"

namespace halfscope::cuda {

namespace {

constexpr std::int64_t kMultiple = 16; // bytes, and of FP8 elements as many

bool isFp8(FormatId format) { return format == FormatId::Fp8E4M3 || format == FormatId::Fp8E5M2; }
cudaDataType_t dataType(FormatId format) { return format == FormatId::Fp8E5M2 ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3; }

// A description that cuBLASLt made, and that goes with this.
template <typename Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
public:
    Owned() = default;
    ~Owned()
    {
        if (m_handle != nullptr)
            destroy(m_handle);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Handle* place() { return &m_handle; } // for who makes it
    operator Handle() const { return m_handle; }

private:
    Handle m_handle = nullptr;
};

using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

void makeLayout(Layout& layout, cudaDataType_t type, std::int64_t rows, std::int64_t cols)
{
    check(cublasLtMatrixLayoutCreate(layout.place(), type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(cols), rows),
          "describing a product");
}

} // namespace

// cuBLASLt is column-major: what is row-major to us is the transpose to it, so it forms c^T (n, m) = op(b^T) a^T with
// its first factor transposed, which is the one way in which it multiplies FP8.
struct Fp8Products::Plan {
    Operation operation;
    Layout first;  // b^T (k, n)
    Layout second; // a^T (k, m)
    Layout result; // c^T (n, m)
    cublasLtMatmulAlgo_t algorithm;
};

Fp8Products::Fp8Products(bool native, cudaStream_t stream, void* workspace, std::size_t workspaceBytes)
    : m_stream(stream), m_workspace(workspace), m_workspaceBytes(workspaceBytes)
{
    if (!native)
        return;
    check(cublasLtCreate(&m_lt), "starting it");
    try {
        // What the device has by its number is believed when cuBLASLt has it too.
        m_native = has({FormatId::Fp8E4M3, FormatId::Fp8E4M3, 256, 256, 256});
    } catch (...) {
        m_plans.clear();
        cublasLtDestroy(m_lt);
        throw;
    }
}

Fp8Products::~Fp8Products()
{
    m_plans.clear();
    if (m_lt != nullptr)
        cublasLtDestroy(m_lt);
}

std::unique_ptr<Fp8Products::Plan> Fp8Products::makePlan(const Shape& s)
{
    const char* const what = "describing a product";
    auto plan = std::make_unique<Plan>();
    check(cublasLtMatmulDescCreate(plan->operation.place(), CUBLAS_COMPUTE_32F, CUDA_R_32F), what);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check(cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
          what);
    makeLayout(plan->first, dataType(s.b), s.k, s.n);
    makeLayout(plan->second, dataType(s.a), s.k, s.m);
    makeLayout(plan->result, CUDA_R_32F, s.n, s.m);
    Preference preference;
    check(cublasLtMatmulPreferenceCreate(preference.place()), what);
    const std::uint64_t most = m_workspaceBytes;
    check(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most),
        what);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(
        m_lt, plan->operation, plan->first, plan->second, plan->result, plan->result, preference, 1, &found, &count);
    if (answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE)
        return nullptr;
    check(answer, "choosing how to multiply");
    if (count == 0 || found.state != CUBLAS_STATUS_SUCCESS)
        return nullptr;
    plan->algorithm = found.algo;
    return plan;
}

bool Fp8Products::has(const Shape& shape)
{
    if (m_lt == nullptr || !isFp8(shape.a) || !isFp8(shape.b) || shape.m == 0 || shape.n == 0 || shape.k == 0 ||
        shape.k % kMultiple != 0 || shape.n % kMultiple != 0 ||
        (shape.a == FormatId::Fp8E5M2 && shape.b == FormatId::Fp8E5M2))
        return false;
    const auto known = m_plans.find(shape);
    if (known != m_plans.end())
        return known->second != nullptr;
    return (m_plans[shape] = makePlan(shape)) != nullptr;
}

void Fp8Products::multiply(const Shape& shape, const void* a, const void* b, float* c)
{
    const Plan& plan = *m_plans.at(shape);
    const float one = 1.0F;
    const float zero = 0.0F;
    check(cublasLtMatmul(m_lt, plan.operation, &one, b, plan.first, a, plan.second, &zero, c, plan.result, c,
                         plan.result, &plan.algorithm, m_workspace, m_workspaceBytes, m_stream),
          "multiplying matrices");
}

} // namespace halfscope::cuda
