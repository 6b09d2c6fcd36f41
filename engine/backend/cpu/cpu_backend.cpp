// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/cpu_backend.h"

#include <cstring>
#include <limits>

#include "engine/backend/cpu/attention.h"
#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/operations.h"
#include "engine/backend/cpu/store.h"
#include "engine/core/cpu_features.h"

namespace halfscope {

CpuBackend::CpuBackend(int threads) : m_context(threads) {}

std::string CpuBackend::name() const { return "CPU"; }

std::string CpuBackend::description() const
{
    const int threads = m_context.pool.threads();
    return "CPU · " + std::string(simdLevelName(activeSimdLevel())) + " · " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads") + " (FP16 emulated, exact)";
}

Tensor CpuBackend::makeTensor(FormatId format, std::int64_t rows, std::int64_t cols)
{
    cpu::require(rows >= 0 && cols >= 0, "makeTensor: a size is negative");
    const std::int64_t elementBytes = floatFormat(format).storageBytes;
    if (rows > 0 && cols > std::numeric_limits<std::int64_t>::max() / elementBytes / rows) {
        throw BackendError("Out of memory: a tensor of " + std::to_string(rows) + " x " + std::to_string(cols) +
                           " elements cannot be addressed; choose a smaller model or batch.");
    }
    const auto bytes = static_cast<std::size_t>(rows * cols * elementBytes);
    std::shared_ptr<void> memory = cpu::allocateAligned(bytes, "a tensor");
    std::memset(memory.get(), 0, bytes);
    return {format, rows, cols, std::move(memory)};
}

void CpuBackend::upload(std::span<const float> host, Tensor& to) { cpu::upload(m_context, host, to); }
void CpuBackend::download(const Tensor& from, std::span<float> host) { cpu::download(m_context, from, host); }

void CpuBackend::fillZero(Tensor& t) { cpu::fillZero(t); }
void CpuBackend::cast(const Tensor& from, Tensor& to, CastProbe* probe) { cpu::cast(m_context, from, to, probe); }
float CpuBackend::largestMagnitude(const Tensor& t) { return cpu::largestMagnitude(m_context, t); }
void CpuBackend::add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe)
{
    cpu::add(m_context, a, b, to, probe);
}
void CpuBackend::dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe)
{
    cpu::dropout(m_context, from, to, p, seed, probe);
}

void CpuBackend::embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                                  const Tensor& position, Tensor& out, CastProbe* probe)
{
    cpu::embeddingForward(m_context, tokens, token, patches, position, out, probe);
}
void CpuBackend::tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                        CastProbe* probe)
{
    cpu::tokenEmbeddingBackward(m_context, tokens, dOut, dToken, probe);
}
void CpuBackend::positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe)
{
    cpu::positionEmbeddingBackward(m_context, dOut, dPosition, probe);
}

void CpuBackend::gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe)
{
    cpu::gatherRows(m_context, from, rows, to, probe);
}

void CpuBackend::meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe)
{
    cpu::meanPoolForward(m_context, x, out, probe);
}
void CpuBackend::meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe)
{
    cpu::meanPoolBackward(m_context, dOut, dx, probe);
}

void CpuBackend::gemm(const Gemm& args) { cpu::gemm(m_context, args); }
void CpuBackend::columnSum(const Tensor& from, Tensor& out, CastProbe* probe)
{
    cpu::columnSum(m_context, from, out, probe);
}

void CpuBackend::layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                                  Tensor& rstd, CastProbe* probe)
{
    cpu::layerNormForward(m_context, x, gain, shift, out, mean, rstd, probe);
}
void CpuBackend::layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                                   const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe,
                                   Tensor& dGain, Tensor& dShift, CastProbe* weightProbe)
{
    cpu::layerNormBackward(m_context, dOut, x, gain, mean, rstd, residual, dx, dxProbe, dGain, dShift, weightProbe);
}

void CpuBackend::attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                                  Tensor& probabilities, CastProbe* probe)
{
    cpu::attentionForward(m_context, shape, format, qkv, out, probabilities, probe);
}
void CpuBackend::attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                                   const Tensor& probabilities, Tensor& dQkv, CastProbe* probe)
{
    cpu::attentionBackward(m_context, shape, format, dOut, qkv, probabilities, dQkv, probe);
}

double CpuBackend::crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                                Tensor* dLogits, CastProbe* probe)
{
    return cpu::crossEntropy(m_context, logits, targets, lossScale, dLogits, probe);
}

void CpuBackend::argmax(const Tensor& x, std::span<std::int32_t> columns) { cpu::argmax(m_context, x, columns); }

Backend::Unscaled CpuBackend::unscale(const Tensor& gradient, float inverseScale, Tensor& to)
{
    return cpu::unscale(m_context, gradient, inverseScale, to);
}
void CpuBackend::adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
                       UpdateProbe* probe)
{
    cpu::adamw(m_context, hyper, gradient, weights, moment1, moment2, probe);
}

} // namespace halfscope
