// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/memory.h"

#include <string>

#include <gtest/gtest.h>

#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {
namespace {

TEST(Memory, TheSystemSaysHowMuchIsFree)
{
    const std::optional<double> free = availableMemory();
    ASSERT_TRUE(free.has_value());
    EXPECT_GT(*free, 1e6);
    EXPECT_LT(*free, 1e15);
}

// Refused before anything is allocated: the system would kill the program, and with it the window.
TEST(Memory, AModelThatCannotFitIsOneSentence)
{
    RunConfig config = smallRun();
    config.model.width = 16384;
    config.model.heads = 16;
    config.model.depth = 200;
    try {
        const Trainer trainer(config);
        FAIL() << "645 billion parameters fit";
    } catch (const std::runtime_error& error) {
        const std::string sentence = error.what();
        EXPECT_NE(sentence.find("GB of memory"), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("choose a smaller model"), std::string::npos) << sentence;
    }
}

} // namespace
} // namespace halfscope
