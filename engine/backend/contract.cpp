// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/contract.h"

#include <algorithm>
#include <stdexcept>

namespace halfscope::contract {

namespace {

bool same(const Tensor& a, const Tensor& b) { return a.rows() == b.rows() && a.cols() == b.cols(); }

bool inside(std::span<const std::int32_t> values, std::int64_t from, std::int64_t below)
{
    return std::all_of(values.begin(), values.end(), [&](std::int32_t v) { return v >= from && v < below; });
}

bool isColumn(const Tensor& t, std::int64_t rows) { return t.size() == rows && t.format() == FormatId::Fp32; }

} // namespace

void require(bool condition, const char* what)
{
    if (!condition)
        throw std::invalid_argument(what);
}

void sameShape(const Tensor& a, const Tensor& b, const char* what) { require(same(a, b), what); }

void dropout(const Tensor& from, const Tensor& to, float p)
{
    require(same(from, to), "dropout: shapes differ");
    require(p >= 0.0F && p <= 1.0F, "dropout: p must lie in [0, 1]");
}

void columnSum(const Tensor& from, const Tensor& out)
{
    require(out.size() == from.cols(), "columnSum: out must have a column for each of `from`");
}

void embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                      const Tensor& position, const Tensor& out)
{
    const auto count = static_cast<std::int64_t>(tokens.size());
    require(out.rows() == count && (token.empty() || token.cols() == out.cols()) &&
                (patches.empty() || patches.cols() == out.cols()) && position.cols() == out.cols() &&
                (count == 0 || position.rows() > 0),
            "embeddingForward: shapes do not fit");
    require(inside(tokens, -1, token.rows()), "embedding: a token is not in the vocabulary");
    require(std::count(tokens.begin(), tokens.end(), -1) == patches.rows(),
            "embeddingForward: a patch is needed for each place without a token");
}

void tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, const Tensor& dToken)
{
    require(dOut.rows() == static_cast<std::int64_t>(tokens.size()) && dOut.cols() == dToken.cols(),
            "tokenEmbeddingBackward: shapes do not fit");
    require(inside(tokens, 0, dToken.rows()), "embedding: a token is not in the vocabulary");
}

void positionEmbeddingBackward(const Tensor& dOut, const Tensor& dPosition)
{
    require(dOut.cols() == dPosition.cols(), "positionEmbeddingBackward: shapes do not fit");
}

void gatherRows(const Tensor& from, std::span<const std::int32_t> rows, const Tensor& to)
{
    require(to.rows() == static_cast<std::int64_t>(rows.size()) && from.cols() == to.cols(),
            "gatherRows: shapes do not fit");
    require(inside(rows, 0, from.rows()), "gatherRows: there is no such row");
}

void meanPool(const Tensor& few, const Tensor& many)
{
    require(few.rows() > 0 && many.rows() > 0 && many.rows() % few.rows() == 0 && few.cols() == many.cols(),
            "mean pool: shapes do not fit");
}

void gemm(const Gemm& g)
{
    const std::int64_t m = g.c.rows();
    const std::int64_t n = g.c.cols();
    const std::int64_t k = g.transposeA ? g.a.rows() : g.a.cols();
    require((g.transposeA ? g.a.cols() : g.a.rows()) == m, "gemm: a and c differ in rows");
    require((g.transposeB ? g.b.cols() : g.b.rows()) == k, "gemm: a and b differ in k");
    require((g.transposeB ? g.b.rows() : g.b.cols()) == n, "gemm: b and c differ in columns");
    require(g.bias == nullptr || g.bias->size() == n, "gemm: bias has another length than a row of c");
    const bool needsOperand = g.epilogue == Epilogue::AddResidual || g.epilogue == Epilogue::ActivationBackward;
    require(!needsOperand || (g.operand != nullptr && same(*g.operand, g.c)),
            "gemm: the operand must have the shape of c");
    require(g.epilogue != Epilogue::Activate || (g.activated != nullptr && same(*g.activated, g.c)),
            "gemm: `activated` must have the shape of c");
}

void layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, const Tensor& out, const Tensor& mean,
                      const Tensor& rstd)
{
    const std::int64_t cols = x.cols();
    require(cols > 0 && same(out, x) && gain.size() == cols && shift.size() == cols && isColumn(mean, x.rows()) &&
                isColumn(rstd, x.rows()),
            "layerNormForward: shapes do not fit");
}

void layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean, const Tensor& rstd,
                       const Tensor* residual, const Tensor& dx, const Tensor& dGain, const Tensor& dShift)
{
    const std::int64_t cols = x.cols();
    require(cols > 0 && same(dOut, x) && same(dx, x) && (residual == nullptr || same(*residual, x)) &&
                gain.size() == cols && dGain.size() == cols && dShift.size() == cols && isColumn(mean, x.rows()) &&
                isColumn(rstd, x.rows()),
            "layerNormBackward: shapes do not fit");
}

void attention(const AttentionShape& s, const Tensor& qkv, const Tensor& out, const Tensor& probabilities)
{
    const std::int64_t tokenCount = std::int64_t{s.batch} * s.context;
    const std::int64_t width = std::int64_t{s.heads} * s.headWidth;
    require(s.batch > 0 && s.context > 0 && s.heads > 0 && s.headWidth > 0 && qkv.rows() == tokenCount &&
                qkv.cols() == 3 * width && out.rows() == tokenCount && out.cols() == width &&
                probabilities.rows() == std::int64_t{s.batch} * s.heads * s.context &&
                probabilities.cols() == s.context,
            "attention: shapes do not fit");
}

void crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, const Tensor* dLogits)
{
    const auto rows = static_cast<std::int64_t>(targets.size());
    require(rows > 0 && logits.rows() == rows && logits.cols() > 0,
            "crossEntropy: a target is needed for each row of logits");
    require(dLogits == nullptr || same(*dLogits, logits), "crossEntropy: dLogits must have the shape of logits");
    require(inside(targets, -1, logits.cols()), "crossEntropy: a target is not in the vocabulary");
    require(std::count(targets.begin(), targets.end(), -1) < rows, "crossEntropy: nothing is predicted");
}

void argmax(const Tensor& x, std::span<const std::int32_t> columns)
{
    require(static_cast<std::int64_t>(columns.size()) == x.rows() && x.cols() > 0,
            "argmax: a place is needed for each row");
}

void unscale(const Tensor& gradient, const Tensor& to)
{
    require(to.size() == gradient.size() && to.format() == FormatId::Fp32,
            "unscale: an FP32 tensor of the same size is needed");
}

void adamw(const Tensor& gradient, const Tensor& weights, const Tensor& moment1, const Tensor& moment2)
{
    require(gradient.size() == weights.size() && moment1.size() == weights.size() && moment2.size() == weights.size(),
            "adamw: four tensors of one size are needed");
    require(gradient.format() == FormatId::Fp32, "adamw: the gradient must be FP32");
}

} // namespace halfscope::contract
