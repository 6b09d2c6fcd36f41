// SPDX-License-Identifier: GPL-3.0-or-later
// The backend on an NVIDIA GPU. Everything runs in order on one stream, while the host goes on; it waits only where
// backend.h says that an operation synchronises. Kernels are in kernels/, matrix products are cuBLAS's; the formats'
// roundings and all counts are those of the CPU backend to the bit, sums are formed in another, fixed order.
//
// Formats of products: FP32, TF32, FP16 and BF16 go to the tensor cores as they are, with FP32 accumulation. FP8 does
// so where the device and cuBLASLt have a product of that shape (fp8_products.h); elsewhere, and in attention, it is
// emulated exactly: its numbers are FP16 numbers.
#pragma once

#include <array>

#include <cublas_v2.h>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_module.h"
#include "engine/backend/cuda/device_memory.h"
#include "engine/backend/cuda/fp8_products.h"
#include "engine/backend/cuda/kernels/attention.cuh"
#include "engine/backend/cuda/laps.h"
#include "engine/backend/cuda/results.h"

namespace halfscope::cuda {

// A stream and a cuBLAS handle, made on construction and given back at the end, whatever the device says by then.
class Session {
public:
    explicit Session(int device);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    cudaStream_t stream() const { return m_stream; }
    cublasHandle_t blas() const { return m_blas; }
    void* workspace() const { return m_workspace.get(); }

private:
    cudaStream_t m_stream = nullptr;
    cublasHandle_t m_blas = nullptr;
    std::shared_ptr<void> m_workspace;
};

// The format in which cuBLAS takes a factor, or two that meet: it holds their numbers exactly.
FormatId operandFormat(FormatId a);
FormatId operandFormat(FormatId a, FormatId b);

class CudaBackend final : public Backend {
public:
    // device: 0, 1, ... as the runtime numbers them. Throws BackendError.
    explicit CudaBackend(int device = 0);

    std::string name() const override;
    std::string description() const override;

    bool multipliesNatively(FormatId inputs) const override;
    bool attendsNatively(FormatId inputs) const override;

    std::optional<MemoryRoom> memoryRoom() const override;
    bool hasOwnMemory() const override { return true; }
    Tensor makeTensor(FormatId format, std::int64_t rows, std::int64_t cols) override;
    void upload(std::span<const float> host, Tensor& to) override;
    void download(const Tensor& from, std::span<float> host) override;
    void synchronize() override;
    void forgetResults() noexcept override
    {
        m_results.forget();
        m_laps.forget();
    }
    void lap(float* milliseconds) override { m_laps.lap(milliseconds); }

    void fillZero(Tensor& t) override;
    void cast(const Tensor& from, Tensor& to, CastProbe* probe) override;
    float largestMagnitude(const Tensor& t) override;
    void add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe) override;
    void dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe) override;

    void embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                          const Tensor& position, Tensor& out, CastProbe* probe) override;
    void tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                CastProbe* probe) override;
    void positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe) override;

    void gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe) override;

    void meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe) override;
    void meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe) override;

    void gemm(const Gemm& args) override;
    void columnSum(const Tensor& from, Tensor& out, CastProbe* probe) override;

    void layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                          Tensor& rstd, CastProbe* probe) override;
    void layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                           const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe, Tensor& dGain,
                           Tensor& dShift, CastProbe* weightProbe) override;

    void attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                          Tensor& probabilities, CastProbe* probe) override;
    void attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                           const Tensor& probabilities, Tensor& dQkv, CastProbe* probe) override;

    double crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale, Tensor* dLogits,
                        CastProbe* probe) override;

    void argmax(const Tensor& x, std::span<std::int32_t> columns) override;

    Unscaled unscale(const Tensor& gradient, float inverseScale, Tensor& to) override;
    void unscale(const Tensor& gradient, float inverseScale, Tensor& to, Unscaled& result) override;
    void adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
               UpdateProbe* probe) override;

private:
    // What each scratch memory is for. Of those with the same name an operation uses one.
    enum Purpose { Wide, LeftOperand, RightOperand, Product, Partials, Query, Key, Value, Scores, Gradients, Heads };
    static constexpr std::size_t kPurposes = 11;

    // Row-major (rows, cols) in device memory in a format that cuBLAS takes, or many of them `stride` elements apart.
    struct Operand {
        const void* data;
        FormatId format;
        bool transposed = false;
        std::int64_t stride = 0;
    };
    // c (m, n) = op(a) (m, k) op(b) (k, n), `count` times; c in FP32, contiguous, m * n apart.
    struct Sizes {
        std::int64_t m;
        std::int64_t n;
        std::int64_t k;
        std::int64_t count = 1;
    };
    // The product alone of gemm(): c in FP32.
    void product(const Gemm& args, float* c, const Sizes& sizes);
    // By FP8's own tensor cores; false: they have no such product.
    bool fp8Product(const Gemm& args, float* c, const Sizes& sizes);
    void multiply(const Operand& a, const Operand& b, float* c, const Sizes& sizes, bool tf32);
    // The tensor's elements in another format that holds them exactly: its own memory where that does, else a copy.
    const void* stored(const Tensor& t, FormatId as, Purpose copy);

    // At least `count` elements with undefined contents, until the next call for the same purpose.
    void* scratch(Purpose purpose, FormatId format, std::int64_t count);
    float* scratch(Purpose purpose, std::int64_t count)
    {
        return static_cast<float*>(scratch(purpose, FormatId::Fp32, count));
    }
    Destination buffer(Purpose purpose, FormatId format, std::int64_t count)
    {
        return {scratch(purpose, format, count), format};
    }
    unsigned* clearFlags();

    Session m_session;
    CudaDevice m_device;
    std::string m_description;
    Fp8Products m_fp8;
    Results m_results;
    Uploads m_uploads;
    TensorMemory m_tensors;
    Laps m_laps;
    std::array<Scratch, kPurposes> m_scratch;
    std::shared_ptr<void> m_flags;
};

} // namespace halfscope::cuda
