// SPDX-License-Identifier: GPL-3.0-or-later
// Whatever driver, runtime and cuBLAS may answer, at the start or in the middle of a run: one sentence, nothing lost.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/train/trainer.h"
#include "engine/train/training_thread.h"
#include "standin_runtime.h"
#include "tests/engine/train/small_run.h"

namespace halfscope::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Faults : public ::testing::Test {
protected:
    void SetUp() override
    {
        standin::reset();
        replaceBackend({"cuda", "CUDA", true, ""}, [](int) { return std::make_unique<cuda::CudaBackend>(); });
        m_before = standin::bytesInUse();
    }
    void TearDown() override
    {
        standin::reset();
        EXPECT_EQ(standin::bytesInUse(), m_before) << "memory of the device was not given back";
    }

private:
    std::size_t m_before = 0;
};

void expectSentence(const std::string& text)
{
    EXPECT_THAT(text, EndsWith("."));
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_LT(text.size(), 250U) << text;
}

constexpr int kWithFp8 = 90; // a device whose start calls everything

// What a start calls; a new call in it has to be added here.
const char* const kAtStart[] = {"cudaSetDevice",
                                "cudaStreamCreateWithFlags",
                                "cublasCreate",
                                "cublasSetStream",
                                "cudaMalloc",
                                "cublasSetWorkspace",
                                "cudaDriverGetVersion",
                                "cudaGetDeviceProperties",
                                "cublasLtCreate",
                                "cublasLtMatmulDescCreate",
                                "cublasLtMatmulDescSetAttribute",
                                "cublasLtMatrixLayoutCreate",
                                "cublasLtMatmulPreferenceCreate",
                                "cublasLtMatmulPreferenceSetAttribute",
                                "cublasLtMatmulAlgoGetHeuristic",
                                "cudaMallocHost",
                                "cudaEventCreate",
                                "cudaEventCreateWithFlags",
                                "cudaMemsetAsync"};

TEST_F(Faults, AtTheStart)
{
    for (const char* function : kAtStart)
        for (const cudaError_t error :
             {cudaErrorMemoryAllocation, cudaErrorInsufficientDriver, cudaErrorDevicesUnavailable, cudaErrorUnknown}) {
            standin::reset();
            standin::setCapability(kWithFp8);
            standin::plant(function, error);
            try {
                cuda::CudaBackend backend;
                FAIL() << function;
            } catch (const BackendError& failure) {
                expectSentence(failure.what());
                EXPECT_EQ(standin::calls(function), 1U);
            }
        }
}

// Each call of the start, one after the other, once or for good.
TEST_F(Faults, AnyCallOfTheStart)
{
    standin::setCapability(kWithFp8);
    {
        cuda::CudaBackend backend;
    }
    std::uint64_t named = 0;
    for (const char* function : kAtStart)
        named += standin::calls(function);
    std::uint64_t ending = 0;
    for (const char* function :
         {"cudaFree", "cudaFreeHost", "cudaEventDestroy", "cublasLtDestroy", "cublasDestroy", "cudaStreamDestroy"})
        ending += standin::calls(function);
    EXPECT_EQ(standin::allCalls(), named + ending) << "a call that is in neither list";
    for (int skip = 0; skip < static_cast<int>(named); ++skip)
        for (const bool sticky : {false, true}) {
            standin::reset();
            standin::setCapability(kWithFp8);
            standin::plant("*", cudaErrorUnknown, skip, sticky);
            try {
                cuda::CudaBackend backend;
                ADD_FAILURE() << "call " << skip;
            } catch (const BackendError& failure) {
                expectSentence(failure.what());
            }
        }
}

// The end of a backend can fail as well, and that must not end the program.
TEST_F(Faults, AnyCallOfTheEnd)
{
    for (const char* function :
         {"cudaFree", "cudaFreeHost", "cudaEventDestroy", "cublasLtDestroy", "cublasDestroy", "cudaStreamDestroy"}) {
        standin::reset();
        standin::setCapability(kWithFp8);
        {
            cuda::CudaBackend backend;
            const Tensor t = backend.makeTensor(FormatId::Fp16, 10, 10);
            standin::plant(function, cudaErrorIllegalAddress, 0, true);
        }
        EXPECT_GT(standin::calls(function), 0U) << function;
    }
}

// Every allocation of the start, one after the other.
TEST_F(Faults, NoMemoryAtTheStart)
{
    {
        cuda::CudaBackend backend;
    }
    const auto allocations = static_cast<int>(standin::calls("cudaMalloc"));
    EXPECT_GT(allocations, 3);
    for (int skip = 0; skip < allocations; ++skip) {
        standin::reset();
        standin::plant("cudaMalloc", cudaErrorMemoryAllocation, skip);
        EXPECT_THROW(cuda::CudaBackend(), BackendError) << skip;
    }
}

TEST_F(Faults, OutOfMemorySaysWhatIsNeededAndWhatIsFree)
{
    cuda::CudaBackend backend;
    standin::setMemory(standin::bytesInUse() + 3'000'000);
    try {
        backend.makeTensor(FormatId::Fp32, 1000, 1000);
        FAIL();
    } catch (const BackendError& failure) {
        expectSentence(failure.what());
        EXPECT_THAT(failure.what(), HasSubstr("4000000 bytes (4 MB)"));
        EXPECT_THAT(failure.what(), HasSubstr("3 MB of the GPU's"));
    }
    // Nothing is broken by it.
    Tensor t = backend.makeTensor(FormatId::Fp32, 2, 2);
    backend.upload(std::vector<float>{1.0F, 2.0F, 3.0F, 4.0F}, t);
    std::vector<float> got(4);
    backend.download(t, got);
    EXPECT_EQ(got[3], 4.0F);
}

struct Outcome {
    EngineState state = EngineState::Starting;
    std::string failure;
    std::size_t steps = 0;
};

RunConfig smallestRun(const std::string& precision)
{
    RunConfig config = smallRun();
    config.backend = "cuda";
    config.threads = 1;
    config.precision = precision;
    config.model.width = 16;
    config.model.depth = 1;
    config.model.context = 8;
    config.model.batch = 2;
    return config;
}

// Lets a run go until it ends, with a fault planted after `cleanSteps` steps.
Outcome runWithFault(const char* function, cudaError_t error, bool sticky, int cleanSteps,
                     const std::string& precision = "mixed-fp16")
{
    TrainingThread engine(smallestRun(precision), true);
    Outcome outcome;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    const auto waitFor = [&](const auto& done) {
        while (!done() && std::chrono::steady_clock::now() < deadline) {
            Telemetry t;
            engine.drain(t);
            outcome.steps += t.steps.size();
            outcome.state = engine.live().state;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    waitFor([&] { return outcome.state == EngineState::Paused; });
    engine.post(RunSteps{cleanSteps});
    waitFor(
        [&] { return outcome.steps == static_cast<std::size_t>(cleanSteps) && outcome.state == EngineState::Paused; });
    standin::plant(function, error, 5, sticky); // the engine waits for a command now
    engine.post(Resume{});
    waitFor([&] { return outcome.state == EngineState::Failed; });
    const EngineState ended = outcome.state;
    outcome.failure = engine.live().failure;
    Telemetry last;
    engine.drain(last);
    outcome.steps += last.steps.size();
    EXPECT_TRUE(engine.live().canContinue);
    engine.post(Continue{});
    const std::size_t before = outcome.steps;
    waitFor([&] { return outcome.steps >= before + 2; });
    EXPECT_GE(outcome.steps, before + 2) << "it goes on on the CPU";
    EXPECT_EQ(engine.info().backendKey, "cpu");
    outcome.state = ended;
    return outcome;
}

TEST_F(Faults, InTheMiddleOfARunEndItWithTheReasonAndKeepItsData)
{
    struct Case {
        const char* function;
        cudaError_t error;
        bool sticky;
    };
    const Case cases[] = {{"cudaLaunchKernelEx", cudaErrorLaunchOutOfResources, false},
                          {"cudaLaunchKernelEx", cudaErrorIllegalAddress, true},
                          {"cudaStreamSynchronize", cudaErrorIllegalAddress, true},
                          {"cudaStreamSynchronize", cudaErrorECCUncorrectable, true},
                          {"cudaStreamSynchronize", cudaErrorLaunchFailure, true},
                          {"cudaMemcpyAsync", cudaErrorUnknown, false},
                          {"cudaMemsetAsync", cudaErrorUnknown, false},
                          {"cudaEventRecord", cudaErrorUnknown, false},
                          {"cudaEventElapsedTime", cudaErrorUnknown, false},
                          {"cublasGemmStridedBatchedEx", cudaErrorUnknown, false},
                          {"cublasGemmStridedBatchedEx", cudaErrorMemoryAllocation, false}};
    for (const Case& c : cases) {
        standin::reset();
        const Outcome outcome = runWithFault(c.function, c.error, c.sticky, 2);
        EXPECT_EQ(outcome.state, EngineState::Failed) << c.function;
        EXPECT_THAT(outcome.failure, StartsWith("failed at step ")) << c.function;
        expectSentence(outcome.failure);
        EXPECT_GE(outcome.steps, 2U) << "the steps before it are kept";
        if (c.sticky) {
            EXPECT_THAT(outcome.failure, HasSubstr("GPU stopped working")) << c.function;
        }
    }
}

TEST_F(Faults, OfAnFp8ProductEndARunWithTheReason)
{
    standin::setCapability(kWithFp8);
    const Outcome outcome = runWithFault("cublasLtMatmul", cudaErrorUnknown, false, 1, "fp8");
    EXPECT_EQ(outcome.state, EngineState::Failed);
    EXPECT_THAT(outcome.failure, HasSubstr("multiplying matrices"));
    expectSentence(outcome.failure);
}

// Any call of a step, the first, the last and every fifth between them, with every kind of answer.
TEST_F(Faults, AnyCallOfAStepIsASentence)
{
    struct Answer {
        cudaError_t error;
        bool sticky;
    };
    constexpr Answer kAnswers[] = {{cudaErrorUnknown, false},
                                   {cudaErrorMemoryAllocation, false},
                                   {cudaErrorIllegalAddress, true},
                                   {cudaErrorECCUncorrectable, true}};
    int calls = 0;
    {
        Trainer trainer(smallestRun("mixed-fp16"));
        trainer.step();
        const std::uint64_t before = standin::allCalls();
        trainer.step();
        calls = static_cast<int>(standin::allCalls() - before);
    }
    ASSERT_GT(calls, 50);
    std::vector<int> places = {calls - 1};
    for (int skip = 0; skip < calls - 1; skip += 5)
        places.push_back(skip);
    int turn = 0;
    for (const int skip : places) {
        standin::reset();
        Trainer trainer(smallestRun("mixed-fp16"));
        trainer.step();
        const Answer& answer = kAnswers[turn++ % 4];
        standin::plant("*", answer.error, skip, answer.sticky);
        try {
            trainer.step();
            ADD_FAILURE() << "call " << skip;
        } catch (const BackendError& failure) {
            expectSentence(failure.what());
        }
    }
}

// A format that needs more memory than there is: the run that asked for it fails with what is needed and what is free.
TEST_F(Faults, NoMemoryForAnotherPrecisionIsASentence)
{
    Trainer trainer(smallestRun("mixed-fp16"));
    trainer.step();
    standin::setMemory(standin::bytesInUse());
    std::string said;
    try {
        trainer.apply(SetSetting{"precision", "fp32"});
        trainer.step();
    } catch (const BackendError& failure) {
        said = failure.what();
    }
    expectSentence(said);
    EXPECT_THAT(said, HasSubstr("Out of GPU memory"));
}

// After an error that the device does not recover from everything fails, also tidying up, and that must not end the
// program.
TEST_F(Faults, ALostDeviceIsLeftQuietly)
{
    {
        cuda::CudaBackend backend;
        Tensor t = backend.makeTensor(FormatId::Fp16, 100, 100);
        standin::plant("cudaStreamSynchronize", cudaErrorIllegalAddress, 0, true);
        EXPECT_THROW(backend.synchronize(), BackendError);
        EXPECT_THROW(backend.fillZero(t), BackendError);
        EXPECT_THROW(backend.makeTensor(FormatId::Fp32, 1, 1), BackendError);
        EXPECT_THROW(cuda::CudaBackend(), BackendError);
    }
    standin::reset();
    EXPECT_NO_THROW(cuda::CudaBackend());
}

} // namespace
} // namespace halfscope::test
