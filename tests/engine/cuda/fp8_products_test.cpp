// SPDX-License-Identifier: GPL-3.0-or-later
// FP8 on a device that multiplies it natively, and what is emulated on it all the same. cuBLASLt's stand-in adds in the
// same order as cuBLAS's, so both must give the same bits.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/cuda/cuda_backend.h"
#include "standin_runtime.h"
#include "support.h"

namespace halfscope::test {
namespace {

class Fp8Products : public ::testing::Test {
protected:
    void SetUp() override { standin::reset(); }
    void TearDown() override { standin::reset(); }

    static std::unique_ptr<Backend> device(int capability)
    {
        standin::setCapability(capability);
        return std::make_unique<cuda::CudaBackend>();
    }
};

constexpr FormatId kFp8[] = {FormatId::Fp8E4M3, FormatId::Fp8E5M2};

TEST_F(Fp8Products, AreNativeFromAdaOn)
{
    for (const auto& [capability, native] :
         {std::pair{75, false}, {80, false}, {86, false}, {89, true}, {90, true}, {120, true}}) {
        const std::unique_ptr<Backend> backend = device(capability);
        for (const FormatId format : kFp8) {
            EXPECT_EQ(backend->multipliesNatively(format), native) << capability;
            EXPECT_FALSE(backend->attendsNatively(format)) << "attention's products are emulated everywhere";
        }
        EXPECT_EQ(backend->attendsNatively(FormatId::Bf16), capability >= 80);
    }
}

// A device of the right number whose cuBLASLt knows no FP8 product says so, and works.
TEST_F(Fp8Products, AreEmulatedWhereTheLibraryHasNone)
{
    standin::setCapability(90);
    standin::plant("cublasLtMatmulAlgoGetHeuristic", cudaErrorNoKernelImageForDevice);
    const cuda::CudaBackend backend;
    EXPECT_FALSE(backend.multipliesNatively(FormatId::Fp8E4M3));
    EXPECT_TRUE(backend.multipliesNatively(FormatId::Bf16));
}

struct Sizes {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

// Bytes of every way to multiply: with and without a bias, statistics and scales, into FP32 and BF16.
std::string products(Backend& backend, FormatId fa, FormatId fb, const Sizes& s, bool ta, bool tb)
{
    Tensor a = backend.makeTensor(fa, ta ? s.k : s.m, ta ? s.m : s.k);
    Tensor b = backend.makeTensor(fb, tb ? s.n : s.k, tb ? s.k : s.n);
    Tensor bias = backend.makeTensor(FormatId::Bf16, 1, s.n);
    std::uint64_t seed = 1;
    for (Tensor* t : {&a, &b, &bias})
        backend.upload(floats(randomTensor(FormatId::Fp32, t->rows(), t->cols(), seed++)), *t);
    std::string bytes;
    const auto keep = [&](const Tensor& t) {
        std::vector<float> values(static_cast<std::size_t>(t.size()));
        backend.download(t, values);
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    };
    Tensor plain = backend.makeTensor(FormatId::Fp32, s.m, s.n);
    backend.gemm({.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = plain});
    keep(plain);
    Tensor c = backend.makeTensor(FormatId::Bf16, s.m, s.n);
    CastProbe probe = measuringProbe(0x1p-3F, 0x1p3F);
    backend.gemm(
        {.a = a, .transposeA = ta, .b = b, .transposeB = tb, .c = c, .bias = &bias, .alpha = 0x1p-5F, .probe = &probe});
    keep(c);
    appendBytes(bytes, probe);
    return bytes;
}

TEST_F(Fp8Products, EqualTheEmulatedOnesWhicheverWayTheFactorsLie)
{
    const std::unique_ptr<Backend> native = device(89);
    const std::unique_ptr<Backend> emulated = device(80);
    standin::setCapability(89); // of the library
    for (const FormatId fa : kFp8)
        for (const FormatId fb : kFp8)
            for (const bool ta : {false, true})
                for (const bool tb : {false, true})
                    for (const Sizes& s : {Sizes{7, 48, 32}, Sizes{64, 16, 80}, Sizes{1, 16, 16}, Sizes{33, 208, 48},
                                           Sizes{16, 17, 32}, Sizes{16, 32, 20}, Sizes{5, 16, 0}}) {
                        const std::uint64_t before = standin::calls("cublasLtMatmul");
                        const std::string got = products(*native, fa, fb, s, ta, tb);
                        const std::uint64_t asked = standin::calls("cublasLtMatmul") - before;
                        const bool taken = s.k > 0 && s.k % 16 == 0 && s.n % 16 == 0 &&
                                           !(fa == FormatId::Fp8E5M2 && fb == FormatId::Fp8E5M2);
                        EXPECT_EQ(asked, taken ? 2U : 0U) << s.m << " x " << s.n << " x " << s.k;
                        const bool same = got == products(*emulated, fa, fb, s, ta, tb);
                        EXPECT_TRUE(same)
                            << s.m << " x " << s.n << " x " << s.k << (ta ? ", a" : "") << (tb ? ", b" : "");
                        EXPECT_EQ(standin::calls("cublasLtMatmul") - before, asked);
                    }
}

TEST_F(Fp8Products, AskForAnAlgorithmOnceAShape)
{
    const std::unique_ptr<Backend> backend = device(90);
    products(*backend, FormatId::Fp8E4M3, FormatId::Fp8E4M3, {8, 16, 16}, false, true); // another shape
    const std::uint64_t before = standin::calls("cublasLtMatmulAlgoGetHeuristic");
    for (int turn = 0; turn < 3; ++turn)
        products(*backend, FormatId::Fp8E4M3, FormatId::Fp8E4M3, {8, 16, 32}, false, true);
    EXPECT_EQ(standin::calls("cublasLtMatmulAlgoGetHeuristic") - before, 1U);
}

TEST_F(Fp8Products, OtherFormatsAreMultipliedAsEver)
{
    const std::unique_ptr<Backend> backend = device(90);
    products(*backend, FormatId::Fp8E4M3, FormatId::Fp16, {16, 16, 16}, false, true);
    products(*backend, FormatId::Bf16, FormatId::Bf16, {16, 16, 16}, false, true);
    EXPECT_EQ(standin::calls("cublasLtMatmul"), 0U);
}

} // namespace
} // namespace halfscope::test
