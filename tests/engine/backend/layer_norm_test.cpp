// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <limits>

#include "support.h"

namespace halfscope::test {
namespace {

struct Case {
    std::int64_t rows;
    std::int64_t cols;
};
const Case kCases[] = {{1, 1}, {3, 2}, {5, 15}, {7, 16}, {9, 17}, {200, 128}, {131, 97}, {2, 8193}};

double meanMagnitude(const Matrix& m, std::int64_t row)
{
    double total = 0.0;
    for (std::int64_t j = 0; j < m.cols; ++j)
        total += std::abs(m.at(row, j));
    return total / static_cast<double>(m.cols);
}

// Additions that one element of a row goes through: its lane's, the tree's, and a few around it.
double steps(std::int64_t cols) { return static_cast<double>(cols) / 16.0 + 8.0; }

struct ForwardBound {
    Matrix out;
    Matrix mean;
    Matrix rstd;
};

ForwardBound forwardBound(const Matrix& x, const Matrix& gain, const reference::LayerNorm& r)
{
    ForwardBound b{Matrix(x.rows, x.cols), Matrix(x.rows, 1), Matrix(x.rows, 1)};
    for (std::int64_t i = 0; i < x.rows; ++i) {
        const double mean = steps(x.cols) * kEps * meanMagnitude(x, i);
        double deviation = 0.0; // mean |x - mean|
        for (std::int64_t j = 0; j < x.cols; ++j)
            deviation += std::abs(x.at(i, j) - r.mean.at(i, 0)) / static_cast<double>(x.cols);
        const double rstd = r.rstd.at(i, 0);
        const double variance = 1.0 / (rstd * rstd); // with epsilon
        // The mean's error moves every deviation; the sum of squares has steps(cols) roundings; deviations one each.
        const double varianceError = 2.0 * mean * deviation + mean * mean + (steps(x.cols) + 4.0) * kEps * variance;
        const double relative = 0.5 * varianceError / variance + 4.0 * kEps;
        b.mean.at(i, 0) = mean;
        b.rstd.at(i, 0) = rstd * relative * 1.01;
        for (std::int64_t j = 0; j < x.cols; ++j) {
            const double d = std::abs(x.at(i, j) - r.mean.at(i, 0));
            const double scale = rstd * std::abs(gain.at(0, j));
            b.out.at(i, j) = 1.01 * scale * (mean + d * (relative + 4.0 * kEps)) + kEps * std::abs(r.out.at(i, j));
        }
    }
    return b;
}

TEST(LayerNorm, ForwardMatchesReference)
{
    for (const Case& c : kCases)
        for (const FormatId in : kFormats)
            for (const double offset : {0.0, 20.0}) { // two passes: an offset must not spoil the variance
                std::vector<float> values = floats(randomTensor(FormatId::Fp32, c.rows, c.cols, 1, 2.0));
                for (float& x : values)
                    x += static_cast<float>(offset);
                const Tensor x = tensorOf(in, c.rows, c.cols, values);
                const Tensor gain = randomTensor(in, 1, c.cols, 2);
                const Tensor shift = randomTensor(in, 1, c.cols, 3);
                const auto want = reference::layerNorm(matrix(x), matrix(gain), matrix(shift));
                const ForwardBound bound = forwardBound(matrix(x), matrix(gain), want);
                Guarded mean(FormatId::Fp32, c.rows, 1);
                Guarded rstd(FormatId::Fp32, c.rows, 1);
                for (const FormatId format : kFormats) {
                    Guarded out(format, c.rows, c.cols);
                    cpu().layerNormForward(x, gain, shift, *out, *mean, *rstd, nullptr);
                    expectClose(out, want.out, bound.out, "layer norm " + std::to_string(c.cols));
                    expectClose(mean, want.mean, bound.mean, "mean");
                    expectClose(rstd, want.rstd, bound.rstd, "rstd");
                }
            }
}

TEST(LayerNorm, ForwardCounts)
{
    const Tensor x = randomTensor(FormatId::Fp16, 150, 90, 1);
    const Tensor gain = randomTensor(FormatId::Fp32, 1, 90, 2);
    const Tensor shift = randomTensor(FormatId::Fp32, 1, 90, 3);
    Tensor mean = cpu().makeTensor(FormatId::Fp32, 150, 1);
    Tensor rstd = cpu().makeTensor(FormatId::Fp32, 150, 1);
    expectProbeOf(
        [&](Tensor& out, CastProbe* probe) { cpu().layerNormForward(x, gain, shift, out, mean, rstd, probe); }, 150, 90,
        "layer norm");
}

struct BackwardInputs {
    BackwardInputs(const Case& c, FormatId format)
        : x(randomTensor(format, c.rows, c.cols, 1, 2.0)),
          gain(randomTensor(format, 1, c.cols, 2)),
          dOut(randomTensor(format, c.rows, c.cols, 4)),
          residual(randomTensor(format, c.rows, c.cols, 5)),
          mean(cpu().makeTensor(FormatId::Fp32, c.rows, 1)),
          rstd(cpu().makeTensor(FormatId::Fp32, c.rows, 1))
    {
        Tensor out = cpu().makeTensor(FormatId::Fp32, c.rows, c.cols);
        const Tensor shift = cpu().makeTensor(FormatId::Fp32, 1, c.cols);
        cpu().layerNormForward(x, gain, shift, out, mean, rstd, nullptr);
    }

    Tensor x;
    Tensor gain;
    Tensor dOut;
    Tensor residual;
    Tensor mean;
    Tensor rstd;
};

TEST(LayerNorm, BackwardMatchesReference)
{
    for (const Case& c : kCases)
        for (const FormatId in : kFormats) {
            const BackwardInputs inputs(c, in);
            const Matrix x = matrix(inputs.x);
            const Matrix d = matrix(inputs.dOut);
            const Matrix gain = matrix(inputs.gain);
            const Matrix mean = matrix(inputs.mean);
            const Matrix rstd = matrix(inputs.rstd);
            const auto want = reference::layerNormGradient(d, x, gain, mean, rstd);
            Matrix dxBound(c.rows, c.cols);
            Matrix gainBound(1, c.cols);
            Matrix shiftBound(1, c.cols);
            const double rows = 2.0 * static_cast<double>(c.rows) + 4.0; // a chain over rows, and one over chunks
            for (std::int64_t i = 0; i < c.rows; ++i) {
                double u = 0.0;
                double uh = 0.0;
                for (std::int64_t j = 0; j < c.cols; ++j) {
                    const double h = std::abs((x.at(i, j) - mean.at(i, 0)) * rstd.at(i, 0));
                    u += std::abs(d.at(i, j) * gain.at(0, j)) / static_cast<double>(c.cols);
                    uh += std::abs(d.at(i, j) * gain.at(0, j)) * h / static_cast<double>(c.cols);
                    gainBound.at(0, j) += rows * kEps * std::abs(d.at(i, j)) * h;
                    shiftBound.at(0, j) += rows * kEps * std::abs(d.at(i, j));
                }
                for (std::int64_t j = 0; j < c.cols; ++j) {
                    const double h = std::abs((x.at(i, j) - mean.at(i, 0)) * rstd.at(i, 0));
                    const double all = std::abs(d.at(i, j) * gain.at(0, j)) + u + h * uh;
                    dxBound.at(i, j) = rstd.at(i, 0) * all * (steps(c.cols) + 8.0) * kEps;
                }
            }
            for (const FormatId format : kFormats)
                for (const int residual : {0, 1, 2}) { // none, another tensor, in place
                    Guarded dx(format, c.rows, c.cols);
                    Guarded dGain(format, 1, c.cols);
                    Guarded dShift(format, 1, c.cols);
                    Matrix wantDx = want.dx;
                    Matrix bound = dxBound;
                    if (residual != 0) {
                        if (residual == 2)
                            cpu().upload(floats(inputs.residual), *dx);
                        const Matrix r = residual == 2 ? matrix(*dx) : matrix(inputs.residual);
                        wantDx = sum(wantDx, r);
                        for (std::size_t i = 0; i < bound.v.size(); ++i)
                            bound.v[i] += kEps * (std::abs(wantDx.v[i]) + bound.v[i]);
                    }
                    const Tensor* added = residual == 0 ? nullptr : residual == 1 ? &inputs.residual : &*dx;
                    cpu().layerNormBackward(inputs.dOut, inputs.x, inputs.gain, inputs.mean, inputs.rstd, added, *dx,
                                            nullptr, *dGain, *dShift, nullptr);
                    expectClose(dx, wantDx, bound, "dx " + std::to_string(c.cols));
                    expectClose(dGain, want.dGain, gainBound, "dGain");
                    expectClose(dShift, want.dShift, shiftBound, "dShift");
                }
        }
}

TEST(LayerNorm, BackwardCounts)
{
    const Case c{170, 77};
    const BackwardInputs in(c, FormatId::Fp32);
    Tensor dGain = cpu().makeTensor(FormatId::Fp32, 1, c.cols);
    Tensor dShift = cpu().makeTensor(FormatId::Fp32, 1, c.cols);
    expectProbeOf(
        [&](Tensor& dx, CastProbe* probe) {
            cpu().layerNormBackward(in.dOut, in.x, in.gain, in.mean, in.rstd, &in.residual, dx, probe, dGain, dShift,
                                    nullptr);
        },
        c.rows, c.cols, "layer norm backward");
    std::vector<float> weights = floats(dGain);
    const std::vector<float> shifts = floats(dShift);
    weights.insert(weights.end(), shifts.begin(), shifts.end());
    Tensor dx = cpu().makeTensor(FormatId::Fp32, c.rows, c.cols);
    for (const FormatId format : kFormats) {
        Tensor g = cpu().makeTensor(format, 1, c.cols);
        Tensor s = cpu().makeTensor(format, 1, c.cols);
        CastProbe probe = measuringProbe(0.5F, 5000.0F);
        cpu().layerNormBackward(in.dOut, in.x, in.gain, in.mean, in.rstd, nullptr, dx, nullptr, g, s, &probe);
        expectProbe(probe, weights, format, "gain and shift");
    }
}

TEST(LayerNorm, OneBadValueSpoilsItsRowOnly)
{
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> values = floats(randomTensor(FormatId::Fp32, 4, 20, 1));
        values[1 * 20 + 18] = bad;
        const Tensor x = tensorOf(FormatId::Fp32, 4, 20, values);
        const Tensor gain = randomTensor(FormatId::Fp32, 1, 20, 2);
        Guarded out(FormatId::Fp32, 4, 20);
        Guarded mean(FormatId::Fp32, 4, 1);
        Guarded rstd(FormatId::Fp32, 4, 1);
        CastProbe probe;
        cpu().layerNormForward(x, gain, gain, *out, *mean, *rstd, &probe);
        const std::vector<float> got = floats(*out);
        for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_EQ(std::isfinite(got[i]), i / 20 != 1) << i;
        EXPECT_TRUE(probe.nonfinite);
    }
}

TEST(LayerNorm, SameBitsForAnyThreadsAndInstructionSet)
{
    for (const FormatId format : kFormats)
        for (const Case& c : {Case{700, 113}, Case{99, 512}})
            expectSameBytes([&](Backend& backend) {
                const BackwardInputs in(c, format);
                Tensor out = backend.makeTensor(format, c.rows, c.cols);
                Tensor dx = backend.makeTensor(format, c.rows, c.cols);
                Tensor mean = backend.makeTensor(FormatId::Fp32, c.rows, 1);
                Tensor rstd = backend.makeTensor(FormatId::Fp32, c.rows, 1);
                Tensor dGain = backend.makeTensor(format, 1, c.cols);
                Tensor dShift = backend.makeTensor(format, 1, c.cols);
                CastProbe probe = measuringProbe(2.0F);
                CastProbe weights = measuringProbe(2.0F);
                backend.layerNormForward(in.x, in.gain, in.gain, out, mean, rstd, &probe);
                backend.layerNormBackward(in.dOut, in.x, in.gain, mean, rstd, &in.residual, dx, &probe, dGain, dShift,
                                          &weights);
                std::string bytes;
                for (const Tensor* t : {&out, &dx, &mean, &rstd, &dGain, &dShift})
                    appendBytes(bytes, *t);
                appendBytes(bytes, probe);
                appendBytes(bytes, weights);
                return bytes;
            });
}

} // namespace
} // namespace halfscope::test
