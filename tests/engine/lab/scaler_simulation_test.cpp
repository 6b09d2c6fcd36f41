// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/scaler_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

namespace halfscope {
namespace {

std::string refusal(std::string_view text)
{
    try {
        parseOverflows(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

TEST(ParseOverflows, DotsAndCrosses)
{
    EXPECT_EQ(parseOverflows("..xX."), (std::vector<bool>{false, false, true, true, false}));
    EXPECT_EQ(parseOverflows(" .\n x\r\n\t."), (std::vector<bool>{false, true, false}));
}

TEST(ParseOverflows, CountsRepeat)
{
    EXPECT_EQ(parseOverflows("3.2x.").size(), 6U);
    EXPECT_EQ(parseOverflows("3.2x."), (std::vector<bool>{false, false, false, true, true, false}));
    EXPECT_EQ(parseOverflows("2000.").size(), 2000U);
    EXPECT_EQ(parseOverflows("0x.").size(), 1U);
}

TEST(ParseOverflows, RefusesAnythingElseAndSaysWhere)
{
    EXPECT_THAT(refusal("..o.."), testing::HasSubstr("at character 3 it has 'o'"));
    EXPECT_THAT(refusal("..12"), testing::HasSubstr("at character 3 it has '12'"));
    EXPECT_THAT(refusal("3 ."), testing::HasSubstr("at character 1"));
    EXPECT_THAT(refusal(""), testing::HasSubstr("is empty"));
    EXPECT_THAT(refusal(" \n"), testing::HasSubstr("is empty"));
    EXPECT_THAT(refusal("0x"), testing::HasSubstr("is empty"));
    EXPECT_THAT(refusal("99999999999999999999."), testing::HasSubstr("longer than 10000000 steps"));
    EXPECT_THAT(refusal("9999999.2x"), testing::HasSubstr("longer than 10000000 steps"));
}

TEST(Simulate, RowsSayWhatHappened)
{
    ScalerConfig c;
    c.growthInterval = 2;
    const std::vector<SimulatedStep> steps = simulate(c, parseOverflows("..x"));
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].step, 1);
    EXPECT_EQ(steps[0].growthTracker, 1);
    EXPECT_EQ(steps[1].scaleBefore, 65536.0F);
    EXPECT_EQ(steps[1].scaleAfter, 131072.0F);
    EXPECT_EQ(steps[1].event, ScaleEvent::Grew);
    EXPECT_FALSE(steps[1].skipped);
    EXPECT_TRUE(steps[2].foundInf && steps[2].skipped);
    EXPECT_EQ(steps[2].scaleBefore, 131072.0F);
    EXPECT_EQ(steps[2].scaleAfter, 65536.0F);
}

TEST(Simulate, SanitiseAppliesAtTheMinimumOnly)
{
    ScalerConfig c;
    c.initialScale = 2;
    c.minScale = 1;
    c.atMinimum = AtMinimum::Sanitise;
    const std::vector<SimulatedStep> steps = simulate(c, parseOverflows("xxx"));
    EXPECT_TRUE(steps[0].skipped); // backs off to 1
    EXPECT_FALSE(steps[1].skipped);
    EXPECT_FALSE(steps[2].skipped);
    EXPECT_TRUE(steps[1].foundInf);
}

TEST(Simulate, StaticSkipsWithoutMoving)
{
    const std::vector<SimulatedStep> steps = simulate(findScalerPreset("static")->config, parseOverflows(".x."));
    EXPECT_TRUE(steps[1].skipped);
    EXPECT_EQ(steps[2].scaleAfter, 65536.0F);
}

TEST(Simulate, EditsApplyBeforeTheirStepAndTheSinkCanEndIt)
{
    ScalerConfig c;
    std::vector<double> before;
    LossScaler scaler(c);
    simulate(
        scaler, 10, overflowsOf(parseOverflows("10.")),
        [](std::int64_t step, LossScaler& now) {
            if (step == 3)
                now.setScale(8);
        },
        [&](const SimulatedStep& s) {
            before.push_back(s.scaleBefore);
            return s.step < 4;
        });
    EXPECT_EQ(before, (std::vector<double>{65536, 65536, 8, 8}));
}

TEST(Simulate, ClosedLoopOverflowsAboveItsLimit)
{
    ScalerConfig c;
    c.growthInterval = 3;
    LossScaler scaler(c);
    std::vector<double> scales;
    simulate(scaler, 12, overflowsAbove(8192), nullptr, [&](const SimulatedStep& s) {
        EXPECT_EQ(s.foundInf, s.scaleBefore > 8192) << s.step;
        scales.push_back(s.scaleAfter);
        return true;
    });
    // 2^16 overflows down to 2^13; then three clean steps and a probe of 2^14, again and again.
    EXPECT_EQ(scales,
              (std::vector<double>{32768, 16384, 8192, 8192, 8192, 16384, 8192, 8192, 8192, 16384, 8192, 8192}));
}

TEST(Simulate, EndsWhereTheRuleRaises)
{
    ScalerConfig c = findScalerPreset("deepspeed")->config;
    c.initialScale = 2;
    c.hysteresis = 1;
    const std::vector<SimulatedStep> steps = simulate(c, parseOverflows("x.xxx"));
    ASSERT_EQ(steps.size(), 3U); // to 1, clean, and there is no lower one
    EXPECT_FALSE(steps[1].raised);
    EXPECT_TRUE(steps[2].raised);
    EXPECT_EQ(simulatedEventKey(steps[0]), "backoff");
    EXPECT_EQ(simulatedEventKey(steps[2]), "raised");
    EXPECT_EQ(steps[2].scaleAfter, 1.0);
}

TEST(Simulate, ApexStaticSkipsNothing)
{
    const std::vector<SimulatedStep> steps = simulate(findScalerPreset("static-apex")->config, parseOverflows(".x"));
    EXPECT_TRUE(steps[1].foundInf);
    EXPECT_FALSE(steps[1].skipped);
}

} // namespace
} // namespace halfscope
