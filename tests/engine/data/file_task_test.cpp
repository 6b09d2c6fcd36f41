// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/file_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/data/support.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

class FileTaskTest : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& bytes) { return m_folder.write(name, bytes); }
    test::TemporaryFolder m_folder;
};

TEST_F(FileTaskTest, WhatAFileBeginsWithAndItsNameDecide)
{
    const auto taskOf = [&](const std::string& name, const std::string& bytes) {
        return fileTask(write(name, bytes)).task;
    };
    EXPECT_EQ(taskOf("a.txt", "prose"), "language-model");
    EXPECT_EQ(taskOf("no-suffix", "BM is how this text begins"), "language-model");
    EXPECT_EQ(taskOf("UPPER.CSV", "label,text\n"), "csv");
    EXPECT_EQ(taskOf("mine", "\0\0\x08\x03\0\0"s), "idx");
    EXPECT_EQ(taskOf("packed.txt", "\x1f\x8b\x08"s), "idx") << "what it is counts, not what it is called";
    EXPECT_EQ(taskOf("empty.txt", ""), "language-model") << "whose error says that it is empty";
    EXPECT_EQ(fileTask(m_folder.path().string()).task, "idx");
}

TEST_F(FileTaskTest, OfLabelsItIsTheImagesBesideThem)
{
    const std::string labels = write("t-labels-idx1-ubyte", "\0\0\x08\x01"s);
    EXPECT_EQ(fileTask(labels).path, labels) << "there are none: the error names this file";
    const std::string images = write("t-images-idx3-ubyte", "\0\0\x08\x03"s);
    EXPECT_EQ(fileTask(labels).path, images);
    EXPECT_EQ(fileTask(images).path, images);
}

TEST_F(FileTaskTest, SaysWhatCannotBeTrainedOn)
{
    const auto problem = [](const std::string& path) { return test::problemOf([&] { usableFileTask(path, {}); }); };
    for (const std::string& head : {"\x89PNG\r\n"s, "\xFF\xD8\xFF\xE0"s, "GIF89a"s, "BM\0\0"s, "II*\0"s})
        EXPECT_THAT(problem(write("picture", head)), HasSubstr("is a picture"));
    EXPECT_THAT(problem(m_folder.file("none")), HasSubstr("is not there any more"));
    EXPECT_THAT(problem("/dev/null"), HasSubstr("not a regular file"));
    const std::string table = problem(write("x.csv", "1,2,3\n1,2,3\n"));
    EXPECT_THAT(table, testing::EndsWith("; to train on the table as text, open it as a text."));
    EXPECT_THAT(table, HasSubstr("x.csv"));
}

} // namespace
} // namespace halfscope
