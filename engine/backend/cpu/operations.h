// SPDX-License-Identifier: GPL-3.0-or-later
// The operations of backend.h other than matrix products and attention, one function each; see there for what they do.
// The caller, CpuBackend, has checked the contract.
#pragma once

#include "engine/backend/cpu/scratch.h"

namespace halfscope::cpu {

// elementwise.cpp
void fillZero(Tensor& t);
void upload(Context& context, std::span<const float> host, Tensor& to);
void download(Context& context, const Tensor& from, std::span<float> host);
void cast(Context& context, const Tensor& from, Tensor& to, CastProbe* probe);
float largestMagnitude(Context& context, const Tensor& t);
void add(Context& context, const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe);
void dropout(Context& context, const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe);
void columnSum(Context& context, const Tensor& from, Tensor& out, CastProbe* probe);

// embedding.cpp
void embeddingForward(Context& context, std::span<const std::int32_t> tokens, const Tensor& token,
                      const Tensor& patches, const Tensor& position, Tensor& out, CastProbe* probe);
void tokenEmbeddingBackward(Context& context, std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                            CastProbe* probe);
void positionEmbeddingBackward(Context& context, const Tensor& dOut, Tensor& dPosition, CastProbe* probe);
void gatherRows(Context& context, const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe);

// mean_pool.cpp
void meanPoolForward(Context& context, const Tensor& x, Tensor& out, CastProbe* probe);
void meanPoolBackward(Context& context, const Tensor& dOut, Tensor& dx, CastProbe* probe);

// layer_norm.cpp
void layerNormForward(Context& context, const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out,
                      Tensor& mean, Tensor& rstd, CastProbe* probe);
void layerNormBackward(Context& context, const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                       const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe, Tensor& dGain,
                       Tensor& dShift, CastProbe* weightProbe);

// training.cpp
double crossEntropy(Context& context, const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                    Tensor* dLogits, CastProbe* probe);
void argmax(Context& context, const Tensor& x, std::span<std::int32_t> columns);
Backend::Unscaled unscale(Context& context, const Tensor& gradient, float inverseScale, Tensor& to);
void adamw(Context& context, const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1,
           Tensor& moment2, UpdateProbe* probe);

} // namespace halfscope::cpu
