// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/gradient_shadow.h"

#include <cmath>
#include <limits>

namespace halfscope {

void ComparisonSums::add(std::span<const float> gradient, std::span<const float> shadow)
{
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto g = static_cast<double>(gradient[i]);
        const auto s = static_cast<double>(shadow[i]);
        m_dot += g * s;
        m_squares += g * g;
        m_shadowSquares += s * s;
        m_differenceSquares += (g - s) * (g - s);
    }
}

void ComparisonSums::add(const ComparisonSums& other)
{
    m_dot += other.m_dot;
    m_squares += other.m_squares;
    m_shadowSquares += other.m_shadowSquares;
    m_differenceSquares += other.m_differenceSquares;
}

GradientComparison ComparisonSums::result() const
{
    GradientComparison c;
    c.norm = std::sqrt(m_squares);
    c.shadowNorm = std::sqrt(m_shadowSquares);
    // Squares of FP32 numbers neither overflow nor vanish in double, so these are finite and above 0 exactly where the
    // gradients are.
    if (!std::isfinite(m_squares) || !std::isfinite(m_shadowSquares) || !(m_shadowSquares > 0))
        return c;
    c.relativeError = std::sqrt(m_differenceSquares / m_shadowSquares);
    if (m_squares > 0)
        c.cosine = std::fmax(-1.0, std::fmin(1.0, m_dot / (c.norm * c.shadowNorm))); // rounding may pass 1
    return c;
}

namespace {

PrecisionPlan allFp32(const Transformer& like) { return PrecisionPlan(like.modules().size(), FormatId::Fp32); }

} // namespace

// The seed does not matter: the weights are copied before every comparison.
GradientShadow::GradientShadow(Backend& backend, const Transformer& like)
    : m_backend(backend), m_model(backend, like.config(), allFp32(like), 0)
{
    for (Parameter& p : m_model.parameters())
        p.moment1 = p.moment2 = Tensor(); // nothing is trained here
}

ShadowPtr GradientShadow::compare(std::int64_t step, const Transformer& run, const std::vector<Tensor>& unscaled,
                                  const Transformer::Batch& batch, const Transformer::StepOptions& options)
{
    std::vector<Parameter>& mine = m_model.parameters();
    for (std::size_t i = 0; i < mine.size(); ++i)
        m_backend.cast(run.parameters()[i].master, mine[i].master, nullptr); // to FP32: exact
    m_model.refreshCompute();

    Transformer::StepOptions plain;
    plain.measureWeightGrads = plain.measureActivationGrads = plain.measureActivations = false;
    plain.dropoutSeed = options.dropoutSeed;
    auto report = std::make_shared<ShadowReport>();
    report->step = step;
    report->loss = m_model.forward(batch, plain);
    m_model.backward(batch);

    std::vector<ComparisonSums> sums(m_model.modules().size());
    std::vector<bool> present(sums.size(), false);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        m_left.resize(static_cast<std::size_t>(unscaled[i].size()));
        m_right.resize(m_left.size());
        m_backend.download(unscaled[i], m_left);
        m_backend.download(mine[i].gradient, m_right);
        const auto module = static_cast<std::size_t>(mine[i].module);
        sums[module].add(m_left, m_right);
        present[module] = true;
    }
    ComparisonSums total;
    for (std::size_t module = 0; module < sums.size(); ++module) {
        if (!present[module])
            continue;
        total.add(sums[module]);
        report->modules.push_back({static_cast<std::int16_t>(module), sums[module].result()});
    }
    report->total = total.result();
    return report;
}

} // namespace halfscope
