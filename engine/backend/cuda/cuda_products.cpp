// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products: cuBLAS (cuBLASLt for FP8 where there is) multiplies with FP32 accumulation into FP32, a kernel of
// ours does what follows. So an element is rounded once, its statistics are those of the FP32 value, and cuBLAS never
// reduces in a narrow format.
#include <limits>

#include "engine/backend/contract.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/errors.h"
#include "engine/backend/cuda/kernels/elementwise.cuh"
#include "engine/backend/cuda/kernels/epilogue.cuh"
#include "engine/backend/cuda/kernels/transpose.cuh"

namespace halfscope::cuda {

namespace {

cudaDataType dataType(FormatId format)
{
    return format == FormatId::Fp16 ? CUDA_R_16F : format == FormatId::Bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

int size(std::int64_t n)
{
    contract::require(n <= std::numeric_limits<int>::max(), "gemm: cuBLAS counts rows and columns in 32 bits");
    return static_cast<int>(n);
}

bool sameStorage(FormatId a, FormatId b) { return a == b || (a == FormatId::Tf32 && b == FormatId::Fp32); }

} // namespace

FormatId operandFormat(FormatId a)
{
    switch (a) {
    case FormatId::Fp32:
    case FormatId::Tf32:
        return FormatId::Fp32;
    case FormatId::Bf16:
        return FormatId::Bf16;
    default:
        return FormatId::Fp16; // FP8's numbers are among FP16's
    }
}

FormatId operandFormat(FormatId a, FormatId b)
{
    return operandFormat(a) == operandFormat(b) ? operandFormat(a) : FormatId::Fp32;
}

const void* CudaBackend::stored(const Tensor& t, FormatId as, Purpose copy)
{
    if (sameStorage(t.format(), as))
        return t.data();
    void* to = scratch(copy, as, t.size());
    cuda::cast(m_session.stream(), {t.data(), t.format()}, {to, as}, t.size(), {});
    return to;
}

// cuBLAS is column-major: what is row-major to us is the transpose to it, so it forms c^T = op(b)^T op(a)^T.
void CudaBackend::multiply(const Operand& a, const Operand& b, float* c, const Sizes& s, bool tf32)
{
    if (s.m == 0 || s.n == 0 || s.count == 0)
        return;
    if (s.k == 0) {
        check(cudaMemsetAsync(c, 0, static_cast<std::size_t>(s.m * s.n * s.count) * sizeof(float), m_session.stream()),
              "clearing memory");
        return;
    }
    const float one = 1.0F;
    const float zero = 0.0F;
    check(cublasGemmStridedBatchedEx(m_session.blas(), b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                     a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, size(s.n), size(s.m), size(s.k), &one,
                                     b.data, dataType(b.format), size(b.transposed ? s.k : s.n), b.stride, a.data,
                                     dataType(a.format), size(a.transposed ? s.m : s.k), a.stride, &zero, c, CUDA_R_32F,
                                     size(s.n), s.m * s.n, size(s.count),
                                     tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "multiplying matrices");
}

bool CudaBackend::fp8Product(const Gemm& args, float* c, const Sizes& s)
{
    const Fp8Products::Shape shape{args.a.format(), args.b.format(), s.m, s.n, s.k};
    if (!m_fp8.has(shape))
        return false;
    // Both factors along k.
    const auto turned = [&](const Tensor& t, Purpose copy) -> const void* {
        void* to = scratch(copy, t.format(), t.size());
        transposeBytes(m_session.stream(), t.data(), to, t.rows(), t.cols());
        return to;
    };
    m_fp8.multiply(shape, args.transposeA ? turned(args.a, LeftOperand) : args.a.data(),
                   args.transposeB ? args.b.data() : turned(args.b, RightOperand), c);
    return true;
}

void CudaBackend::product(const Gemm& args, float* c, const Sizes& sizes)
{
    if (fp8Product(args, c, sizes))
        return;
    FormatId format = operandFormat(args.a.format(), args.b.format());
    // Rounded by us, to nearest: tensor cores would cut off. What TF32 holds they multiply exactly.
    const bool tf32 = args.tf32 && format == FormatId::Fp32;
    if (tf32)
        format = FormatId::Tf32;
    multiply({stored(args.a, format, LeftOperand), format, args.transposeA},
             {stored(args.b, format, RightOperand), format, args.transposeB}, c, sizes, tf32);
}

void CudaBackend::gemm(const Gemm& args)
{
    contract::gemm(args);
    if (args.c.empty())
        return;
    m_results.makeRoom();
    const Sizes sizes{args.c.rows(), args.c.cols(), args.transposeA ? args.a.rows() : args.a.cols()};
    const bool plain = args.epilogue == Epilogue::Store && args.bias == nullptr && args.probe == nullptr &&
                       args.alpha == 1.0F && args.c.format() == FormatId::Fp32;
    if (plain) {
        product(args, args.c.as<float>(), sizes);
        return;
    }
    float* multiplied = scratch(Product, sizes.m * sizes.n);
    product(args, multiplied, sizes);

    EpilogueArguments e{};
    e.product = multiplied;
    if (args.bias != nullptr)
        e.bias = {args.bias->data(), args.bias->format()};
    e.finish = static_cast<Finish>(args.epilogue);
    static_assert(static_cast<int>(Finish::ActivationBackward) == static_cast<int>(Epilogue::ActivationBackward) &&
                  static_cast<int>(Finish::AddResidual) == static_cast<int>(Epilogue::AddResidual) &&
                  static_cast<int>(Finish::Activate) == static_cast<int>(Epilogue::Activate));
    e.relu = args.activation == Activation::Relu;
    if (args.operand != nullptr)
        e.operand = {args.operand->data(), args.operand->format()};
    e.productFormat = args.productFormat;
    e.productFactor = args.productFactor;
    e.alpha = args.alpha;
    e.c = {args.c.data(), args.c.format()};
    CastProbe* activatedProbe = nullptr;
    FormatId activatedFormat = FormatId::Fp32;
    if (args.epilogue == Epilogue::Activate) {
        e.activated = {args.activated->data(), args.activated->format()};
        activatedProbe = args.activatedProbe;
        activatedFormat = args.activated->format();
    }
    e.rows = sizes.m;
    e.cols = sizes.n;
    const unsigned blocks = epilogueBlocks(e.rows, e.cols);
    epilogue(m_session.stream(), e, m_results.probe(args.probe, args.c.format(), blocks),
             m_results.probe(activatedProbe, activatedFormat, blocks));
}

} // namespace halfscope::cuda
