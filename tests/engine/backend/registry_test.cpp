// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/backend_registry.h"
#include "support.h"

namespace halfscope::test {
namespace {

TEST(Registry, ListsAndMakesBackends)
{
    const std::vector<BackendInfo> backends = listBackends();
    ASSERT_FALSE(backends.empty());
    EXPECT_EQ(backends[0].key, "cpu");
    EXPECT_TRUE(backends[0].available);
    for (const BackendInfo& info : backends) {
        if (info.available)
            EXPECT_EQ(makeBackend(info.key, 1)->name(), info.name);
        else {
            EXPECT_FALSE(info.reason.empty());
            EXPECT_THROW(makeBackend(info.key), BackendError);
        }
    }
    try {
        makeBackend("abacus");
        FAIL();
    } catch (const BackendError& error) {
        EXPECT_NE(std::string(error.what()).find("abacus"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("cpu"), std::string::npos);
    }
}

TEST(Registry, DescriptionNamesInstructionSetAndThreads)
{
    const SimdLevel before = activeSimdLevel();
    setSimdLevel(SimdLevel::Portable);
    EXPECT_EQ(makeBackend("cpu", 2)->description(), "CPU · portable · 2 threads (FP16 emulated, exact)");
    EXPECT_EQ(makeBackend("cpu", 1)->description(), "CPU · portable · 1 thread (FP16 emulated, exact)");
    setSimdLevel(before);
}

} // namespace
} // namespace halfscope::test
