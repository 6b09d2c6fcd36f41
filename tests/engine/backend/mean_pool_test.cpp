// SPDX-License-Identifier: GPL-3.0-or-later
#include "support.h"

namespace halfscope::test {
namespace {

struct Case {
    std::int64_t batch;
    std::int64_t length;
    std::int64_t width;
};
const Case kCases[] = {{1, 1, 1}, {3, 1, 17}, {2, 7, 5}, {16, 28, 64}, {4, 49, 33}, {2, 300, 130}};

TEST(MeanPool, ForwardIsTheMean)
{
    for (const Case& c : kCases)
        for (const FormatId in : kFormats) {
            const Tensor x = randomTensor(in, c.batch * c.length, c.width, 1);
            // `length` additions in a chain, the rounding of 1/length, and the product with it.
            Matrix bound = reference::meanPool(magnitude(matrix(x)), c.length);
            for (double& b : bound.v)
                b *= static_cast<double>(c.length + 2) * kEps * 1.01;
            const auto run = [&](Tensor& out, CastProbe* probe) { cpu().meanPoolForward(x, out, probe); };
            for (const FormatId format : kFormats) {
                Guarded out(format, c.batch, c.width);
                run(*out, nullptr);
                expectClose(out, reference::meanPool(matrix(x), c.length), bound, "mean");
            }
            expectProbeOf(run, c.batch, c.width, "mean");
        }
}

TEST(MeanPool, BackwardGivesEachRowItsShare)
{
    for (const Case& c : kCases)
        for (const FormatId in : kFormats) {
            const Tensor dOut = randomTensor(in, c.batch, c.width, 1);
            const Matrix want = reference::meanPoolGradient(matrix(dOut), c.length);
            Matrix bound = magnitude(want);
            for (double& b : bound.v)
                b *= 2.0 * kEps * 1.01; // the rounding of 1/length, and the product with it
            const auto run = [&](Tensor& dx, CastProbe* probe) { cpu().meanPoolBackward(dOut, dx, probe); };
            for (const FormatId format : kFormats) {
                Guarded dx(format, c.batch * c.length, c.width);
                run(*dx, nullptr);
                expectClose(dx, want, bound, "gradient of the mean");
            }
            expectProbeOf(run, c.batch * c.length, c.width, "gradient of the mean");
        }
}

TEST(MeanPool, RejectsRowsThatDoNotDivide)
{
    const Tensor x = randomTensor(FormatId::Fp32, 7, 4, 1);
    Tensor out = cpu().makeTensor(FormatId::Fp32, 2, 4);
    EXPECT_THROW(cpu().meanPoolForward(x, out, nullptr), std::invalid_argument);
    Tensor dx = cpu().makeTensor(FormatId::Fp32, 7, 4);
    EXPECT_THROW(cpu().meanPoolBackward(out, dx, nullptr), std::invalid_argument);
}

TEST(MeanPool, SameBitsForAnyThreadsAndInstructionSet)
{
    for (const FormatId format : kFormats)
        expectSameBytes([&](Backend& backend) {
            const Tensor x = randomTensor(format, 40 * 37, 90, 1);
            Tensor out = backend.makeTensor(format, 40, 90);
            Tensor dx = backend.makeTensor(format, 40 * 37, 90);
            CastProbe probe = measuringProbe(3.0F);
            backend.meanPoolForward(x, out, &probe);
            backend.meanPoolBackward(out, dx, &probe);
            std::string bytes;
            appendBytes(bytes, out);
            appendBytes(bytes, dx);
            appendBytes(bytes, probe);
            return bytes;
        });
}

} // namespace
} // namespace halfscope::test
