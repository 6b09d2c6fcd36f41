// SPDX-License-Identifier: GPL-3.0-or-later
#include "support.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/core/rng.h"

namespace halfscope::test {

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;

} // namespace

Guarded::Guarded(FormatId format, std::int64_t rows, std::int64_t cols)
    : m_bytes(static_cast<std::size_t>(rows * cols * floatFormat(format).storageBytes))
{
    const std::size_t words = (m_bytes + 2 * kGuardBytes + sizeof(float) - 1) / sizeof(float);
    m_memory = std::make_shared<Tensor>(cpu().makeTensor(FormatId::Fp32, 1, static_cast<std::int64_t>(words)));
    cpu().upload(pattern(), *m_memory);
    m_tensor = Tensor(format, rows, cols, {m_memory, m_memory->as<unsigned char>() + kGuardBytes});
}

std::vector<float> Guarded::pattern() const
{
    std::vector<float> words(static_cast<std::size_t>(m_memory->size()));
    std::vector<unsigned char> bytes(words.size() * sizeof(float), kGuard);
    std::fill_n(bytes.data() + kGuardBytes, m_bytes, static_cast<unsigned char>(0xFF));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

bool Guarded::intact() const
{
    const std::vector<float> before = pattern();
    const std::vector<float> now = floats(*m_memory);
    const auto same = [&](std::size_t begin, std::size_t end) {
        return std::memcmp(reinterpret_cast<const char*>(before.data()) + begin,
                           reinterpret_cast<const char*>(now.data()) + begin, end - begin) == 0;
    };
    return same(0, kGuardBytes) && same(kGuardBytes + m_bytes, now.size() * sizeof(float));
}

Tensor tensorOf(FormatId format, std::int64_t rows, std::int64_t cols, std::span<const float> values)
{
    Tensor t = cpu().makeTensor(format, rows, cols);
    cpu().upload(values, t);
    return t;
}

Tensor randomTensor(FormatId format, std::int64_t rows, std::int64_t cols, std::uint64_t seed, double scale)
{
    Rng rng(seed);
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    for (float& x : values)
        x = static_cast<float>(scale * rng.normal());
    return tensorOf(format, rows, cols, values);
}

std::vector<float> floats(const Tensor& t)
{
    std::vector<float> values(static_cast<std::size_t>(t.size()));
    cpu().download(t, values);
    return values;
}

Matrix matrix(const Tensor& t)
{
    Matrix m(t.rows(), t.cols());
    const std::vector<float> values = floats(t);
    std::copy(values.begin(), values.end(), m.v.begin());
    return m;
}

double halfUlp(FormatId format, double magnitude)
{
    const FloatFormat& f = floatFormat(format);
    const double atLeast = std::max(magnitude, f.smallestNormal);
    return std::ldexp(0.5, std::ilogb(atLeast) - f.mantissaBits);
}

void expectClose(const Tensor& got, const Matrix& want, const Matrix& bound, const std::string& what)
{
    ASSERT_EQ(got.rows(), want.rows) << what;
    ASSERT_EQ(got.cols(), want.cols) << what;
    const std::vector<float> values = floats(got);
    const FloatFormat& format = floatFormat(got.format());
    int failures = 0;
    for (std::size_t i = 0; i < values.size() && failures < 5; ++i) {
        const double value = static_cast<double>(values[i]);
        const double reach = std::abs(want.v[i]) + bound.v[i];
        const double least = std::abs(want.v[i]) - bound.v[i];
        if (std::isinf(value) && reach >= format.overflowFrom && std::signbit(value) == std::signbit(want.v[i]))
            continue;
        const double allowed = bound.v[i] + halfUlp(got.format(), reach);
        const bool good = std::abs(value - want.v[i]) <= allowed && least < format.overflowFrom;
        failures += good ? 0 : 1;
        EXPECT_TRUE(good) << what << ", element " << i / static_cast<std::size_t>(got.cols()) << ", "
                          << i % static_cast<std::size_t>(got.cols()) << ": " << value << " instead of " << want.v[i]
                          << ", off by " << std::abs(value - want.v[i]) << ", allowed " << allowed;
    }
}

void expectClose(const Guarded& got, const Matrix& want, const Matrix& bound, const std::string& what)
{
    expectClose(*got, want, bound, what);
    EXPECT_TRUE(got.intact()) << what << ": wrote beyond the tensor";
}

CastProbe measuringProbe(float inverseScale, float factor)
{
    CastProbe probe;
    probe.measure = true;
    probe.inverseScale = inverseScale;
    probe.factor = factor;
    return probe;
}

void expectProbe(const CastProbe& probe, const std::vector<float>& values, FormatId format, const std::string& what)
{
    cpu().synchronize(); // until then a probe may still be on its way
    TensorStatistics want;
    double sumBound = 0.0;
    double squareBound = 0.0;
    for (const float value : values) {
        const float cast = value * probe.factor;
        ++want.classes[classify(format, cast)];
        const float unscaled = cast * probe.inverseScale;
        if (!std::isfinite(unscaled)) {
            want.unscaledToInfinity += std::isfinite(cast) && cast != 0.0F ? 1 : 0;
            continue;
        }
        const double x = static_cast<double>(unscaled);
        want.sum += x;
        want.sumSquares += x * x;
        sumBound += std::abs(x);
        squareBound += x * x;
        if (unscaled == 0.0F)
            continue;
        ++want.histogram.at(std::ilogb(x));
        const float magnitude = std::abs(unscaled);
        want.absMin = want.absMin == 0.0F ? magnitude : std::min(want.absMin, magnitude);
        want.absMax = std::max(want.absMax, magnitude);
    }
    const TensorStatistics& got = probe.statistics;
    EXPECT_EQ(probe.saturated, want.saturated()) << what;
    EXPECT_EQ(probe.nonfinite, want.nonfinite()) << what;
    if (!probe.measure) {
        EXPECT_EQ(got.count(), 0U) << what;
        return;
    }
    EXPECT_EQ(got.classes.of, want.classes.of) << what;
    EXPECT_EQ(got.histogram.bins, want.histogram.bins) << what;
    EXPECT_EQ(got.unscaledToInfinity, want.unscaledToInfinity) << what;
    EXPECT_EQ(got.absMin, want.absMin) << what;
    EXPECT_EQ(got.absMax, want.absMax) << what;
    // n additions in double, in another order: at most n half ulps of the sum of magnitudes each way.
    const double n = static_cast<double>(values.size()) + 1.0;
    EXPECT_NEAR(got.sum, want.sum, 2.0 * n * 0x1p-53 * sumBound) << what;
    EXPECT_NEAR(got.sumSquares, want.sumSquares, 2.0 * n * 0x1p-53 * squareBound) << what;
}

void expectProbeOf(const std::function<void(Tensor& out, CastProbe* probe)>& operation, std::int64_t rows,
                   std::int64_t cols, const std::string& what)
{
    Guarded exact(FormatId::Fp32, rows, cols);
    operation(*exact, nullptr);
    const std::vector<float> values = floats(*exact);
    for (const FormatId format : kFormats)
        for (const bool measure : {true, false})
            for (const float factor : {1.0F, 70000.0F, 0x1p-22F}) {
                CastProbe probe = measuringProbe(0.25F, factor);
                probe.measure = measure;
                Guarded out(format, rows, cols);
                operation(*out, &probe);
                expectProbe(probe, values, format, what + " " + formatName(format));
                EXPECT_TRUE(out.intact()) << what;
                const std::vector<float> stored = floats(*out);
                for (std::size_t i = 0; i < values.size(); ++i)
                    ASSERT_EQ(stored[i], roundTo(format, values[i] * factor)) << what << ", element " << i;
            }
}

void appendBytes(std::string& to, const Tensor& t)
{
    const std::vector<float> values = floats(t); // exact, whatever the format
    to.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

void appendBytes(std::string& to, double value)
{
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof value);
}

void appendBytes(std::string& to, const CastProbe& probe)
{
    const TensorStatistics& s = probe.statistics;
    for (const std::uint64_t count : s.classes.of)
        appendBytes(to, static_cast<double>(count));
    for (const std::uint64_t count : s.histogram.bins)
        appendBytes(to, static_cast<double>(count));
    appendBytes(to, static_cast<double>(s.unscaledToInfinity));
    for (const double x : {static_cast<double>(s.absMin), static_cast<double>(s.absMax), s.sum, s.sumSquares})
        appendBytes(to, x);
    to += probe.saturated ? 's' : '-';
    to += probe.nonfinite ? 'n' : '-';
}

std::string formatName(FormatId format) { return std::string(floatFormat(format).name); }

} // namespace halfscope::test
