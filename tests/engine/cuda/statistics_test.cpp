// SPDX-License-Identifier: GPL-3.0-or-later
// What is counted on a GPU equals what is counted on the CPU: every integer and both extremes, for every format, and
// the stored bits with them.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/backend_registry.h"
#include "engine/core/rng.h"
#include "engine/numerics/cast.h"
#include "support.h"

namespace halfscope::test {
namespace {

// FP32 numbers of every magnitude, subnormal ones, infinities and NaNs included.
std::vector<float> anyNumbers(std::size_t n, std::uint64_t seed)
{
    Rng rng(seed);
    std::vector<float> values(n);
    for (float& x : values)
        x = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
    return values;
}

std::vector<float> normalNumbers(std::size_t n, std::uint64_t seed, double deviation)
{
    Rng rng(seed);
    std::vector<float> values(n);
    for (float& x : values)
        x = static_cast<float>(deviation * rng.normal());
    return values;
}

std::vector<float> onEitherSide(const FloatFormat& f)
{
    std::vector<float> values = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, -NAN};
    for (const double edge : {f.overflowFrom, f.largest, f.flushUpTo, f.smallestNormal, f.smallestSubnormal}) {
        const auto x = static_cast<float>(edge);
        for (const float y : {x, std::nextafter(x, 0.0F), std::nextafter(x, std::numeric_limits<float>::infinity())}) {
            values.push_back(y);
            values.push_back(-y);
        }
    }
    return values;
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

void expectSameAsCpu(Backend& host, const std::vector<float>& values, FormatId format, float inverseScale, float factor)
{
    const auto n = static_cast<std::int64_t>(values.size());
    TensorStatistics statistics[2];
    std::vector<float> stored[2];
    bool flags[2][4];
    Backend* const backends[2] = {&host, &cpu()};
    for (int i = 0; i < 2; ++i) {
        Backend& backend = *backends[i];
        Tensor from = backend.makeTensor(FormatId::Fp32, 1, n);
        Tensor to = backend.makeTensor(format, 1, n);
        backend.upload(values, from);
        CastProbe measuring = measuringProbe(inverseScale, factor);
        CastProbe watching = measuring;
        watching.measure = false;
        backend.cast(from, to, &watching);
        backend.cast(from, to, &measuring);
        stored[i].resize(values.size());
        backend.download(to, stored[i]);
        statistics[i] = measuring.statistics;
        flags[i][0] = measuring.saturated;
        flags[i][1] = measuring.nonfinite;
        flags[i][2] = watching.saturated;
        flags[i][3] = watching.nonfinite;
    }
    const std::string what =
        formatName(format) + ", inverse scale " + std::to_string(inverseScale) + ", factor " + std::to_string(factor);
    EXPECT_EQ(statistics[0].classes.of, statistics[1].classes.of) << what;
    EXPECT_EQ(statistics[0].histogram.bins, statistics[1].histogram.bins) << what;
    EXPECT_EQ(statistics[0].unscaledToInfinity, statistics[1].unscaledToInfinity) << what;
    EXPECT_EQ(bits(statistics[0].absMin), bits(statistics[1].absMin)) << what;
    EXPECT_EQ(bits(statistics[0].absMax), bits(statistics[1].absMax)) << what;
    for (int k = 0; k < 4; ++k)
        EXPECT_EQ(flags[0][k], flags[1][k]) << what;
    for (std::size_t k = 0; k < values.size(); ++k)
        ASSERT_EQ(bits(stored[0][k]), bits(stored[1][k])) << what << ": " << values[k];
}

TEST(Statistics, EqualTheCpuBackendsForEveryFormat)
{
    const std::unique_ptr<Backend> host = makeBackend("cpu", 1);
    for (const FloatFormat& f : floatFormats()) {
        for (const float inverseScale : {1.0F, 0x1p-16F, 0x1p+30F, 0x1p-140F, 0.3F}) {
            expectSameAsCpu(*host, onEitherSide(f), f.id, inverseScale, 1.0F);
            expectSameAsCpu(*host, anyNumbers(20'000, 3), f.id, inverseScale, 1.0F);
        }
        for (const float factor : {1.0F, 70000.0F, -0x1p-20F, 0.0F})
            expectSameAsCpu(*host, normalNumbers(9'001, 4, 1e-4), f.id, 0x1p-10F, factor);
    }
}

// Every pattern of a narrow format is read as on the CPU, and every FP32 number of one half is rounded as there.
TEST(Formats, AreReadAndRoundedToTheSameBits)
{
    for (const FloatFormat& f : floatFormats()) {
        std::vector<float> values;
        if (f.encodingBits <= 16) {
            for (std::uint32_t pattern = 0; pattern < 1U << f.encodingBits; ++pattern)
                values.push_back(decode(f.id, pattern));
        }
        const std::vector<float> any = anyNumbers(50'000, 9);
        values.insert(values.end(), any.begin(), any.end());
        Tensor t = cpu().makeTensor(f.id, 1, static_cast<std::int64_t>(values.size()));
        cpu().upload(values, t);
        std::vector<float> got(values.size());
        cpu().download(t, got);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(bits(got[i]), bits(roundTo(f.id, values[i]))) << f.name << ": " << values[i];
    }
}

// A tensor of more blocks than a grid has, so that blocks take several turns.
TEST(Statistics, CountEveryElementOfALargeTensor)
{
    const std::int64_t n = 2048 * 256 * 8 * 4 + 12345; // kMostBlocks times what a block takes before there are more
    Tensor from = cpu().makeTensor(FormatId::Fp16, 1, n);
    Tensor to = cpu().makeTensor(FormatId::Fp16, 1, n);
    CastProbe probe = measuringProbe();
    cpu().cast(from, to, &probe);
    cpu().synchronize();
    EXPECT_EQ(probe.statistics.classes[ValueClass::Zero], static_cast<std::uint64_t>(n));
    EXPECT_EQ(probe.statistics.count(), static_cast<std::uint64_t>(n));
}

} // namespace
} // namespace halfscope::test
