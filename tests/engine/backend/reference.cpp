// SPDX-License-Identifier: GPL-3.0-or-later
#include "reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/core/rng.h"

namespace halfscope::reference {

Matrix transpose(const Matrix& a)
{
    Matrix t(a.cols, a.rows);
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.cols; ++j)
            t.at(j, i) = a.at(i, j);
    return t;
}

Matrix magnitude(const Matrix& a)
{
    Matrix m = a;
    for (double& x : m.v)
        x = std::abs(x);
    return m;
}

Matrix multiply(const Matrix& a, const Matrix& b)
{
    Matrix c(a.rows, b.cols);
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t k = 0; k < a.cols; ++k)
            for (std::int64_t j = 0; j < b.cols; ++j)
                c.at(i, j) += a.at(i, k) * b.at(k, j);
    return c;
}

Matrix sum(const Matrix& a, const Matrix& b)
{
    Matrix c = a;
    for (std::size_t i = 0; i < c.v.size(); ++i)
        c.v[i] += b.v[i];
    return c;
}

Matrix columnSum(const Matrix& a)
{
    Matrix s(1, a.cols);
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.cols; ++j)
            s.at(0, j) += a.at(i, j);
    return s;
}

double activate(Activation activation, double x)
{
    if (activation == Activation::Relu)
        return x > 0.0 ? x : 0.0;
    return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

double activationDerivative(Activation activation, double x)
{
    if (activation == Activation::Relu)
        return x > 0.0 ? 1.0 : 0.0;
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

Matrix dropout(const Matrix& a, double p, std::uint64_t seed)
{
    Matrix out = a;
    for (std::size_t i = 0; i < out.v.size(); ++i) {
        const double fraction = std::ldexp(static_cast<double>(hash64(seed, i)), -64);
        out.v[i] = fraction < p ? 0.0 : a.v[i] / (1.0 - p);
    }
    return out;
}

Matrix embedding(std::span<const std::int32_t> tokens, const Matrix& token, const Matrix& patches,
                 const Matrix& position)
{
    Matrix out(static_cast<std::int64_t>(tokens.size()), position.cols);
    std::int64_t patch = 0;
    for (std::int64_t n = 0; n < out.rows; ++n) {
        const std::int32_t id = tokens[static_cast<std::size_t>(n)];
        for (std::int64_t c = 0; c < out.cols; ++c)
            out.at(n, c) = (id < 0 ? patches.at(patch, c) : token.at(id, c)) + position.at(n % position.rows, c);
        patch += id < 0 ? 1 : 0;
    }
    return out;
}

Matrix meanPool(const Matrix& x, std::int64_t length)
{
    Matrix out(x.rows / length, x.cols);
    for (std::int64_t n = 0; n < x.rows; ++n)
        for (std::int64_t c = 0; c < x.cols; ++c)
            out.at(n / length, c) += x.at(n, c) / static_cast<double>(length);
    return out;
}

Matrix meanPoolGradient(const Matrix& dOut, std::int64_t length)
{
    Matrix dx(dOut.rows * length, dOut.cols);
    for (std::int64_t n = 0; n < dx.rows; ++n)
        for (std::int64_t c = 0; c < dx.cols; ++c)
            dx.at(n, c) = dOut.at(n / length, c) / static_cast<double>(length);
    return dx;
}

Matrix tokenEmbeddingGradient(std::span<const std::int32_t> tokens, const Matrix& dOut, std::int64_t vocabulary)
{
    Matrix d(vocabulary, dOut.cols);
    for (std::int64_t n = 0; n < dOut.rows; ++n)
        for (std::int64_t c = 0; c < dOut.cols; ++c)
            d.at(tokens[static_cast<std::size_t>(n)], c) += dOut.at(n, c);
    return d;
}

Matrix positionEmbeddingGradient(const Matrix& dOut, std::int64_t context)
{
    Matrix d(context, dOut.cols);
    for (std::int64_t n = 0; n < dOut.rows; ++n)
        for (std::int64_t c = 0; c < dOut.cols; ++c)
            d.at(n % context, c) += dOut.at(n, c);
    return d;
}

LayerNorm layerNorm(const Matrix& x, const Matrix& gain, const Matrix& shift)
{
    LayerNorm r{Matrix(x.rows, x.cols), Matrix(x.rows, 1), Matrix(x.rows, 1)};
    const auto width = static_cast<double>(x.cols);
    for (std::int64_t i = 0; i < x.rows; ++i) {
        double mean = 0.0;
        for (std::int64_t j = 0; j < x.cols; ++j)
            mean += x.at(i, j) / width;
        double variance = 0.0;
        for (std::int64_t j = 0; j < x.cols; ++j)
            variance += (x.at(i, j) - mean) * (x.at(i, j) - mean) / width;
        const double rstd = 1.0 / std::sqrt(variance + 1e-5);
        r.mean.at(i, 0) = mean;
        r.rstd.at(i, 0) = rstd;
        for (std::int64_t j = 0; j < x.cols; ++j)
            r.out.at(i, j) = (x.at(i, j) - mean) * rstd * gain.at(0, j) + shift.at(0, j);
    }
    return r;
}

LayerNormGradient layerNormGradient(const Matrix& dOut, const Matrix& x, const Matrix& gain, const Matrix& mean,
                                    const Matrix& rstd)
{
    LayerNormGradient g{Matrix(x.rows, x.cols), Matrix(1, x.cols), Matrix(1, x.cols)};
    const auto width = static_cast<double>(x.cols);
    for (std::int64_t i = 0; i < x.rows; ++i) {
        double meanU = 0.0;
        double meanUh = 0.0;
        for (std::int64_t j = 0; j < x.cols; ++j) {
            const double h = (x.at(i, j) - mean.at(i, 0)) * rstd.at(i, 0);
            meanU += dOut.at(i, j) * gain.at(0, j) / width;
            meanUh += dOut.at(i, j) * gain.at(0, j) * h / width;
            g.dGain.at(0, j) += dOut.at(i, j) * h;
            g.dShift.at(0, j) += dOut.at(i, j);
        }
        for (std::int64_t j = 0; j < x.cols; ++j) {
            const double h = (x.at(i, j) - mean.at(i, 0)) * rstd.at(i, 0);
            g.dx.at(i, j) = rstd.at(i, 0) * (dOut.at(i, j) * gain.at(0, j) - meanU - h * meanUh);
        }
    }
    return g;
}

Attention attention(const Matrix& q, const Matrix& k, const Matrix& v, bool causal)
{
    const std::int64_t t = q.rows;
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.cols));
    Attention a{Matrix(t, t), Matrix(t, t), Matrix(t, v.cols)};
    for (std::int64_t i = 0; i < t; ++i) {
        const std::int64_t keys = causal ? i + 1 : t;
        double largest = -INFINITY;
        for (std::int64_t j = 0; j < keys; ++j) {
            for (std::int64_t c = 0; c < q.cols; ++c)
                a.scores.at(i, j) += q.at(i, c) * k.at(j, c);
            largest = std::max(largest, a.scores.at(i, j));
        }
        double total = 0.0;
        for (std::int64_t j = 0; j < keys; ++j)
            total += a.probabilities.at(i, j) = std::exp((a.scores.at(i, j) - largest) * scale);
        for (std::int64_t j = 0; j < keys; ++j) {
            a.probabilities.at(i, j) /= total;
            for (std::int64_t c = 0; c < v.cols; ++c)
                a.out.at(i, c) += a.probabilities.at(i, j) * v.at(j, c);
        }
    }
    return a;
}

AttentionGradient attentionGradient(const Matrix& q, const Matrix& k, const Matrix& v, const Matrix& probabilities,
                                    const Matrix& dOut, bool causal)
{
    const std::int64_t t = q.rows;
    const std::int64_t d = q.cols;
    const double scale = 1.0 / std::sqrt(static_cast<double>(d));
    AttentionGradient g{Matrix(t, t), Matrix(t, d), Matrix(t, d), Matrix(t, d)};
    for (std::int64_t i = 0; i < t; ++i) {
        const std::int64_t keys = causal ? i + 1 : t;
        std::vector<double> dp(static_cast<std::size_t>(keys));
        double dot = 0.0;
        for (std::int64_t j = 0; j < keys; ++j) {
            double& x = dp[static_cast<std::size_t>(j)];
            for (std::int64_t c = 0; c < d; ++c) {
                x += dOut.at(i, c) * v.at(j, c);
                g.dv.at(j, c) += probabilities.at(i, j) * dOut.at(i, c);
            }
            dot += probabilities.at(i, j) * x;
        }
        for (std::int64_t j = 0; j < keys; ++j) {
            const double ds = probabilities.at(i, j) * (dp[static_cast<std::size_t>(j)] - dot) * scale;
            g.dScores.at(i, j) = ds;
            for (std::int64_t c = 0; c < d; ++c) {
                g.dq.at(i, c) += ds * k.at(j, c);
                g.dk.at(j, c) += ds * q.at(i, c);
            }
        }
    }
    return g;
}

namespace {

double rowLogSum(const Matrix& logits, std::int64_t row, double& largest)
{
    largest = -INFINITY;
    for (std::int64_t j = 0; j < logits.cols; ++j)
        largest = std::max(largest, logits.at(row, j));
    double total = 0.0;
    for (std::int64_t j = 0; j < logits.cols; ++j)
        total += std::exp(logits.at(row, j) - largest);
    return std::log(total);
}

double predictionsIn(std::span<const std::int32_t> targets)
{
    return static_cast<double>(std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t >= 0; }));
}

} // namespace

double crossEntropy(const Matrix& logits, std::span<const std::int32_t> targets)
{
    double loss = 0.0;
    for (std::int64_t i = 0; i < logits.rows; ++i) {
        if (targets[static_cast<std::size_t>(i)] < 0)
            continue;
        double largest = 0.0;
        const double logSum = rowLogSum(logits, i, largest);
        loss += logSum - (logits.at(i, targets[static_cast<std::size_t>(i)]) - largest);
    }
    return loss / predictionsIn(targets);
}

Matrix crossEntropyGradient(const Matrix& logits, std::span<const std::int32_t> targets, double lossScale)
{
    Matrix g(logits.rows, logits.cols);
    for (std::int64_t i = 0; i < logits.rows; ++i) {
        if (targets[static_cast<std::size_t>(i)] < 0)
            continue;
        double largest = 0.0;
        const double logSum = rowLogSum(logits, i, largest);
        for (std::int64_t j = 0; j < logits.cols; ++j) {
            const double hit = j == targets[static_cast<std::size_t>(i)] ? 1.0 : 0.0;
            g.at(i, j) = (std::exp(logits.at(i, j) - largest - logSum) - hit) * lossScale / predictionsIn(targets);
        }
    }
    return g;
}

AdamState adamw(const AdamW& hyper, double gradient, AdamState s)
{
    const double g = gradient * static_cast<double>(hyper.gradientFactor);
    const double rate = static_cast<double>(hyper.learningRate);
    s.master -= rate * static_cast<double>(hyper.weightDecay) * s.master;
    s.moment1 = hyper.beta1 * s.moment1 + (1.0 - hyper.beta1) * g;
    s.moment2 = hyper.beta2 * s.moment2 + (1.0 - hyper.beta2) * g * g;
    const double mean = s.moment1 / static_cast<double>(hyper.biasCorrection1);
    const double root = std::sqrt(s.moment2 / static_cast<double>(hyper.biasCorrection2));
    s.master -= rate * mean / (root + static_cast<double>(hyper.epsilon));
    return s;
}

} // namespace halfscope::reference
