// SPDX-License-Identifier: GPL-3.0-or-later
// What backend.h asks of the callers of its operations, checked the same way by every backend: each of these throws
// std::invalid_argument where the contract is broken.
#pragma once

#include "engine/backend/backend.h"

namespace halfscope::contract {

void require(bool condition, const char* what);

void sameShape(const Tensor& a, const Tensor& b, const char* what);
void dropout(const Tensor& from, const Tensor& to, float p);
void columnSum(const Tensor& from, const Tensor& out);
void embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                      const Tensor& position, const Tensor& out);
void tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, const Tensor& dToken);
void positionEmbeddingBackward(const Tensor& dOut, const Tensor& dPosition);
void gatherRows(const Tensor& from, std::span<const std::int32_t> rows, const Tensor& to);
void meanPool(const Tensor& few, const Tensor& many); // (B, C) and (B * T, C)
void gemm(const Gemm& args);
void layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, const Tensor& out, const Tensor& mean,
                      const Tensor& rstd);
void layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean, const Tensor& rstd,
                       const Tensor* residual, const Tensor& dx, const Tensor& dGain, const Tensor& dShift);
void attention(const AttentionShape& shape, const Tensor& qkv, const Tensor& out, const Tensor& probabilities);
void crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, const Tensor* dLogits);
void argmax(const Tensor& x, std::span<const std::int32_t> columns);
void unscale(const Tensor& gradient, const Tensor& to);
void adamw(const Tensor& gradient, const Tensor& weights, const Tensor& moment1, const Tensor& moment2);

} // namespace halfscope::contract
