// SPDX-License-Identifier: GPL-3.0-or-later
// The backend on the processor's own BF16 instructions. Where they or the library are missing, only the reason is
// tested.
#include <string>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "engine/backend/onednn/onednn_backend.h"
#include "support.h"

namespace halfscope::test {
namespace {

// One instance where the backend can be used, none elsewhere.
class Onednn : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Onednn);
INSTANTIATE_TEST_SUITE_P(Here, Onednn,
                         testing::ValuesIn(onednnProblem().empty() ? std::vector<std::string>{"onednn"}
                                                                   : std::vector<std::string>()));

TEST(OnednnProblem, IsTheReasonThatTheRegistryGives)
{
    const std::string problem = onednnProblem();
    if (problem.empty()) {
        EXPECT_EQ(makeBackend("onednn", 1)->name(), "oneDNN");
        return;
    }
    EXPECT_EQ(problem.back(), '.');
    try {
        makeBackend("onednn", 1);
        FAIL() << "made although: " << problem;
    } catch (const BackendError& error) {
        EXPECT_EQ(std::string(error.what()), "oneDNN cannot be used: " + problem);
    }
}

struct Shape {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

// Around the edges of the library's tiles (16 x 64) and of our blocks (48 x 128) and slices (4 blocks).
const Shape kShapes[] = {{1, 1, 1},     {1, 1, 0},      {5, 7, 0},       {1, 33, 17},   {7, 1, 13},
                         {16, 64, 32},  {17, 65, 33},   {48, 128, 16},   {49, 129, 3},  {193, 61, 101},
                         {3, 257, 255}, {500, 40, 256}, {131, 139, 151}, {64, 96, 300}, {2, 8, 1031}};

Tensor input(std::int64_t rows, std::int64_t cols, bool transposed, std::uint64_t seed)
{
    return transposed ? randomTensor(FormatId::Bf16, cols, rows, seed) : randomTensor(FormatId::Bf16, rows, cols, seed);
}

// Products of BF16 numbers are exact in FP32; the instruction rounds after each of them and after each addition, in
// whatever order: at most 2 k roundings of partial sums no larger than sum |a||b| (1 + 2 k eps).
Matrix anyOrderBound(const Matrix& magnitudes, std::int64_t k)
{
    Matrix bound = magnitudes;
    const double steps = 2.0 * static_cast<double>(k);
    for (double& x : bound.v)
        x *= steps * kEps / (1.0 - steps * kEps);
    return bound;
}

TEST_P(Onednn, MatchesReferenceForEveryShapeAndTranspose)
{
    for (const int threads : {1, 2, 3}) {
        const std::unique_ptr<Backend> backend = makeBackend(GetParam(), threads);
        for (const Shape& s : kShapes)
            for (const bool ta : {false, true})
                for (const bool tb : {false, true})
                    for (const FormatId format : kFormats) {
                        const Tensor a = input(s.m, s.k, ta, 1);
                        const Tensor b = input(s.k, s.n, tb, 2);
                        const Matrix left = ta ? transpose(matrix(a)) : matrix(a);
                        const Matrix right = tb ? transpose(matrix(b)) : matrix(b);
                        Guarded c(format, s.m, s.n);
                        backend->gemm({.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = *c});
                        expectClose(c, multiply(left, right),
                                    anyOrderBound(multiply(magnitude(left), magnitude(right)), s.k),
                                    std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                                        (ta ? " T" : " N") + (tb ? "T " : "N ") + formatName(format));
                    }
    }
}

// The identity matrix makes the CPU backend finish a given product: from there on every bit must be the same.
TEST_P(Onednn, WhatFollowsTheProductIsTheCpuBackends)
{
    const std::unique_ptr<Backend> backend = makeBackend(GetParam(), 2);
    for (const Shape& s : {Shape{301, 130, 70}, Shape{20, 300, 33}}) {
        const Tensor a = input(s.m, s.k, false, 1);
        const Tensor b = input(s.k, s.n, true, 2);
        Tensor product = cpu().makeTensor(FormatId::Fp32, s.m, s.n);
        backend->gemm({.a = a, .b = b, .transposeB = true, .c = product});
        std::vector<float> ones(static_cast<std::size_t>(s.n * s.n));
        for (std::int64_t i = 0; i < s.n; ++i)
            ones[static_cast<std::size_t>(i * s.n + i)] = 1.0F;
        const Tensor identity = tensorOf(FormatId::Fp32, s.n, s.n, ones);
        const Tensor operand = randomTensor(FormatId::Bf16, s.m, s.n, 3);
        const Tensor bias = randomTensor(FormatId::Fp32, 1, s.n, 4);
        for (const Epilogue epilogue :
             {Epilogue::Store, Epilogue::Activate, Epilogue::AddResidual, Epilogue::ActivationBackward}) {
            std::string bytes[2];
            for (const bool native : {false, true}) {
                Tensor c = cpu().makeTensor(FormatId::Bf16, s.m, s.n);
                Tensor activated = cpu().makeTensor(FormatId::Bf16, s.m, s.n);
                CastProbe probe = measuringProbe(0.25F, 8.0F);
                CastProbe second = measuringProbe();
                (native ? *backend : cpu())
                    .gemm({.a = native ? a : product,
                           .b = native ? b : identity,
                           .transposeB = native,
                           .c = c,
                           .bias = &bias,
                           .epilogue = epilogue,
                           .operand = &operand,
                           .activated = &activated,
                           .productFormat = FormatId::Bf16,
                           .probe = &probe,
                           .activatedProbe = &second});
                appendBytes(bytes[native ? 1 : 0], c);
                appendBytes(bytes[native ? 1 : 0], activated);
                appendBytes(bytes[native ? 1 : 0], probe);
                appendBytes(bytes[native ? 1 : 0], second);
            }
            EXPECT_TRUE(bytes[0] == bytes[1]) << "epilogue " << static_cast<int>(epilogue);
        }
    }
}

// Products of other formats are the CPU backend's, to the bit.
TEST_P(Onednn, LeavesOtherFormatsToTheCpuBackend)
{
    const std::unique_ptr<Backend> backend = makeBackend(GetParam(), 2);
    for (const FormatId format : {FormatId::Fp32, FormatId::Fp16}) {
        const Tensor a = randomTensor(format, 70, 90, 1);
        const Tensor b = randomTensor(format, 90, 50, 2);
        std::string bytes[2];
        for (const bool native : {false, true}) {
            Tensor c = cpu().makeTensor(FormatId::Fp32, 70, 50);
            (native ? *backend : cpu()).gemm({.a = a, .b = b, .c = c});
            appendBytes(bytes[native ? 1 : 0], c);
        }
        EXPECT_TRUE(bytes[0] == bytes[1]) << formatName(format);
    }
}

TEST_P(Onednn, SaysThatItIsNotBitIdentical)
{
    const std::string text = makeBackend(GetParam(), 2)->description();
    EXPECT_NE(text.find("not bit-identical"), std::string::npos) << text;
    EXPECT_NE(text.find("2 threads"), std::string::npos) << text;
}

} // namespace
} // namespace halfscope::test
