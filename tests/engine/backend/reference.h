// SPDX-License-Identifier: GPL-3.0-or-later
// The operations of backend.h in double precision, written as the textbook has them: plain loops, nothing shared with
// the engine but the definition of the dropout stream. Nothing is rounded in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"

namespace halfscope::reference {

struct Matrix {
    Matrix() = default;
    Matrix(std::int64_t r, std::int64_t c, double value = 0.0)
        : rows(r), cols(c), v(static_cast<std::size_t>(r * c), value)
    {
    }

    double& at(std::int64_t i, std::int64_t j) { return v[static_cast<std::size_t>(i * cols + j)]; }
    double at(std::int64_t i, std::int64_t j) const { return v[static_cast<std::size_t>(i * cols + j)]; }

    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> v;
};

Matrix transpose(const Matrix& a);
Matrix magnitude(const Matrix& a); // |a| of every element
Matrix multiply(const Matrix& a, const Matrix& b);
Matrix sum(const Matrix& a, const Matrix& b);
Matrix columnSum(const Matrix& a); // (1, cols)

double activate(Activation activation, double x);
double activationDerivative(Activation activation, double x);

Matrix dropout(const Matrix& a, double p, std::uint64_t seed);

// -1: the next row of `patches` in the place of a token's
Matrix embedding(std::span<const std::int32_t> tokens, const Matrix& token, const Matrix& patches,
                 const Matrix& position);
Matrix tokenEmbeddingGradient(std::span<const std::int32_t> tokens, const Matrix& dOut, std::int64_t vocabulary);
Matrix positionEmbeddingGradient(const Matrix& dOut, std::int64_t context);

Matrix meanPool(const Matrix& x, std::int64_t length); // of each `length` rows
Matrix meanPoolGradient(const Matrix& dOut, std::int64_t length);

struct LayerNorm {
    Matrix out;  // (N, C)
    Matrix mean; // (N, 1)
    Matrix rstd; // (N, 1)
};
LayerNorm layerNorm(const Matrix& x, const Matrix& gain, const Matrix& shift);
struct LayerNormGradient {
    Matrix dx;     // (N, C)
    Matrix dGain;  // (1, C)
    Matrix dShift; // (1, C)
};
LayerNormGradient layerNormGradient(const Matrix& dOut, const Matrix& x, const Matrix& gain, const Matrix& mean,
                                    const Matrix& rstd);

// One head. q, k, v, dOut: (T, d); scores and probabilities (T, T), masked ones 0.
struct Attention {
    Matrix scores; // q k^T, not yet divided by sqrt(d)
    Matrix probabilities;
    Matrix out;
};
Attention attention(const Matrix& q, const Matrix& k, const Matrix& v, bool causal);
struct AttentionGradient {
    Matrix dScores; // of q k^T
    Matrix dq;
    Matrix dk;
    Matrix dv;
};
AttentionGradient attentionGradient(const Matrix& q, const Matrix& k, const Matrix& v, const Matrix& probabilities,
                                    const Matrix& dOut, bool causal);

// Targets of -1 are no predictions.
double crossEntropy(const Matrix& logits, std::span<const std::int32_t> targets);
Matrix crossEntropyGradient(const Matrix& logits, std::span<const std::int32_t> targets, double lossScale);

struct AdamState {
    double master;
    double moment1;
    double moment2;
};
AdamState adamw(const AdamW& hyper, double gradient, AdamState state);

} // namespace halfscope::reference
