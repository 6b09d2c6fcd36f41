// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

using testing::HasSubstr;

TEST(InfoVerb, SaysWhyABackendIsMissing)
{
    // oneDNN believes this about the processor; a build without it has another reason.
    const ProcessOptions old = {.environment = {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}};
    const ProcessResult info = run({"info"}, old);
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_THAT(info.out, testing::ContainsRegex("onednn +oneDNN +no: This (processor|build) [^\n]*\\."));
    EXPECT_THAT(info.out, testing::ContainsRegex("cpu +CPU +yes"));

    const TemporaryFolder folder;
    const ProcessResult train = run({"train", "--steps", "1", "--csv", folder / "run", "--set", "backend=onednn"}, old);
    EXPECT_NE(train.status, 0);
    EXPECT_THAT(train.err, HasSubstr("oneDNN cannot be used: This "));
    EXPECT_EQ(lines(train.err).size(), 1U);
}

} // namespace
} // namespace halfscope::test
