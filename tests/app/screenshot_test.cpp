// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope --screenshot`: a picture of the whole window, and not a word besides.
#include <cstdint>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/app/process.h"

namespace halfscope::test {
namespace {

const std::vector<std::pair<std::string, std::string>> kNoDisplay = {{"DISPLAY", ""}, {"WAYLAND_DISPLAY", ""}};

// A big-endian number in a PNG's header.
std::uint32_t numberAt(const std::string& bytes, std::size_t offset)
{
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = number << 8U | static_cast<std::uint8_t>(bytes.at(offset + i));
    return number;
}

TEST(Screenshot, SavesAPictureOfTheAskedSizeQuietly)
{
    const TemporaryFolder folder;
    const std::string path = folder / "window.png";
    const ProcessResult r = run({"--screenshot", path, "--steps", "2", "--size", "1300x800", "--set", "width=16"},
                                {.environment = kNoDisplay});
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, ""); // Qt would speak of a resource that is not there, a font, a plugin
    const std::string png = readFile(path);
    ASSERT_GT(png.size(), 10'000U);
    EXPECT_EQ(png.substr(1, 3), "PNG");
    EXPECT_EQ(numberAt(png, 16), 1300U);
    EXPECT_EQ(numberAt(png, 20), 800U);
}

TEST(Screenshot, AFolderThatIsNotThereIsOneSentence)
{
    const TemporaryFolder folder;
    const ProcessResult r =
        run({"--screenshot", folder / "nowhere/window.png", "--steps", "1"}, {.environment = kNoDisplay});
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, testing::HasSubstr("Cannot write \"" + folder / "nowhere/window.png" + "\""));
    EXPECT_EQ(lines(r.err).size(), 1U);
}

// A device may not be replaced by a file, which is what renaming over it would do.
TEST(Screenshot, ADeviceIsRefused)
{
    const TemporaryFolder folder;
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const ProcessResult r =
        run({"--screenshot", pipe, "--steps", "1", "--set", "width=16"}, {.environment = kNoDisplay});
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, testing::HasSubstr("not a regular file"));
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(Window, WithoutADisplaySaysSo)
{
    auto environment = kNoDisplay;
    environment.emplace_back("QT_QPA_PLATFORM", "");
    const ProcessResult r = run({}, {.environment = environment});
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, testing::HasSubstr("there is no display"));
    EXPECT_EQ(lines(r.err).size(), 1U);
}

} // namespace
} // namespace halfscope::test
