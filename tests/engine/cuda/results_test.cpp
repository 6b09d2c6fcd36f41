// SPDX-License-Identifier: GPL-3.0-or-later
// How statistics come back: many operations without waiting for the device, all of them right at the end.
#include <limits>
#include <vector>

#include "engine/backend/cuda/cuda_backend.h"
#include "standin_runtime.h"
#include "support.h"

namespace halfscope::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Results, OfMoreOperationsThanBothBanksHoldComeBackWithoutWaitingForTheStream)
{
    standin::reset();
    cuda::CudaBackend backend;
    Tensor clean = backend.makeTensor(FormatId::Fp32, 1, 3);
    Tensor bad = backend.makeTensor(FormatId::Fp32, 1, 3);
    Tensor to = backend.makeTensor(FormatId::Fp16, 1, 3);
    backend.upload(std::vector<float>{1.0F, 2.0F, 3.0F}, clean);
    backend.upload(std::vector<float>{1.0F, kInf, 3.0F}, bad);
    backend.synchronize();
    standin::reset();                         // the counts
    constexpr std::size_t kOperations = 2500; // a bank holds some 1000
    std::vector<CastProbe> probes(kOperations);
    for (std::size_t i = 0; i < kOperations; ++i) {
        probes[i].measure = i % 100 == 0;
        backend.cast(i % 3 == 0 ? bad : clean, to, &probes[i]);
    }
    EXPECT_EQ(standin::calls("cudaStreamSynchronize"), 0U);
    EXPECT_EQ(standin::calls("cudaEventRecord"), 2U) << "two banks are on their way or have come";
    EXPECT_EQ(standin::calls("cudaEventSynchronize"), 1U) << "the first, before it is used again";
    backend.synchronize();
    EXPECT_EQ(standin::calls("cudaStreamSynchronize"), 1U);
    for (std::size_t i = 0; i < kOperations; ++i) {
        ASSERT_EQ(probes[i].nonfinite, i % 3 == 0) << i;
        ASSERT_EQ(probes[i].statistics.count(), i % 100 == 0 ? 3U : 0U) << i;
        if (i % 100 == 0) {
            ASSERT_EQ(probes[i].statistics.sum, i % 3 == 0 ? 4.0 : 6.0) << i;
        }
    }
}

// After an error nobody may be written to that has gone since.
TEST(Results, AreForgottenAfterAnError)
{
    standin::reset();
    cuda::CudaBackend backend;
    const Tensor from = backend.makeTensor(FormatId::Fp32, 1, 3);
    Tensor to = backend.makeTensor(FormatId::Fp16, 1, 3);
    {
        CastProbe gone;
        gone.measure = true;
        backend.cast(from, to, &gone);
        standin::plant("cudaStreamSynchronize", cudaErrorUnknown);
        EXPECT_THROW(backend.synchronize(), BackendError);
    }
    CastProbe probe;
    probe.measure = true;
    EXPECT_NO_THROW(backend.synchronize());
    backend.cast(from, to, &probe);
    backend.synchronize();
    EXPECT_EQ(probe.statistics.count(), 3U);
    standin::reset();
}

} // namespace
} // namespace halfscope::test
