// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/precision_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/io/config_json.h"
#include "engine/train/settings_registry.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

TEST(PrecisionSchedule, ReadsAndWritesEntries)
{
    std::string problem;
    const auto schedule = parseSchedule(" 0 : fp32 ; 200:mixed-fp16;; 800:lm_head=FP32;2e:h0.mlp.fc=fp8;", problem);
    ASSERT_TRUE(schedule.has_value()) << problem;
    ASSERT_EQ(schedule->size(), 4U);
    EXPECT_EQ(scheduleText(*schedule), "0:fp32;200:mixed-fp16;800:lm_head=fp32;2e:h0.mlp.fc=fp8");
    EXPECT_EQ((*schedule)[0].step(50), 1);
    EXPECT_EQ((*schedule)[1].step(50), 200);
    EXPECT_EQ((*schedule)[1].key(), "precision");
    EXPECT_EQ((*schedule)[2].key(), "precision.lm_head");
    EXPECT_EQ((*schedule)[2].value(), "fp32");
    EXPECT_EQ((*schedule)[3].step(50), 101) << "after two epochs of 50 steps";
    EXPECT_EQ((*schedule)[3].format, FormatId::Fp8E4M3);
    EXPECT_TRUE(parseSchedule("", problem)->empty());
    EXPECT_EQ(parseSchedule(scheduleText(*schedule), problem), schedule);
}

TEST(PrecisionSchedule, SaysWhatIsWrongWithAnEntry)
{
    const auto problemOf = [](std::string_view text) {
        std::string problem;
        EXPECT_FALSE(parseSchedule(text, problem).has_value()) << text;
        return problem;
    };
    EXPECT_THAT(problemOf("fp32"), HasSubstr("has no colon"));
    EXPECT_THAT(problemOf("0:fp32;x:fp16"), HasSubstr("\"x:fp16\": the step must be an integer"));
    EXPECT_THAT(problemOf("-3:fp32"), HasSubstr("from 0 to"));
    EXPECT_THAT(problemOf("3:fp17"), HasSubstr("there is no preset \"fp17\""));
    EXPECT_THAT(problemOf("3:lm_head=fp17"), HasSubstr("MODULE=FORMAT"));
    EXPECT_THAT(problemOf("99999999999999999999:fp32"), HasSubstr("must be an integer"));
}

TEST(PrecisionSchedule, IsValidatedWithTheModel)
{
    RunConfig config;
    EXPECT_EQ(applySetting(config, "precision-schedule", "5:h9.mlp.fc=fp16;6:loss=fp16;7:h0.attn.core=fp8"),
              std::nullopt);
    const std::vector<std::string> problems = validate(config);
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_THAT(problems[0], HasSubstr("there is no module \"h9.mlp.fc\"; the nearest is h0.mlp.fc"));
    EXPECT_THAT(problems[1], HasSubstr("allowed: fp32."));
    EXPECT_THAT(problems[2], HasSubstr("\"fp8\" is not allowed; allowed: fp32 or tf32 or fp16 or bf16."));
    EXPECT_THAT(*applySetting(config, "precision-schedule", "5:half"), HasSubstr("precision-schedule: \"5:half\""));
}

TEST(PrecisionSchedule, SurvivesAConfigurationFile)
{
    RunConfig config;
    ASSERT_EQ(applySetting(config, "precision-schedule", "0:fp32;9:mixed-bf16"), std::nullopt);
    EXPECT_EQ(configFromJson(configToJson(config), {}), config);
}

} // namespace
} // namespace halfscope
