// SPDX-License-Identifier: GPL-3.0-or-later
// The backend that every machine has. Results are the same bits for any number of threads and any instruction set:
// every element of a matrix product is one chain of fused multiply-adds in order of k, other sums are formed in 16
// lanes and in chunks of a fixed size, and chunks are combined in order.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cpu/scratch.h"

namespace halfscope {

class CpuBackend : public Backend {
public:
    explicit CpuBackend(int threads); // 0: one for each processor

    std::string name() const override;
    std::string description() const override;

    Tensor makeTensor(FormatId format, std::int64_t rows, std::int64_t cols) override;
    void upload(std::span<const float> host, Tensor& to) override;
    void download(const Tensor& from, std::span<float> host) override;
    void synchronize() override { m_context.levelScratch(); } // nothing to wait for

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

    using Backend::unscale;
    Unscaled unscale(const Tensor& gradient, float inverseScale, Tensor& to) override;
    void adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
               UpdateProbe* probe) override;

protected:
    cpu::Context& context() { return m_context; }

private:
    cpu::Context m_context;
};

} // namespace halfscope
