// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <limits>

#include "engine/numerics/cast.h"
#include "support.h"

namespace halfscope::test {
namespace {

struct Shape {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

// Around the edges of register tiles (4 to 12 x 8 to 32), of blocks (48 x 128) and of passes over k (256).
const Shape kShapes[] = {{1, 1, 1},     {1, 1, 0},     {5, 7, 0},     {1, 33, 17},     {7, 1, 13},    {6, 16, 8},
                         {12, 32, 64},  {13, 31, 37},  {47, 127, 5},  {48, 128, 16},   {49, 129, 3},  {97, 61, 101},
                         {3, 257, 255}, {50, 40, 256}, {11, 19, 257}, {131, 139, 151}, {64, 96, 300}, {2, 8, 1031}};

std::string describe(const Shape& s)
{
    return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

struct Inputs {
    Inputs(const Shape& s, FormatId fa, bool ta, FormatId fb, bool tb, std::uint64_t seed = 1)
        : a(ta ? randomTensor(fa, s.k, s.m, seed) : randomTensor(fa, s.m, s.k, seed)),
          b(tb ? randomTensor(fb, s.n, s.k, seed + 1) : randomTensor(fb, s.k, s.n, seed + 1))
    {
        const Matrix left = ta ? transpose(matrix(a)) : matrix(a);
        const Matrix right = tb ? transpose(matrix(b)) : matrix(b);
        product = multiply(left, right);
        magnitudes = multiply(magnitude(left), magnitude(right));
    }

    Tensor a;
    Tensor b;
    Matrix product;
    Matrix magnitudes; // sum of |a||b|
};

// A chain of k fused multiply-adds: each rounds a partial sum no larger than sum |a||b| (1 + k eps).
Matrix chainBound(const Matrix& magnitudes, std::int64_t k)
{
    Matrix bound = magnitudes;
    const double steps = static_cast<double>(k);
    for (double& x : bound.v)
        x *= steps * kEps / (1.0 - steps * kEps);
    return bound;
}

TEST(Gemm, MatchesReferenceForEveryShapeTransposeAndFormat)
{
    for (const Shape& s : kShapes)
        for (const bool ta : {false, true})
            for (const bool tb : {false, true})
                for (const FormatId fa : kFormats)
                    for (const FormatId fb : kFormats) {
                        const Inputs in(s, fa, ta, fb, tb);
                        for (const FormatId fc : kFormats) {
                            if (fc != FormatId::Fp32 && fa != fb)
                                continue; // every format of c has met every format of a by then
                            Guarded c(fc, s.m, s.n);
                            cpu().gemm({.a = in.a, .transposeA = ta, .b = in.b, .transposeB = tb, .c = *c});
                            expectClose(c, in.product, chainBound(in.magnitudes, s.k),
                                        describe(s) + (ta ? " T" : " N") + (tb ? "T " : "N ") + formatName(fa) + " " +
                                            formatName(fb) + " -> " + formatName(fc));
                        }
                    }
}

// The definition itself: c = fma(a, b, c) from k = 0 on. The bits, not a tolerance.
TEST(Gemm, EveryElementIsOneChainOfFusedMultiplyAdds)
{
    const Shape s{51, 133, 523};
    const Inputs in(s, FormatId::Fp32, false, FormatId::Fp32, false);
    const std::vector<float> a = floats(in.a);
    const std::vector<float> b = floats(in.b);
    Guarded c(FormatId::Fp32, s.m, s.n);
    cpu().gemm({.a = in.a, .b = in.b, .c = *c});
    const std::vector<float> got = floats(*c);
    for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
            float sum = 0.0F;
            for (std::int64_t k = 0; k < s.k; ++k)
                sum = std::fma(a[static_cast<std::size_t>(i * s.k + k)], b[static_cast<std::size_t>(k * s.n + j)], sum);
            ASSERT_EQ(got[static_cast<std::size_t>(i * s.n + j)], sum) << i << ", " << j;
        }
}

TEST(Gemm, AddsBiasToEachRow)
{
    for (const Shape& s : kShapes)
        for (const FormatId format : kFormats) {
            const Inputs in(s, format, false, format, true);
            const Tensor bias = randomTensor(format, 1, s.n, 9);
            Matrix want = in.product;
            Matrix bound = chainBound(in.magnitudes, s.k);
            for (std::int64_t i = 0; i < s.m; ++i)
                for (std::int64_t j = 0; j < s.n; ++j) {
                    want.at(i, j) += matrix(bias).at(0, j);
                    bound.at(i, j) += kEps * (std::abs(want.at(i, j)) + bound.at(i, j));
                }
            Guarded c(format, s.m, s.n);
            cpu().gemm({.a = in.a, .b = in.b, .transposeB = true, .c = *c, .bias = &bias});
            expectClose(c, want, bound, "bias " + describe(s) + " " + formatName(format));
        }
}

// The relative error of GELU and its derivative in FP32, from erf, exp and a few roundings: each is within 4 ulp, and
// the sum 0.5 erf + 0.5 has an absolute error of about 3 eps, which x multiplies.
double activationBound(double x) { return 8.0 * kEps * (1.0 + std::abs(x) + x * x); }

// Activate: c = round(r), activated = round(act(c)). The second is checked against the c that was really stored.
TEST(Gemm, ActivatesWhatItStored)
{
    for (const Shape& s : kShapes)
        for (const FormatId format : kFormats)
            for (const Activation activation : {Activation::Gelu, Activation::Relu}) {
                const Inputs in(s, format, false, format, true);
                Guarded c(format, s.m, s.n);
                for (const FormatId activatedFormat : {format, FormatId::Fp32}) {
                    Guarded activated(activatedFormat, s.m, s.n);
                    cpu().gemm({.a = in.a,
                                .b = in.b,
                                .transposeB = true,
                                .c = *c,
                                .epilogue = Epilogue::Activate,
                                .activation = activation,
                                .activated = &*activated});
                    const std::string what = "activate " + describe(s) + " " + formatName(format);
                    expectClose(c, in.product, chainBound(in.magnitudes, s.k), what);
                    Matrix want = matrix(*c);
                    Matrix bound = want;
                    for (std::size_t i = 0; i < want.v.size(); ++i) {
                        bound.v[i] = activation == Activation::Relu ? 0.0 : activationBound(want.v[i]);
                        want.v[i] = reference::activate(activation, want.v[i]);
                    }
                    expectClose(activated, want, bound, what + ", activated");
                }
            }
}

TEST(Gemm, AddsResidualToTheRoundedProduct)
{
    for (const Shape& s : kShapes)
        for (const FormatId format : kFormats)
            for (const FormatId productFormat : kFormats)
                for (const bool inPlace : {false, true}) {
                    const Inputs in(s, format, false, format, false);
                    const Tensor residual = randomTensor(format, s.m, s.n, 5);
                    Guarded c(format, s.m, s.n);
                    if (inPlace)
                        cpu().upload(floats(residual), *c);
                    cpu().gemm({.a = in.a,
                                .b = in.b,
                                .c = *c,
                                .epilogue = Epilogue::AddResidual,
                                .operand = inPlace ? &*c : &residual,
                                .productFormat = productFormat});
                    Matrix want = sum(in.product, matrix(residual));
                    Matrix bound = chainBound(in.magnitudes, s.k);
                    for (std::size_t i = 0; i < want.v.size(); ++i) {
                        bound.v[i] += halfUlp(productFormat, std::abs(in.product.v[i]) + bound.v[i]);
                        bound.v[i] += kEps * (std::abs(want.v[i]) + bound.v[i]);
                    }
                    expectClose(c, want, bound, "residual " + describe(s) + " " + formatName(format));
                }
}

// A product of 2049 is 2048 in FP16 and in BF16, where the spacing there is 2 and 16, before the residual meets it.
TEST(Gemm, RoundsTheProductBeforeTheResidual)
{
    const Tensor a = tensorOf(FormatId::Fp32, 1, 1, std::vector<float>{2049.0F});
    const Tensor b = tensorOf(FormatId::Fp32, 1, 1, std::vector<float>{1.0F});
    const Tensor residual = tensorOf(FormatId::Fp32, 1, 1, std::vector<float>{-2048.0F});
    for (const FormatId format : kFormats) {
        Guarded c(FormatId::Fp32, 1, 1);
        cpu().gemm({.a = a,
                    .b = b,
                    .c = *c,
                    .epilogue = Epilogue::AddResidual,
                    .operand = &residual,
                    .productFormat = format});
        EXPECT_EQ(floats(*c)[0], format == FormatId::Fp32 ? 1.0F : 0.0F) << formatName(format);
    }
}

TEST(Gemm, MultipliesByTheActivationsDerivative)
{
    for (const Shape& s : kShapes)
        for (const FormatId format : kFormats)
            for (const Activation activation : {Activation::Gelu, Activation::Relu}) {
                const Inputs in(s, format, false, format, false);
                const Tensor before = randomTensor(format, s.m, s.n, 6, 2.0);
                Guarded c(format, s.m, s.n);
                cpu().gemm({.a = in.a,
                            .b = in.b,
                            .c = *c,
                            .epilogue = Epilogue::ActivationBackward,
                            .activation = activation,
                            .operand = &before});
                Matrix want = in.product;
                Matrix bound = chainBound(in.magnitudes, s.k);
                const Matrix x = matrix(before);
                for (std::size_t i = 0; i < want.v.size(); ++i) {
                    const double derivative = reference::activationDerivative(activation, x.v[i]);
                    const double error = activation == Activation::Relu ? 0.0 : activationBound(x.v[i]);
                    bound.v[i] = bound.v[i] * (std::abs(derivative) + error) + std::abs(want.v[i]) * error;
                    want.v[i] *= derivative;
                    bound.v[i] += kEps * (std::abs(want.v[i]) + bound.v[i]);
                }
                expectClose(c, want, bound, "activation backward " + describe(s) + " " + formatName(format));
            }
}

// The values before rounding are what the same product stores into an FP32 tensor.
TEST(Gemm, ProbeCountsWhatIsAboutToBeRounded)
{
    for (const Shape& s : {Shape{49, 129, 65}, Shape{5, 3, 7}, Shape{100, 300, 20}})
        for (const FormatId format : kFormats)
            for (const bool measure : {true, false})
                for (const float factor : {1.0F, 3000.0F, 0x1p-20F}) {
                    const Inputs in(s, FormatId::Fp32, false, FormatId::Fp32, false);
                    Guarded exact(FormatId::Fp32, s.m, s.n);
                    cpu().gemm({.a = in.a, .b = in.b, .c = *exact});
                    CastProbe probe = measuringProbe(0.125F, factor);
                    probe.measure = measure;
                    Guarded c(format, s.m, s.n);
                    cpu().gemm({.a = in.a, .b = in.b, .c = *c, .probe = &probe});
                    const std::vector<float> values = floats(*exact);
                    expectProbe(probe, values, format, "gemm " + formatName(format));
                    const std::vector<float> stored = floats(*c);
                    for (std::size_t i = 0; i < values.size(); ++i)
                        ASSERT_EQ(stored[i], roundTo(format, values[i] * factor)) << i;
                }
}

TEST(Gemm, BothProbesOfAnActivationCount)
{
    const Shape s{70, 150, 33};
    for (const FormatId format : kFormats) {
        const Inputs in(s, format, false, format, false);
        Guarded exact(FormatId::Fp32, s.m, s.n);
        cpu().gemm({.a = in.a, .b = in.b, .c = *exact});
        Guarded c(format, s.m, s.n);
        Guarded activated(FormatId::Fp32, s.m, s.n); // FP32: what it holds is what was counted
        CastProbe probe = measuringProbe();
        CastProbe activatedProbe = measuringProbe(2.0F);
        cpu().gemm({.a = in.a,
                    .b = in.b,
                    .c = *c,
                    .epilogue = Epilogue::Activate,
                    .activated = &*activated,
                    .probe = &probe,
                    .activatedProbe = &activatedProbe});
        expectProbe(probe, floats(*exact), format, "pre-activation");
        expectProbe(activatedProbe, floats(*activated), FormatId::Fp32, "activation");
    }
}

TEST(Gemm, ProbesAddToWhatTheyHold)
{
    const Inputs in({20, 20, 20}, FormatId::Fp32, false, FormatId::Fp32, false);
    Guarded c(FormatId::Fp16, 20, 20);
    CastProbe probe = measuringProbe();
    cpu().gemm({.a = in.a, .b = in.b, .c = *c, .probe = &probe});
    cpu().gemm({.a = in.a, .b = in.b, .c = *c, .probe = &probe});
    cpu().synchronize();
    EXPECT_EQ(probe.statistics.count(), 800U);
    probe.clear();
    EXPECT_EQ(probe.statistics.count(), 0U);
}

TEST(Gemm, InfinitiesAndNansStayInTheirRowsAndColumns)
{
    constexpr float kInf = std::numeric_limits<float>::infinity();
    for (const FormatId format : kFormats) {
        std::vector<float> a(7 * 5, 1.0F);
        std::vector<float> b(5 * 6, 1.0F);
        a[1 * 5 + 2] = kInf;
        a[3 * 5 + 4] = std::numeric_limits<float>::quiet_NaN();
        b[2 * 6 + 3] = -kInf; // meets the infinity of a in row 1
        b[2 * 6 + 4] = 0.0F;  // inf * 0
        const Tensor ta = tensorOf(format, 7, 5, a);
        const Tensor tb = tensorOf(format, 5, 6, b);
        Guarded c(format, 7, 6);
        CastProbe probe;
        cpu().gemm({.a = ta, .b = tb, .c = *c, .probe = &probe});
        const std::vector<float> got = floats(*c);
        for (int i = 0; i < 7; ++i)
            for (int j = 0; j < 6; ++j) {
                const float x = got[static_cast<std::size_t>(i * 6 + j)];
                if (i == 3 || (i == 1 && j == 4))
                    EXPECT_TRUE(std::isnan(x)) << i << ", " << j;
                else if (i == 1 || j == 3)
                    EXPECT_EQ(x, j == 3 ? -kInf : kInf) << i << ", " << j;
                else
                    EXPECT_EQ(x, j == 4 ? 4.0F : 5.0F) << i << ", " << j;
            }
        EXPECT_TRUE(probe.nonfinite);
        EXPECT_FALSE(probe.saturated);
    }
}

TEST(Gemm, SaturationIsFlagged)
{
    const std::vector<float> a(4, 256.0F);
    const Tensor ta = tensorOf(FormatId::Fp16, 1, 4, a);
    const Tensor tb = tensorOf(FormatId::Fp16, 4, 1, a);
    Guarded c(FormatId::Fp16, 1, 1);
    CastProbe probe;
    cpu().gemm({.a = ta, .b = tb, .c = *c, .probe = &probe});
    EXPECT_TRUE(std::isinf(floats(*c)[0]));
    EXPECT_TRUE(probe.saturated);
    EXPECT_FALSE(probe.nonfinite);
}

TEST(Gemm, RejectsShapesThatDoNotFit)
{
    const Tensor a = randomTensor(FormatId::Fp32, 3, 4, 1);
    const Tensor b = randomTensor(FormatId::Fp32, 5, 6, 1);
    Tensor c = cpu().makeTensor(FormatId::Fp32, 3, 6);
    EXPECT_THROW(cpu().gemm({.a = a, .b = b, .c = c}), std::invalid_argument);
}

TEST(Gemm, SameBitsForAnyThreadsAndInstructionSet)
{
    struct Run {
        Epilogue epilogue;
        Activation activation;
    };
    const Run runs[] = {{Epilogue::Store, Activation::Gelu},
                        {Epilogue::Activate, Activation::Gelu},
                        {Epilogue::Activate, Activation::Relu},
                        {Epilogue::AddResidual, Activation::Gelu},
                        {Epilogue::ActivationBackward, Activation::Gelu}};
    bool ta = false;
    for (const Shape& s : {Shape{257, 300, 129}, Shape{31, 517, 300}, Shape{400, 96, 64}})
        for (const FormatId format : kFormats) {
            ta = !ta;
            const Inputs in(s, format, ta, format, !ta);
            const Tensor other = randomTensor(format, s.m, s.n, 3);
            const Tensor bias = randomTensor(format, 1, s.n, 4);
            expectSameBytes([&](Backend& backend) {
                std::string bytes;
                for (const Run& run : runs) {
                    Tensor c = backend.makeTensor(format, s.m, s.n);
                    Tensor activated = backend.makeTensor(format, s.m, s.n);
                    CastProbe probe = measuringProbe(0.5F);
                    CastProbe second = measuringProbe();
                    backend.gemm({.a = in.a,
                                  .transposeA = ta,
                                  .b = in.b,
                                  .transposeB = !ta,
                                  .c = c,
                                  .bias = &bias,
                                  .epilogue = run.epilogue,
                                  .activation = run.activation,
                                  .operand = &other,
                                  .activated = &activated,
                                  .productFormat = format,
                                  .probe = &probe,
                                  .activatedProbe = &second});
                    appendBytes(bytes, c);
                    appendBytes(bytes, activated);
                    appendBytes(bytes, probe);
                    appendBytes(bytes, second);
                }
                return bytes;
            });
        }
}

} // namespace
} // namespace halfscope::test
