// SPDX-License-Identifier: GPL-3.0-or-later
// Is the reference right? Its gradients against finite differences of its own forward passes, in double.
#include <cmath>

#include "engine/core/rng.h"
#include "support.h"

namespace halfscope::test {
namespace {

Matrix random(std::int64_t rows, std::int64_t cols, std::uint64_t seed)
{
    Rng rng(seed);
    Matrix m(rows, cols);
    for (double& x : m.v)
        x = rng.normal();
    return m;
}

double dot(const Matrix& a, const Matrix& b)
{
    double total = 0.0;
    for (std::size_t i = 0; i < a.v.size(); ++i)
        total += a.v[i] * b.v[i];
    return total;
}

// d f / d x by central differences. With h = 1e-5 they are off by h^2 times a third derivative, about 1e-10, and by the
// rounding of f over h, about 1e-16 / 1e-5 = 1e-11 times |f|.
void expectGradient(Matrix& x, const Matrix& gradient, const std::function<double()>& f, const std::string& what)
{
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < x.v.size(); ++i) {
        const double before = x.v[i];
        x.v[i] = before + kStep;
        const double up = f();
        x.v[i] = before - kStep;
        const double down = f();
        x.v[i] = before;
        ASSERT_NEAR(gradient.v[i], (up - down) / (2.0 * kStep), 1e-8 * (1.0 + std::abs(gradient.v[i]))) << what << i;
    }
}

TEST(Reference, MatrixProductGradients)
{
    Matrix a = random(4, 5, 1);
    Matrix b = random(5, 3, 2);
    const Matrix d = random(4, 3, 3);
    const auto f = [&] { return dot(multiply(a, b), d); };
    expectGradient(a, multiply(d, transpose(b)), f, "a ");
    expectGradient(b, multiply(transpose(a), d), f, "b ");
}

TEST(Reference, ActivationDerivatives)
{
    for (const Activation activation : {Activation::Gelu, Activation::Relu}) {
        Matrix x = random(1, 50, 4);
        Matrix g(1, 50);
        for (std::size_t i = 0; i < g.v.size(); ++i)
            g.v[i] = reference::activationDerivative(activation, x.v[i]);
        expectGradient(
            x, g,
            [&] {
                double total = 0.0;
                for (const double v : x.v)
                    total += reference::activate(activation, v);
                return total;
            },
            "activation ");
    }
    // Known values of GELU: x Phi(x).
    EXPECT_NEAR(reference::activate(Activation::Gelu, 1.0), 0.8413447460685429, 1e-15);
    EXPECT_NEAR(reference::activate(Activation::Gelu, -2.0), -2.0 * 0.02275013194817921, 1e-15);
}

TEST(Reference, EmbeddingGradients)
{
    const std::vector<std::int32_t> tokens = {2, 0, 2, 1, 2, 0};
    Matrix token = random(4, 3, 1);
    Matrix position = random(2, 3, 2);
    const Matrix d = random(6, 3, 3);
    const auto f = [&] { return dot(reference::embedding(tokens, token, {}, position), d); };
    expectGradient(token, reference::tokenEmbeddingGradient(tokens, d, 4), f, "token ");
    expectGradient(position, reference::positionEmbeddingGradient(d, 2), f, "position ");
}

TEST(Reference, MeanPoolGradient)
{
    Matrix x = random(12, 3, 1);
    const Matrix d = random(3, 3, 2);
    expectGradient(
        x, reference::meanPoolGradient(d, 4), [&] { return dot(reference::meanPool(x, 4), d); }, "x");
}

TEST(Reference, DropoutGradientUsesTheSameMask)
{
    Matrix x = random(5, 6, 1);
    const Matrix d = random(5, 6, 2);
    const auto f = [&] { return dot(reference::dropout(x, 0.4, 9), d); };
    expectGradient(x, reference::dropout(d, 0.4, 9), f, "dropout ");
}

TEST(Reference, LayerNormGradients)
{
    Matrix x = random(3, 7, 1);
    Matrix gain = random(1, 7, 2);
    Matrix shift = random(1, 7, 3);
    const Matrix d = random(3, 7, 4);
    const reference::LayerNorm r = reference::layerNorm(x, gain, shift);
    const auto g = reference::layerNormGradient(d, x, gain, r.mean, r.rstd);
    const auto f = [&] { return dot(reference::layerNorm(x, gain, shift).out, d); };
    expectGradient(x, g.dx, f, "x ");
    expectGradient(gain, g.dGain, f, "gain ");
    expectGradient(shift, g.dShift, f, "shift ");
}

TEST(Reference, AttentionGradients)
{
    for (const bool causal : {false, true}) {
        Matrix q = random(6, 4, 1);
        Matrix k = random(6, 4, 2);
        Matrix v = random(6, 4, 3);
        const Matrix d = random(6, 4, 4);
        const reference::Attention r = reference::attention(q, k, v, causal);
        const auto g = reference::attentionGradient(q, k, v, r.probabilities, d, causal);
        const auto f = [&] { return dot(reference::attention(q, k, v, causal).out, d); };
        expectGradient(q, g.dq, f, "q ");
        expectGradient(k, g.dk, f, "k ");
        expectGradient(v, g.dv, f, "v ");
    }
}

TEST(Reference, CrossEntropyGradient)
{
    Matrix logits = random(4, 6, 1);
    const std::vector<std::int32_t> targets = {0, 5, 2, 2};
    expectGradient(
        logits, reference::crossEntropyGradient(logits, targets, 8.0),
        [&] { return 8.0 * reference::crossEntropy(logits, targets); }, "logits ");
}

// With a constant gradient and no epsilon every step is exactly the learning rate, whatever the gradient's size: that
// is what the two bias corrections are for.
TEST(Reference, AdamWTakesStepsOfTheLearningRate)
{
    AdamW hyper;
    hyper.learningRate = 0.125F;
    hyper.epsilon = 0.0F;
    reference::AdamState s{1.0, 0.0, 0.0};
    for (int step = 1; step <= 3; ++step) {
        hyper.biasCorrection1 = static_cast<float>(1.0 - std::pow(hyper.beta1, step));
        hyper.biasCorrection2 = static_cast<float>(1.0 - std::pow(hyper.beta2, step));
        s = reference::adamw(hyper, -3e-4, s);
        // The bias corrections are FP32 numbers: relative 2^-24 each, of a step of 1/8.
        EXPECT_NEAR(s.master, 1.0 + 0.125 * step, 0.25 * step * 0x1p-24);
    }
}

} // namespace
} // namespace halfscope::test
