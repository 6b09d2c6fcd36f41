// SPDX-License-Identifier: GPL-3.0-or-later
// Attention as kernels/attention.cuh lays it out: products by cuBLAS for all heads at once, kernels in between.
#include <cmath>

#include "engine/backend/contract.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/errors.h"
#include "engine/numerics/cast_kernels.h"

namespace halfscope::cuda {

namespace {

HeadShape headShape(const AttentionShape& s) { return {s.batch, s.context, s.heads, s.headWidth, s.causal}; }

unsigned saturatingFrom(FormatId format) { return static_cast<unsigned>(classBounds(format).saturatingFrom); }

// TF32 is a format of factors alone: scores and their gradients stay FP32.
FormatId scoreFormat(FormatId format) { return format == FormatId::Tf32 ? FormatId::Fp32 : format; }

float scoreScale(const AttentionShape& s) { return 1.0F / std::sqrt(static_cast<float>(s.headWidth)); }

} // namespace

unsigned* CudaBackend::clearFlags()
{
    check(cudaMemsetAsync(m_flags.get(), 0, sizeof(unsigned), m_session.stream()), "clearing memory");
    return static_cast<unsigned*>(m_flags.get());
}

void CudaBackend::attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                                   Tensor& probabilities, CastProbe* probe)
{
    contract::attention(shape, qkv, out, probabilities);
    m_results.makeRoom();
    const cudaStream_t stream = m_session.stream();
    const HeadShape s = headShape(shape);
    const std::int64_t heads = headCount(s);
    const std::int64_t t = s.context;
    const std::int64_t d = s.headWidth;
    const FormatId operand = operandFormat(format, probabilities.format());
    const bool tf32 = format == FormatId::Tf32;
    unsigned* flags = clearFlags();

    const Destination q = buffer(Query, operand, heads * t * d);
    const Destination k = buffer(Key, operand, heads * t * d);
    const Destination v = buffer(Value, operand, heads * t * d);
    splitHeads(stream, s, {{qkv.data(), qkv.format()}, format, saturatingFrom(format), {q, k, v}, 3}, flags);

    float* scores = scratch(Scores, heads * t * t);
    multiply({q.data, operand, false, t * d}, {k.data, operand, true, t * d}, scores, {t, t, d, heads}, tf32);

    // What the product reads is rounded to nearest by us, also for TF32: tensor cores would cut off.
    const FormatId factor = tf32 ? FormatId::Tf32 : operand;
    const bool direct =
        probabilities.format() == factor || (probabilities.format() == FormatId::Tf32 && factor == FormatId::Fp32);
    const Destination copy = direct ? Destination{nullptr, factor} : buffer(LeftOperand, factor, heads * t * t);
    const Destination p{probabilities.data(), probabilities.format()};
    softmax(stream, s, {scores, scoreFormat(format), saturatingFrom(scoreFormat(format)), scoreScale(shape), p, copy},
            flags);

    const void* factors = direct ? p.data : copy.data;
    float* mixed = scratch(Heads, heads * t * d);
    multiply({factors, operand, false, t * t}, {v.data, operand, false, t * d}, mixed, {t, d, t, heads}, tf32);
    causalProduct(stream, s, {factors, operand}, false, {v.data, operand}, mixed, flags);

    mergeHeads(stream, s, {{mixed}, 1, {out.data(), out.format()}, flags},
               m_results.probe(probe, out.format(), mergeBlocks(s, 1)));
}

void CudaBackend::attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                                    const Tensor& probabilities, Tensor& dQkv, CastProbe* probe)
{
    contract::attention(shape, qkv, dOut, probabilities);
    contract::sameShape(dQkv, qkv, "attentionBackward: dQkv must have qkv's shape");
    m_results.makeRoom();
    const cudaStream_t stream = m_session.stream();
    const HeadShape s = headShape(shape);
    const std::int64_t heads = headCount(s);
    const std::int64_t t = s.context;
    const std::int64_t d = s.headWidth;
    const std::int64_t size = heads * t * d;
    // One format for all four factors, because cuBLAS takes no two different ones.
    FormatId operand = operandFormat(format, dOut.format());
    operand = operandFormat(operand, probabilities.format());
    const bool tf32 = format == FormatId::Tf32; // which holds all that narrower tensors hold
    unsigned* flags = clearFlags();

    const Destination q = buffer(Query, operand, size);
    const Destination k = buffer(Key, operand, size);
    const Destination v = buffer(Value, operand, size);
    const Destination d0 = buffer(Gradients, operand, size);
    // Rounding the inputs is the forward pass's: there it was flagged.
    splitHeads(stream, s, {{qkv.data(), qkv.format()}, format, 0x7F800000U, {q, k, v}, 3}, flags);
    splitHeads(stream, s, {{dOut.data(), dOut.format()}, tf32 ? format : dOut.format(), 0x7F800000U, {d0}, 1}, flags);

    float* scores = scratch(Scores, heads * t * t);
    multiply({d0.data, operand, false, t * d}, {v.data, operand, true, t * d}, scores, {t, t, d, heads}, tf32);

    const Destination dScores = buffer(RightOperand, operand, heads * t * t);
    softmaxBackward(stream, s,
                    {{probabilities.data(), probabilities.format()},
                     scores,
                     format,
                     saturatingFrom(format),
                     scoreScale(shape),
                     dScores},
                    flags);

    const void* p = stored(probabilities, tf32 ? FormatId::Tf32 : operand, LeftOperand);
    float* dQuery = scratch(Heads, 3 * size);
    float* dKey = dQuery + size;
    float* dValue = dKey + size;
    const std::int64_t square = t * t;
    multiply({dScores.data, operand, false, square}, {k.data, operand, false, t * d}, dQuery, {t, d, t, heads}, tf32);
    multiply({dScores.data, operand, true, square}, {q.data, operand, false, t * d}, dKey, {t, d, t, heads}, tf32);
    multiply({p, operand, true, square}, {d0.data, operand, false, t * d}, dValue, {t, d, t, heads}, tf32);
    causalProduct(stream, s, {dScores.data, operand}, false, {k.data, operand}, dQuery, flags);
    causalProduct(stream, s, {dScores.data, operand}, true, {q.data, operand}, dKey, flags);
    causalProduct(stream, s, {p, operand}, true, {d0.data, operand}, dValue, flags);

    mergeHeads(stream, s, {{dQuery, dKey, dValue}, 3, {dQkv.data(), dQkv.format()}, flags},
               m_results.probe(probe, dQkv.format(), mergeBlocks(s, 3)));
}

} // namespace halfscope::cuda
