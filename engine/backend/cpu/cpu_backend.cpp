// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/cpu_backend.h"

#include <cstring>
#include <limits>

#include "engine/backend/contract.h"
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
    contract::require(rows >= 0 && cols >= 0, "makeTensor: a size is negative");
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

void CpuBackend::upload(std::span<const float> host, Tensor& to)
{
    contract::require(static_cast<std::int64_t>(host.size()) == to.size(), "upload: sizes differ");
    cpu::upload(m_context, host, to);
}
void CpuBackend::download(const Tensor& from, std::span<float> host)
{
    contract::require(static_cast<std::int64_t>(host.size()) == from.size(), "download: sizes differ");
    cpu::download(m_context, from, host);
}

void CpuBackend::fillZero(Tensor& t) { cpu::fillZero(t); }
void CpuBackend::cast(const Tensor& from, Tensor& to, CastProbe* probe)
{
    contract::sameShape(from, to, "cast: shapes differ");
    cpu::cast(m_context, from, to, probe);
}
float CpuBackend::largestMagnitude(const Tensor& t) { return cpu::largestMagnitude(m_context, t); }
void CpuBackend::add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe)
{
    contract::sameShape(a, b, "add: shapes differ");
    contract::sameShape(a, to, "add: shapes differ");
    cpu::add(m_context, a, b, to, probe);
}
void CpuBackend::dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe)
{
    contract::dropout(from, to, p);
    cpu::dropout(m_context, from, to, p, seed, probe);
}

void CpuBackend::embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                                  const Tensor& position, Tensor& out, CastProbe* probe)
{
    contract::embeddingForward(tokens, token, patches, position, out);
    cpu::embeddingForward(m_context, tokens, token, patches, position, out, probe);
}
void CpuBackend::tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                        CastProbe* probe)
{
    contract::tokenEmbeddingBackward(tokens, dOut, dToken);
    cpu::tokenEmbeddingBackward(m_context, tokens, dOut, dToken, probe);
}
void CpuBackend::positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe)
{
    contract::positionEmbeddingBackward(dOut, dPosition);
    cpu::positionEmbeddingBackward(m_context, dOut, dPosition, probe);
}

void CpuBackend::gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe)
{
    contract::gatherRows(from, rows, to);
    cpu::gatherRows(m_context, from, rows, to, probe);
}

void CpuBackend::meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe)
{
    contract::meanPool(out, x);
    cpu::meanPoolForward(m_context, x, out, probe);
}
void CpuBackend::meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe)
{
    contract::meanPool(dOut, dx);
    cpu::meanPoolBackward(m_context, dOut, dx, probe);
}

void CpuBackend::gemm(const Gemm& args)
{
    contract::gemm(args);
    cpu::gemm(m_context, args);
}
void CpuBackend::columnSum(const Tensor& from, Tensor& out, CastProbe* probe)
{
    contract::columnSum(from, out);
    cpu::columnSum(m_context, from, out, probe);
}

void CpuBackend::layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                                  Tensor& rstd, CastProbe* probe)
{
    contract::layerNormForward(x, gain, shift, out, mean, rstd);
    cpu::layerNormForward(m_context, x, gain, shift, out, mean, rstd, probe);
}
void CpuBackend::layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                                   const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe,
                                   Tensor& dGain, Tensor& dShift, CastProbe* weightProbe)
{
    contract::layerNormBackward(dOut, x, gain, mean, rstd, residual, dx, dGain, dShift);
    cpu::layerNormBackward(m_context, dOut, x, gain, mean, rstd, residual, dx, dxProbe, dGain, dShift, weightProbe);
}

void CpuBackend::attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                                  Tensor& probabilities, CastProbe* probe)
{
    contract::attention(shape, qkv, out, probabilities);
    cpu::attentionForward(m_context, shape, format, qkv, out, probabilities, probe);
}
void CpuBackend::attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                                   const Tensor& probabilities, Tensor& dQkv, CastProbe* probe)
{
    contract::attention(shape, qkv, dOut, probabilities);
    contract::sameShape(dQkv, qkv, "attentionBackward: dQkv must have qkv's shape");
    cpu::attentionBackward(m_context, shape, format, dOut, qkv, probabilities, dQkv, probe);
}

double CpuBackend::crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                                Tensor* dLogits, CastProbe* probe)
{
    contract::crossEntropy(logits, targets, dLogits);
    return cpu::crossEntropy(m_context, logits, targets, lossScale, dLogits, probe);
}

void CpuBackend::argmax(const Tensor& x, std::span<std::int32_t> columns)
{
    contract::argmax(x, columns);
    cpu::argmax(m_context, x, columns);
}

Backend::Unscaled CpuBackend::unscale(const Tensor& gradient, float inverseScale, Tensor& to)
{
    contract::unscale(gradient, to);
    return cpu::unscale(m_context, gradient, inverseScale, to);
}
void CpuBackend::adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
                       UpdateProbe* probe)
{
    contract::adamw(gradient, weights, moment1, moment2);
    cpu::adamw(m_context, hyper, gradient, weights, moment1, moment2, probe);
}

} // namespace halfscope
