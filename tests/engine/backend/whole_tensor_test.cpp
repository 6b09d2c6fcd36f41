// SPDX-License-Identifier: GPL-3.0-or-later
#include <bit>
#include <cmath>
#include <limits>

#include "support.h"

namespace halfscope::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Below, at and above a group of 16 lanes and a chunk of 8192 elements.
const std::int64_t kSizes[] = {1, 15, 16, 17, 31, 1000, 8191, 8192, 8193, 25013};

Matrix relative(const Matrix& m, double eps)
{
    Matrix bound = magnitude(m);
    for (double& x : bound.v)
        x *= eps;
    return bound;
}

TEST(WholeTensor, IsAlignedAndZeroed)
{
    for (const FormatId format : kFormats)
        for (const std::int64_t n : kSizes) {
            const Tensor t = cpu().makeTensor(format, n, 3);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0U);
            for (const float x : floats(t))
                ASSERT_EQ(std::bit_cast<std::uint32_t>(x), 0U);
        }
    EXPECT_TRUE(cpu().makeTensor(FormatId::Fp16, 0, 5).empty());
}

TEST(WholeTensor, OutOfMemorySaysHowMuchIsNeeded)
{
    for (const std::int64_t rows : {std::int64_t{1} << 44, std::int64_t{1} << 62}) {
        try {
            cpu().makeTensor(FormatId::Fp32, rows, 64);
            FAIL() << "such a tensor cannot exist";
        } catch (const BackendError& error) {
            EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos) << error.what();
        }
    }
    try {
        cpu().makeTensor(FormatId::Fp32, std::int64_t{1} << 44, 64);
    } catch (const BackendError& error) {
        EXPECT_NE(std::string(error.what()).find("4503599627370496 bytes"), std::string::npos) << error.what();
    }
}

TEST(WholeTensor, UploadRoundsAndDownloadWidens)
{
    for (const FormatId format : kFormats)
        for (const std::int64_t n : kSizes) {
            const std::vector<float> values = floats(randomTensor(FormatId::Fp32, 1, n, 3, 100.0));
            Guarded t(format, 1, n);
            cpu().upload(values, *t);
            const std::vector<float> got = floats(*t);
            for (std::size_t i = 0; i < values.size(); ++i)
                ASSERT_EQ(got[i], roundTo(format, values[i]));
            EXPECT_TRUE(t.intact());
        }
    Tensor t = cpu().makeTensor(FormatId::Fp32, 2, 2);
    EXPECT_THROW(cpu().upload(std::vector<float>(3), t), std::invalid_argument);
    std::vector<float> host(5);
    EXPECT_THROW(cpu().download(t, host), std::invalid_argument);
}

TEST(WholeTensor, FillZeroClears)
{
    for (const FormatId format : kFormats) {
        Guarded t(format, 13, 7);
        cpu().fillZero(*t);
        for (const float x : floats(*t))
            ASSERT_EQ(std::bit_cast<std::uint32_t>(x), 0U);
        EXPECT_TRUE(t.intact());
    }
}

TEST(WholeTensor, CastRoundsOnceFromEveryFormatToEveryFormat)
{
    for (const FormatId from : kFormats)
        for (const std::int64_t n : kSizes) {
            const Tensor source = randomTensor(from, 1, n, 7, 300.0);
            const std::vector<float> before = floats(source);
            expectProbeOf([&](Tensor& out, CastProbe* probe) { cpu().cast(source, out, probe); }, 1, n,
                          "cast from " + formatName(from));
            EXPECT_EQ(floats(source), before) << "the source must not change";
        }
}

TEST(WholeTensor, CastKeepsSpecials)
{
    const std::vector<float> values = {0.0F, -0.0F, kInf, -kInf, kNan, 65519.0F, 65520.0F, 0x1p-25F, 0x1.8p-25F};
    for (const FormatId format : kFormats) {
        const Tensor source = tensorOf(FormatId::Fp32, 1, 9, values);
        Guarded out(format, 1, 9);
        CastProbe probe;
        cpu().cast(source, *out, &probe);
        const std::vector<float> got = floats(*out);
        EXPECT_TRUE(std::signbit(got[1]) && got[1] == 0.0F);
        EXPECT_EQ(got[2], kInf);
        EXPECT_EQ(got[3], -kInf);
        EXPECT_TRUE(std::isnan(got[4]));
        EXPECT_TRUE(probe.nonfinite);
        EXPECT_EQ(probe.saturated, format == FormatId::Fp16);
        if (format == FormatId::Fp16) {
            EXPECT_EQ(got[5], 65504.0F);
            EXPECT_EQ(got[6], kInf);
            EXPECT_EQ(got[7], 0.0F);
            EXPECT_EQ(got[8], 0x1p-24F);
        }
    }
}

TEST(WholeTensor, AddRoundsTheSum)
{
    for (const FormatId fa : kFormats)
        for (const FormatId fb : kFormats)
            for (const FormatId to : kFormats)
                for (const std::int64_t n : kSizes) {
                    const Tensor a = randomTensor(fa, 1, n, 1);
                    const Tensor b = randomTensor(fb, 1, n, 2);
                    const Matrix want = sum(matrix(a), matrix(b));
                    Guarded out(to, 1, n);
                    cpu().add(a, b, *out, nullptr);
                    expectClose(out, want, relative(want, kEps), "add");
                    if (to != fa)
                        continue;
                    cpu().upload(floats(a), *out);
                    cpu().add(*out, b, *out, nullptr);
                    expectClose(out, want, relative(want, kEps), "add in place");
                }
}

TEST(WholeTensor, AddCountsTheSumBeforeItIsRounded)
{
    const Tensor a = randomTensor(FormatId::Fp16, 3, 5000, 1, 3e4);
    const Tensor b = randomTensor(FormatId::Fp32, 3, 5000, 2, 3e4);
    expectProbeOf([&](Tensor& out, CastProbe* probe) { cpu().add(a, b, out, probe); }, 3, 5000, "add");
}

TEST(WholeTensor, DropoutKeepsByElementAndScales)
{
    for (const FormatId format : kFormats)
        for (const std::int64_t n : kSizes)
            for (const float p : {0.0F, 0.1F, 0.5F, 0.9F, 1.0F}) {
                const Tensor from = randomTensor(format, 1, n, 4);
                Matrix want = p == 1.0F ? Matrix(1, n) : reference::dropout(matrix(from), static_cast<double>(p), 77);
                Guarded out(format, 1, n);
                cpu().dropout(from, *out, p, 77, nullptr);
                // 1 - p is rounded once, the quotient once.
                expectClose(out, want, relative(want, 2.1 * kEps), "dropout");
                cpu().upload(floats(from), *out);
                cpu().dropout(*out, *out, p, 77, nullptr);
                expectClose(out, want, relative(want, 2.1 * kEps), "dropout in place");
            }
    EXPECT_THROW(
        {
            Tensor t = cpu().makeTensor(FormatId::Fp32, 1, 1);
            cpu().dropout(t, t, 1.5F, 0, nullptr);
        },
        std::invalid_argument);
}

TEST(WholeTensor, DropoutDropsTheRightShareAndAlsoNans)
{
    const std::int64_t n = 100'000;
    const Tensor nans = tensorOf(FormatId::Fp32, 1, n, std::vector<float>(static_cast<std::size_t>(n), kNan));
    Guarded out(FormatId::Fp32, 1, n);
    cpu().dropout(nans, *out, 0.25F, 5, nullptr);
    std::int64_t dropped = 0;
    for (const float x : floats(*out)) {
        dropped += x == 0.0F ? 1 : 0;
        ASSERT_TRUE(x == 0.0F || std::isnan(x));
    }
    // Binomial: the deviation is sqrt(n p (1 - p)) = 137; five of them.
    EXPECT_NEAR(static_cast<double>(dropped), 25'000.0, 685.0);
}

TEST(WholeTensor, DropoutCountsWhatItStores)
{
    const Tensor from = randomTensor(FormatId::Fp16, 50, 400, 4);
    expectProbeOf([&](Tensor& out, CastProbe* probe) { cpu().dropout(from, out, 0.3F, 9, probe); }, 50, 400, "dropout");
}

TEST(WholeTensor, ColumnSumMatchesReference)
{
    for (const FormatId from : kFormats)
        for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                         {1000, 1},
                                         {0, 5},
                                         {3, 17},
                                         {129, 127},
                                         {700, 33},
                                         {5, 9001}}) {
            const Tensor t = randomTensor(from, rows, cols, 8);
            const Matrix want = reference::columnSum(matrix(t));
            // `rows` additions in a chain, and the chunks' sums after that.
            Matrix bound = reference::columnSum(magnitude(matrix(t)));
            for (double& x : bound.v)
                x *= 2.0 * static_cast<double>(rows + 1) * kEps;
            for (const FormatId to : kFormats) {
                Guarded out(to, 1, cols);
                cpu().columnSum(t, *out, nullptr);
                expectClose(out, want, bound, "columnSum " + std::to_string(rows) + "x" + std::to_string(cols));
            }
            expectProbeOf([&](Tensor& out, CastProbe* probe) { cpu().columnSum(t, out, probe); }, 1, cols, "columnSum");
        }
}

TEST(WholeTensor, SameBitsForAnyThreadsAndInstructionSet)
{
    for (const FormatId format : kFormats)
        expectSameBytes([&](Backend& backend) {
            const Tensor a = randomTensor(format, 501, 311, 1);
            const Tensor b = randomTensor(format, 501, 311, 2);
            Tensor out = backend.makeTensor(format, 501, 311);
            Tensor row = backend.makeTensor(FormatId::Fp32, 1, 311);
            std::string bytes;
            for (int i = 0; i < 4; ++i) {
                CastProbe probe = measuringProbe(0.3F);
                if (i == 0)
                    backend.cast(a, out, &probe);
                else if (i == 1)
                    backend.add(a, b, out, &probe);
                else if (i == 2)
                    backend.dropout(a, out, 0.2F, 11, &probe);
                else
                    backend.columnSum(a, row, &probe);
                appendBytes(bytes, out);
                appendBytes(bytes, row);
                appendBytes(bytes, probe);
            }
            return bytes;
        });
}

} // namespace
} // namespace halfscope::test
