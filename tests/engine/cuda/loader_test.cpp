// SPDX-License-Identifier: GPL-3.0-or-later
// From the program to the module: every reason why there is no GPU to compute on is one sentence. Driver and module are
// small libraries made for this test (fakes/), which answer as they are told through the environment.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cuda/cuda_loader.h"

namespace halfscope::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// Sets what the fake driver answers.
CudaDriver driver(const char* initAnswer, const char* version, const char* devices, int needed = 13000)
{
    ::setenv("HALFSCOPE_FAKE_INIT", initAnswer, 1);
    ::setenv("HALFSCOPE_FAKE_VERSION", version, 1);
    ::setenv("HALFSCOPE_FAKE_DEVICES", devices, 1);
    return probeCudaDriver(HALFSCOPE_FAKE_DRIVER, needed);
}

TEST(CudaDriver, ThatIsThere)
{
    const CudaDriver found = driver("0", "13010", "2");
    EXPECT_EQ(found.problem, "");
    EXPECT_EQ(found.version, 13010);
    EXPECT_EQ(found.devices, 2);
}

TEST(CudaDriver, EveryAnswerThatRulesItOutIsASentence)
{
    const struct {
        CudaDriver driver;
        const char* says;
    } cases[] = {
        {probeCudaDriver("libcuda-that-is-not-there.so.1", 13000), "no NVIDIA driver"},
        {probeCudaDriver(HALFSCOPE_FAKE_OTHER, 13000), "lacks functions"},
        {driver("0", "12020", "1"), "supports CUDA 12.2, and this build of HalfScope needs CUDA 13.0"},
        {driver("100", "13000", "0"), "sees no GPU"},
        {driver("0", "13000", "0"), "sees no GPU"},
        {driver("999", "13000", "1"), "its error 999"},
        {driver("803", "13000", "1"), "its error 803"},
    };
    for (const auto& c : cases) {
        EXPECT_THAT(c.driver.problem, HasSubstr(c.says));
        EXPECT_THAT(c.driver.problem, EndsWith("."));
    }
}

TEST(CudaModule, ThatCannotBeUsedSaysWhy)
{
    const struct {
        const char* path;
        const char* says;
    } cases[] = {
        {"/no/such/libhalfscope_cuda.so", "cannot be loaded"},
        {HALFSCOPE_FAKE_DRIVER, "is not a CUDA module of HalfScope"},
        {HALFSCOPE_FAKE_OTHER, "another version of HalfScope"},
    };
    for (const auto& c : cases) {
        std::string problem;
        EXPECT_EQ(loadCudaModule(c.path, problem), nullptr);
        EXPECT_THAT(problem, HasSubstr(c.says));
        EXPECT_THAT(problem, EndsWith("."));
    }
}

#ifdef HALFSCOPE_REAL_MODULE
// The module itself, as nvcc made it. It can be loaded where there is no driver, and says then what is missing.
TEST(CudaModule, ThatWasBuiltIsAccepted)
{
    std::string problem;
    const CudaModule* module = loadCudaModule(HALFSCOPE_REAL_MODULE, problem);
    ASSERT_NE(module, nullptr) << problem;
    if (!cudaProblem().empty()) {
        EXPECT_THROW(module->make(0), BackendError) << "an exception crosses the seam as what it is";
        return;
    }
    EXPECT_FALSE(module->devices().empty());
    EXPECT_EQ(module->make(0)->name(), "CUDA");
}
#endif

TEST(Registry, GivesTheReasonForCuda)
{
    for (const BackendInfo& info : listBackends()) {
        if (info.key != "cuda" || info.available)
            continue;
        EXPECT_THAT(info.reason, EndsWith("."));
        EXPECT_THROW(makeBackend("cuda"), BackendError);
    }
}

} // namespace
} // namespace halfscope::test
