// SPDX-License-Identifier: GPL-3.0-or-later
// The check that writes docs/gpu-results.md, on the stand-in: what it finds there is right, its tables are tables, and
// where there is no device it leaves the results of another day alone.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/temporary_folder.h"

namespace halfscope::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuCheck : public ::testing::Test {
protected:
    // Its exit status; what it said is in said().
    int check(const std::string& report, const std::string& problem = {})
    {
        std::string command = std::string("'") + HALFSCOPE_GPU_CHECK + "' '" + report + "'";
        if (!problem.empty())
            command += " '" + problem + "'";
        const int status = std::system((command + " > '" + m_folder.file("said") + "' 2>&1").c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string said() const { return readWholeFile(m_folder.file("said")); }

    TemporaryFolder m_folder;
};

TEST_F(GpuCheck, WritesWhatItFound)
{
    ASSERT_EQ(check(m_folder.file("report.md")), 0) << said();
    const std::string report = readWholeFile(m_folder.file("report.md"));
    EXPECT_THAT(report, HasSubstr("**All checks passed.**"));
    EXPECT_THAT(report, Not(ContainsRegex("failed|nan |inf |Ended early")));
    for (const char* part : {"## Operations against references", "## Training steps against the CPU backend",
                             "## Determinism", "## Memory", "## What the device can do", "## Time of a step"})
        EXPECT_THAT(report, HasSubstr(part));
    // As many cells in every row as in the row above it.
    std::istringstream lines(report);
    std::ptrdiff_t cells = 0;
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool row = line.starts_with("|");
        const std::ptrdiff_t here = row ? std::count(line.begin(), line.end(), '|') : 0;
        if (row && cells > 0) {
            EXPECT_EQ(here, cells) << line;
        }
        cells = here;
        rows += row ? 1 : 0;
    }
    EXPECT_GT(rows, 50);
}

TEST_F(GpuCheck, WithoutADeviceSaysSoInOneSentenceAndWritesNothing)
{
    const std::string file = m_folder.write("report.md", "of another day");
    EXPECT_EQ(check(file, "This machine has no NVIDIA driver."), 3);
    EXPECT_EQ(said(), "There is no GPU to check: This machine has no NVIDIA driver.\n");
    EXPECT_EQ(readWholeFile(m_folder.file("report.md")), "of another day");
}

TEST_F(GpuCheck, AReportThatCannotBeWrittenIsAFailure)
{
    EXPECT_EQ(check(m_folder.file("no/such/folder/report.md")), 1);
    EXPECT_THAT(said(), HasSubstr("cannot be written"));
}

} // namespace
} // namespace halfscope::test
