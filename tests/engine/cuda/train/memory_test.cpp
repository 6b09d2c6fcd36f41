// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the device in the course of a run: what changes between steps asks the driver for nothing that was there
// before, what is kept for that goes when it is wanted elsewhere.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/model/transformer.h"
#include "engine/train/trainer.h"
#include "standin_runtime.h"
#include "tests/engine/train/small_run.h"

namespace halfscope::test {
namespace {

class DeviceMemory : public ::testing::Test {
protected:
    void SetUp() override
    {
        standin::reset();
        replaceBackend({"cuda", "CUDA", true, ""}, [](int) { return std::make_unique<cuda::CudaBackend>(); });
    }
    void TearDown() override { standin::reset(); }

    static RunConfig run()
    {
        RunConfig config = smallRun();
        config.backend = "cuda";
        config.threads = 1;
        config.precision = "mixed-fp16";
        config.model.width = 16;
        config.model.depth = 1;
        config.model.context = 8;
        config.model.batch = 2;
        return config;
    }
};

TEST_F(DeviceMemory, ASteadyStepAsksForNone)
{
    Trainer trainer(run());
    trainer.step();
    const std::uint64_t before = standin::calls("cudaMalloc") + standin::calls("cudaFree");
    for (int i = 0; i < 3; ++i)
        trainer.step();
    EXPECT_EQ(standin::calls("cudaMalloc") + standin::calls("cudaFree"), before);
}

TEST_F(DeviceMemory, PrecisionThereAndBackAsksOnceForEach)
{
    Trainer trainer(run());
    const auto stepIn = [&](const char* key, const char* value) {
        trainer.apply(SetSetting{key, value});
        trainer.step();
    };
    const auto thereAndBack = [&] {
        stepIn("precision.lm_head", "fp32");
        stepIn("precision.h0.mlp.fc", "bf16");
        stepIn("precision.lm_head", "fp16");
        stepIn("precision.h0.mlp.fc", "fp16");
    };
    thereAndBack();
    thereAndBack(); // the scratch memory is as large as it gets
    const std::uint64_t before = standin::calls("cudaMalloc");
    const std::uint64_t launches = standin::calls("cudaLaunchKernelEx");
    for (int i = 0; i < 4; ++i)
        thereAndBack();
    EXPECT_GT(standin::calls("cudaLaunchKernelEx"), launches);
    EXPECT_EQ(standin::calls("cudaMalloc"), before);
}

TEST_F(DeviceMemory, NoMoreIsKeptThanIsInUse)
{
    cuda::CudaBackend backend;
    const std::size_t empty = standin::bytesInUse();
    Tensor large = backend.makeTensor(FormatId::Fp32, 100, 100);
    Tensor small = backend.makeTensor(FormatId::Fp32, 10, 10);
    Tensor other = backend.makeTensor(FormatId::Fp32, 10, 10);
    small = {};
    EXPECT_EQ(standin::bytesInUse() - empty, 40800U) << "kept";
    small = backend.makeTensor(FormatId::Fp16, 20, 10);
    EXPECT_EQ(standin::bytesInUse() - empty, 40800U) << "used again: it is as many bytes";
    large = {};
    EXPECT_EQ(standin::bytesInUse() - empty, 800U) << "more than what is in use";
}

TEST_F(DeviceMemory, WhatIsKeptCountsAsFreeAndGoesWhenItIsWanted)
{
    cuda::CudaBackend backend;
    standin::setMemory(standin::bytesInUse() + 100'000);
    const Tensor held = backend.makeTensor(FormatId::Fp32, 100, 100);
    Tensor kept = backend.makeTensor(FormatId::Fp32, 100, 90);
    kept = {};
    EXPECT_EQ(backend.availableMemory(), 60'000.0);
    const Tensor wanted = backend.makeTensor(FormatId::Fp32, 100, 149);
    EXPECT_EQ(backend.availableMemory(), 400.0);
    EXPECT_THROW(backend.makeTensor(FormatId::Fp32, 101, 1), BackendError);
}

TEST_F(DeviceMemory, TensorsMayOutliveTheirBackend)
{
    const std::size_t before = standin::bytesInUse();
    Tensor t;
    {
        cuda::CudaBackend backend;
        t = backend.makeTensor(FormatId::Fp32, 10, 10);
    }
    EXPECT_EQ(standin::bytesInUse() - before, 400U);
    t = {};
    EXPECT_EQ(standin::bytesInUse(), before);
}

} // namespace
} // namespace halfscope::test
