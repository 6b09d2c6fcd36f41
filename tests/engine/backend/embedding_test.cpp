// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "engine/core/rng.h"
#include "support.h"

namespace halfscope::test {
namespace {

struct Case {
    std::int64_t tokens; // N
    std::int64_t context;
    std::int64_t vocabulary;
    std::int64_t width;
};
const Case kCases[] = {{1, 1, 1, 1}, {12, 4, 7, 5}, {96, 32, 91, 33}, {300, 50, 3, 64}, {5, 3, 4, 9000}};

std::vector<std::int32_t> randomTokens(const Case& c)
{
    Rng rng(5);
    std::vector<std::int32_t> tokens;
    for (std::int64_t n = 0; n < c.tokens; ++n)
        tokens.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(c.vocabulary))));
    return tokens;
}

TEST(Embedding, ForwardAddsTokenAndPosition)
{
    for (const Case& c : kCases)
        for (const FormatId table : kFormats) {
            const std::vector<std::int32_t> tokens = randomTokens(c);
            const Tensor token = randomTensor(table, c.vocabulary, c.width, 1);
            const Tensor position = randomTensor(table, c.context, c.width, 2);
            const Matrix want = reference::embedding(tokens, matrix(token), {}, matrix(position));
            Matrix bound = magnitude(want);
            for (double& x : bound.v)
                x *= kEps; // one addition
            const auto run = [&](Tensor& out, CastProbe* probe) {
                cpu().embeddingForward(tokens, token, {}, position, out, probe);
            };
            for (const FormatId format : kFormats) {
                Guarded out(format, c.tokens, c.width);
                run(*out, nullptr);
                expectClose(out, want, bound, "embedding");
            }
            expectProbeOf(run, c.tokens, c.width, "embedding");
        }
}

// Sequences of some patches and then some tokens, of patches alone, and any mixture.
TEST(Embedding, PatchesTakeThePlacesWithoutTokens)
{
    const std::vector<std::vector<std::int32_t>> all = {
        {-1, -1, 3, 1, -1, -1, 0, 2, -1, -1, 3, 3}, {-1, -1, -1, -1}, {0, -1, 1, -1, -1, 2, 3, 0}};
    constexpr std::int64_t kWidth = 37;
    for (const std::vector<std::int32_t>& tokens : all)
        for (const FormatId table : kFormats) {
            const auto rows = static_cast<std::int64_t>(tokens.size());
            const Tensor token = randomTensor(table, 4, kWidth, 1);
            const Tensor patches = randomTensor(table, std::count(tokens.begin(), tokens.end(), -1), kWidth, 2);
            const Tensor position = randomTensor(table, 4, kWidth, 3);
            const Matrix want = reference::embedding(tokens, matrix(token), matrix(patches), matrix(position));
            Matrix bound = magnitude(want);
            for (double& x : bound.v)
                x *= kEps; // one addition
            const auto run = [&](Tensor& out, CastProbe* probe) {
                cpu().embeddingForward(tokens, token, patches, position, out, probe);
            };
            for (const FormatId format : kFormats) {
                Guarded out(format, rows, kWidth);
                run(*out, nullptr);
                expectClose(out, want, bound, "embedding of patches");
            }
            expectProbeOf(run, rows, kWidth, "embedding of patches");
        }
}

TEST(Embedding, RejectsPatchesThatAreTooManyOrTooFew)
{
    const Tensor token = randomTensor(FormatId::Fp32, 4, 8, 1);
    const Tensor position = randomTensor(FormatId::Fp32, 2, 8, 1);
    Tensor out = cpu().makeTensor(FormatId::Fp32, 2, 8);
    for (const std::int64_t patches : {0, 2}) {
        const Tensor wrong = randomTensor(FormatId::Fp32, patches, 8, 1);
        EXPECT_THROW(cpu().embeddingForward(std::vector<std::int32_t>{-1, 0}, token, wrong, position, out, nullptr),
                     std::invalid_argument);
    }
}

TEST(GatherRows, TakesRowsInAnyOrder)
{
    const std::vector<std::int32_t> rows = {4, 0, 4, 2};
    for (const FormatId in : kFormats) {
        const Tensor from = randomTensor(in, 5, 71, 1);
        const Matrix f = matrix(from);
        Matrix want(4, 71);
        for (std::int64_t i = 0; i < 4; ++i)
            for (std::int64_t c = 0; c < 71; ++c)
                want.at(i, c) = f.at(rows[static_cast<std::size_t>(i)], c);
        const auto run = [&](Tensor& to, CastProbe* probe) { cpu().gatherRows(from, rows, to, probe); };
        for (const FormatId format : kFormats) {
            Guarded to(format, 4, 71);
            run(*to, nullptr);
            expectClose(to, want, Matrix(4, 71), "rows");
        }
        expectProbeOf(run, 4, 71, "rows");
    }
    Tensor to = cpu().makeTensor(FormatId::Fp32, 1, 71);
    for (const std::int32_t bad : {-1, 5})
        EXPECT_THROW(
            cpu().gatherRows(randomTensor(FormatId::Fp32, 5, 71, 1), std::vector<std::int32_t>{bad}, to, nullptr),
            std::invalid_argument);
}

// n additions in a chain for a row that n tokens share.
Matrix sumBound(Matrix magnitudes, std::int64_t n)
{
    for (double& x : magnitudes.v)
        x *= static_cast<double>(n) * kEps * 1.01;
    return magnitudes;
}

TEST(Embedding, GradientsSumOverTheirTokens)
{
    for (const Case& c : kCases)
        for (const FormatId format : kFormats) {
            const std::vector<std::int32_t> tokens = randomTokens(c);
            const Tensor dOut = randomTensor(format, c.tokens, c.width, 3);
            const Matrix d = matrix(dOut);
            const auto token = [&](Tensor& out, CastProbe* probe) {
                cpu().tokenEmbeddingBackward(tokens, dOut, out, probe);
            };
            const auto position = [&](Tensor& out, CastProbe* probe) {
                cpu().positionEmbeddingBackward(dOut, out, probe);
            };
            for (const FormatId to : kFormats) {
                Guarded dToken(to, c.vocabulary, c.width);
                token(*dToken, nullptr);
                expectClose(dToken, reference::tokenEmbeddingGradient(tokens, d, c.vocabulary),
                            sumBound(reference::tokenEmbeddingGradient(tokens, magnitude(d), c.vocabulary), c.tokens),
                            "token gradient");
                Guarded dPosition(to, c.context, c.width);
                position(*dPosition, nullptr);
                expectClose(dPosition, reference::positionEmbeddingGradient(d, c.context),
                            sumBound(reference::positionEmbeddingGradient(magnitude(d), c.context), c.tokens),
                            "position gradient");
            }
            expectProbeOf(token, c.vocabulary, c.width, "token gradient");
            expectProbeOf(position, c.context, c.width, "position gradient");
        }
}

// The order is part of the definition: n = 0, 1, 2, ...
TEST(Embedding, GradientIsSummedInFp32InOrder)
{
    const Case c{200, 50, 4, 19};
    const std::vector<std::int32_t> tokens = randomTokens(c);
    const Tensor dOut = randomTensor(FormatId::Fp32, c.tokens, c.width, 3);
    const std::vector<float> d = floats(dOut);
    std::vector<float> want(static_cast<std::size_t>(c.vocabulary * c.width), 0.0F);
    for (std::size_t n = 0; n < tokens.size(); ++n)
        for (std::size_t j = 0; j < 19; ++j)
            want[static_cast<std::size_t>(tokens[n]) * 19 + j] += d[n * 19 + j];
    Guarded dToken(FormatId::Fp32, c.vocabulary, c.width);
    cpu().tokenEmbeddingBackward(tokens, dOut, *dToken, nullptr);
    EXPECT_EQ(floats(*dToken), want);
}

TEST(Embedding, RejectsTokensOutsideTheVocabulary)
{
    const Tensor token = randomTensor(FormatId::Fp32, 4, 8, 1);
    const Tensor position = randomTensor(FormatId::Fp32, 2, 8, 1);
    Tensor out = cpu().makeTensor(FormatId::Fp32, 2, 8);
    for (const std::int32_t bad : {-1, 4}) {
        const std::vector<std::int32_t> tokens = {0, bad};
        EXPECT_THROW(cpu().embeddingForward(tokens, token, {}, position, out, nullptr), std::invalid_argument);
        Tensor d = cpu().makeTensor(FormatId::Fp32, 4, 8);
        EXPECT_THROW(cpu().tokenEmbeddingBackward(tokens, out, d, nullptr), std::invalid_argument);
    }
}

TEST(Embedding, SameBitsForAnyThreadsAndInstructionSet)
{
    const Case c{900, 60, 91, 130};
    const std::vector<std::int32_t> tokens = randomTokens(c);
    for (const FormatId format : kFormats)
        expectSameBytes([&](Backend& backend) {
            const Tensor token = randomTensor(format, c.vocabulary, c.width, 1);
            const Tensor position = randomTensor(format, c.context, c.width, 2);
            Tensor out = backend.makeTensor(format, c.tokens, c.width);
            Tensor dToken = backend.makeTensor(format, c.vocabulary, c.width);
            Tensor dPosition = backend.makeTensor(format, c.context, c.width);
            CastProbe probe = measuringProbe(3.0F);
            backend.embeddingForward(tokens, token, {}, position, out, &probe);
            backend.tokenEmbeddingBackward(tokens, out, dToken, &probe);
            backend.positionEmbeddingBackward(out, dPosition, &probe);
            std::string bytes;
            appendBytes(bytes, out);
            appendBytes(bytes, dToken);
            appendBytes(bytes, dPosition);
            std::vector<std::int32_t> places; // every third one, then the same again
            for (std::int32_t n = 0; n < c.tokens; n += 3)
                places.push_back(n);
            places.insert(places.end(), places.begin(), places.end());
            Tensor patches = backend.makeTensor(format, static_cast<std::int64_t>(places.size()), c.width);
            backend.gatherRows(out, places, patches, &probe);
            std::vector<std::int32_t> mixed(tokens);
            std::fill_n(mixed.begin(), patches.rows(), -1);
            backend.embeddingForward(mixed, token, patches, position, out, &probe);
            appendBytes(bytes, patches);
            appendBytes(bytes, out);
            appendBytes(bytes, probe);
            return bytes;
        });
}

} // namespace
} // namespace halfscope::test
