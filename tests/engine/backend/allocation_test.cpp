// SPDX-License-Identifier: GPL-3.0-or-later
#include "allocation_counter.h"
#include "engine/backend/backend_registry.h"
#include "support.h"

namespace halfscope::test {
namespace {

TEST(Allocation, ASteadyStepAllocatesNothing)
{
    const std::unique_ptr<Backend> backend = makeBackend("cpu", 1);
    const AttentionShape shape{4, 50, 2, 24, true};
    const std::int64_t n = 200;
    const std::int64_t c = 48;
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(n), 7);
    for (const FormatId format : kFormats) {
        const Tensor table = randomTensor(format, 96, c, 1);
        const Tensor position = randomTensor(format, 50, c, 2);
        const Tensor gain = randomTensor(format, 1, c, 3);
        const Tensor weight = randomTensor(format, 3 * c, c, 4);
        const Tensor bias = randomTensor(format, 1, 3 * c, 5);
        Tensor x = backend->makeTensor(format, n, c);
        Tensor y = backend->makeTensor(format, n, c);
        Tensor mean = backend->makeTensor(FormatId::Fp32, n, 1);
        Tensor rstd = backend->makeTensor(FormatId::Fp32, n, 1);
        Tensor qkv = backend->makeTensor(format, n, 3 * c);
        Tensor activated = backend->makeTensor(format, n, 3 * c);
        Tensor p = backend->makeTensor(format, n * 2, 50);
        Tensor dWeight = backend->makeTensor(format, 3 * c, c);
        Tensor dTable = backend->makeTensor(format, 96, c);
        Tensor dPosition = backend->makeTensor(format, 50, c);
        Tensor row = backend->makeTensor(format, 1, c);
        Tensor wide = backend->makeTensor(FormatId::Fp32, 3 * c, c);
        Tensor master = backend->makeTensor(FormatId::Fp32, 3 * c, c);
        Tensor moment1 = backend->makeTensor(FormatId::Fp32, 3 * c, c);
        Tensor moment2 = backend->makeTensor(FormatId::Fp32, 3 * c, c);
        CastProbe probe = measuringProbe();
        const auto step = [&] {
            backend->embeddingForward(tokens, table, {}, position, x, &probe);
            backend->layerNormForward(x, gain, gain, y, mean, rstd, &probe);
            backend->gemm({.a = y,
                           .b = weight,
                           .transposeB = true,
                           .c = qkv,
                           .bias = &bias,
                           .epilogue = Epilogue::Activate,
                           .activated = &activated,
                           .probe = &probe,
                           .activatedProbe = &probe});
            backend->attentionForward(shape, format, qkv, y, p, &probe);
            backend->crossEntropy(y, tokens, 8.0F, &x, &probe);
            backend->attentionBackward(shape, format, x, qkv, p, activated, &probe);
            backend->gemm({.a = activated, .transposeA = true, .b = x, .c = dWeight, .probe = &probe});
            backend->layerNormBackward(x, y, gain, mean, rstd, &x, x, &probe, row, row, &probe);
            backend->columnSum(x, row, &probe);
            backend->dropout(x, y, 0.1F, 3, &probe);
            backend->add(x, y, x, nullptr);
            backend->cast(x, y, &probe);
            backend->tokenEmbeddingBackward(tokens, x, dTable, &probe);
            backend->positionEmbeddingBackward(x, dPosition, &probe);
            backend->unscale(dWeight, 0.125F, wide);
            backend->adamw({}, wide, master, moment1, moment2);
        };
        // One thread: with more, a worker's scratch grows when it first happens to get a chunk of a kind.
        for (int i = 0; i < 3; ++i)
            step();
        const long before = allocationCount();
        EXPECT_GT(before, 0);
        for (int i = 0; i < 20; ++i)
            step();
        EXPECT_EQ(allocationCount() - before, 0) << formatName(format);
    }
}

} // namespace
} // namespace halfscope::test
