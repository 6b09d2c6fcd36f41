// SPDX-License-Identifier: GPL-3.0-or-later
// The scaler's state machine: traces of the frameworks it stands for, and the edges where scalers are known to fail.
#include "engine/amp/loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "engine/amp/scaler_simulation.h"

namespace halfscope {
namespace {

constexpr double kFltMin = 0x1p-126;
constexpr float kFltMax = std::numeric_limits<float>::max();

ScalerConfig every(std::int64_t interval)
{
    ScalerConfig c;
    c.growthInterval = interval;
    return c;
}

ScalerConfig withHysteresis(std::int64_t interval, int hysteresis, HysteresisKind kind)
{
    ScalerConfig c = every(interval);
    c.hysteresis = hysteresis;
    c.hysteresisKind = kind;
    return c;
}

std::vector<double> log2Trace(const ScalerConfig& config, std::string_view overflows)
{
    std::vector<double> trace;
    for (const SimulatedStep& s : simulate(config, parseOverflows(overflows)))
        trace.push_back(std::log2(s.scaleAfter));
    return trace;
}

std::vector<ScaleEvent> events(const ScalerConfig& config, std::string_view overflows)
{
    std::vector<ScaleEvent> all;
    for (const SimulatedStep& s : simulate(config, parseOverflows(overflows)))
        all.push_back(s.event);
    return all;
}

void clean(LossScaler& scaler, int steps)
{
    for (int i = 0; i < steps; ++i)
        scaler.update(false);
}

// --- traces ----------------------------------------------------------------------------------------------------------

constexpr std::string_view kSequence = "..x.xx....x.....";

TEST(LossScalerTrace, PyTorch)
{
    EXPECT_EQ(log2Trace(every(4), kSequence),
              (std::vector<double>{16, 16, 15, 15, 14, 13, 13, 13, 13, 14, 13, 13, 13, 13, 14, 14}));
}

TEST(LossScalerTrace, BudgetAsMegatron)
{
    ScalerConfig c = withHysteresis(4, 2, HysteresisKind::Budget);
    c.minScale = 1;
    EXPECT_EQ(log2Trace(c, kSequence),
              (std::vector<double>{16, 16, 16, 16, 15, 14, 14, 14, 14, 15, 15, 15, 15, 15, 16, 16}));
}

TEST(LossScalerTrace, ConsecutiveAsPaddle)
{
    EXPECT_EQ(log2Trace(withHysteresis(4, 2, HysteresisKind::Consecutive), kSequence),
              (std::vector<double>{16, 16, 16, 16, 16, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17}));
}

TEST(LossScalerTrace, HysteresisOfOneIsNone)
{
    for (const HysteresisKind kind : {HysteresisKind::Budget, HysteresisKind::Consecutive})
        EXPECT_EQ(log2Trace(withHysteresis(4, 1, kind), kSequence), log2Trace(every(4), kSequence));
}

TEST(LossScalerTrace, FactorsThatAreNoPowersOfTwo)
{
    ScalerConfig c = every(2);
    c.initialScale = 1000;
    c.growthFactor = 1.5;
    c.backoffFactor = 0.7;
    std::vector<double> trace;
    for (const SimulatedStep& s : simulate(c, parseOverflows("..x..x")))
        trace.push_back(s.scaleAfter);
    EXPECT_EQ(trace, (std::vector<double>{1000, 1500, 1050, 1050, 1575, 1102.5}));
}

TEST(LossScalerTrace, FactorIsAppliedInDoubleAndRoundedOnce)
{
    // 0.7 is no FP32 number: rounding the factor first would give another scale.
    ScalerConfig c = every(1000);
    c.backoffFactor = 0.7;
    c.initialScale = 3;
    LossScaler scaler(c);
    scaler.update(true);
    EXPECT_EQ(scaler.scale(), 2.1F); // 3 * 0.7 = 2.0999999999999996 in double; the nearest FP32 is that of 2.1
    scaler.update(true);
    EXPECT_EQ(scaler.scale(), static_cast<float>(static_cast<double>(2.1F) * 0.7));
}

TEST(LossScalerTrace, GrowthAndBackoffNeedNotBeInverse)
{
    ScalerConfig c = every(1);
    c.growthFactor = 4;
    EXPECT_EQ(log2Trace(c, ".x.x"), (std::vector<double>{18, 17, 19, 18}));
}

TEST(LossScalerTrace, EventsAreNamed)
{
    using enum ScaleEvent;
    EXPECT_EQ(events(withHysteresis(2, 2, HysteresisKind::Budget), "..xx..x"),
              (std::vector<ScaleEvent>{None, Grew, Tolerated, BackedOff, None, Grew, Tolerated}));
    EXPECT_EQ(scaleEventKey(None), "");
    EXPECT_EQ(scaleEventKey(Grew), "growth");
    EXPECT_EQ(scaleEventKey(GrowthCapped), "growth-capped");
    EXPECT_EQ(scaleEventKey(BackedOff), "backoff");
    EXPECT_EQ(scaleEventKey(Tolerated), "tolerated");
    EXPECT_EQ(scaleEventKey(AtMinimum), "at-minimum");
}

// --- limits ----------------------------------------------------------------------------------------------------------

TEST(LossScalerLimits, GrowthThatFp32CannotHoldIsRefused)
{
    ScalerConfig c = every(1);
    c.initialScale = 0x1p127;
    LossScaler scaler(c);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(scaler.update(false), ScaleEvent::GrowthCapped);
        EXPECT_EQ(scaler.scale(), 0x1p127F);
        EXPECT_EQ(scaler.growthTracker(), 0);
    }
}

TEST(LossScalerLimits, GrowthStopsAtTheMaximum)
{
    ScalerConfig c = every(1);
    c.maxScale = 100000; // no power of two
    LossScaler scaler(c);
    EXPECT_EQ(scaler.update(false), ScaleEvent::GrowthCapped);
    EXPECT_EQ(scaler.scale(), 100000.0F);
    EXPECT_EQ(scaler.update(false), ScaleEvent::GrowthCapped);
    EXPECT_EQ(scaler.scale(), 100000.0F);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
    EXPECT_EQ(scaler.scale(), 50000.0F);
}

TEST(LossScalerLimits, ReachingTheMaximumExactlyIsGrowth)
{
    ScalerConfig c = every(1);
    c.maxScale = 0x1p17;
    EXPECT_EQ(events(c, ".."), (std::vector<ScaleEvent>{ScaleEvent::Grew, ScaleEvent::GrowthCapped}));
}

TEST(LossScalerLimits, WithAFloorTheScaleNeverLosesItsReciprocal)
{
    ScalerConfig c = every(2000);
    c.minScale = 0x1p-126;
    LossScaler scaler(c);
    for (int i = 1; i <= 16; ++i)
        scaler.update(true);
    EXPECT_EQ(scaler.scale(), 1.0F); // 16 halvings of 2^16
    for (int i = 17; i <= 500; ++i) {
        const ScaleEvent event = scaler.update(true);
        // From 2^16 to 2^-126 are 142 halvings; every further overflow is one at the minimum.
        EXPECT_EQ(event, i <= 142 ? ScaleEvent::BackedOff : ScaleEvent::AtMinimum) << i;
        EXPECT_GE(scaler.scale(), kFltMin);
        EXPECT_TRUE(std::isfinite(scaler.inverseScale()));
    }
    EXPECT_EQ(scaler.consecutiveOverflows(), 500);
}

// As the original does: 166 halvings of 2^16 are 0. FP32 loses the reciprocal 22 steps earlier, and a run that must go
// on is brought back to where it has one.
TEST(LossScalerLimits, WithoutAFloorTheScaleVanishes)
{
    LossScaler scaler(every(2000));
    for (int i = 1; i <= 170; ++i) {
        EXPECT_EQ(scaler.update(true), i < 166 ? ScaleEvent::BackedOff : ScaleEvent::Vanished) << i;
        EXPECT_EQ(scaler.scale() == 0.0F, i >= 166) << i;
        EXPECT_EQ(scaler.usable(), i < 144) << i; // 2^-128
    }
    EXPECT_TRUE(scaler.holdUsable());
    EXPECT_EQ(scaler.scale(), kFltMin);
    EXPECT_TRUE(scaler.usable());
    EXPECT_FALSE(scaler.holdUsable());
}

TEST(LossScalerLimits, WithoutACapTheScaleBecomesInfinite)
{
    ScalerConfig c = every(1);
    c.initialScale = 0x1p126;
    c.growthCap = GrowthCap::None;
    EXPECT_EQ(events(c, "..."),
              (std::vector<ScaleEvent>{ScaleEvent::Grew, ScaleEvent::Infinite, ScaleEvent::Infinite}));
    c.arithmetic = ScaleArithmetic::Fp64; // where it can go on, but FP32 cannot use it
    LossScaler scaler(c);
    clean(scaler, 2);
    EXPECT_EQ(scaler.exactScale(), 0x1p128);
    EXPECT_FALSE(scaler.usable());
    EXPECT_TRUE(scaler.holdUsable());
    EXPECT_EQ(scaler.scale(), kFltMax);
    c.growthCap = GrowthCap::Clamp;
    EXPECT_EQ(events(c, "..."),
              (std::vector<ScaleEvent>{ScaleEvent::Grew, ScaleEvent::GrowthCapped, ScaleEvent::GrowthCapped}));
}

TEST(LossScalerLimits, TooManyOverflowsInARow)
{
    ScalerConfig c = every(100);
    c.maxOverflows = 2;
    EXPECT_EQ(events(c, "xx.xxx"),
              (std::vector<ScaleEvent>{ScaleEvent::BackedOff, ScaleEvent::BackedOff, ScaleEvent::None,
                                       ScaleEvent::BackedOff, ScaleEvent::BackedOff, ScaleEvent::TooManyOverflows}));
}

TEST(LossScalerLimits, BackoffStandsAtTheThreshold)
{
    ScalerConfig c = every(100);
    c.initialScale = 8;
    c.threshold = 3;
    EXPECT_EQ(log2Trace(c, "xxx"), (std::vector<double>{2.0, std::log2(3.0), std::log2(3.0)}));
    EXPECT_EQ(events(c, "xxx"),
              (std::vector<ScaleEvent>{ScaleEvent::BackedOff, ScaleEvent::BackedOff, ScaleEvent::AtThreshold}));
}

TEST(LossScalerLimits, BackoffClampsAtAMinimumThatItWouldPass)
{
    ScalerConfig c = every(2000); // the case of 24, 12, 6 with a minimum of 10
    c.initialScale = 24;
    c.minScale = 10;
    LossScaler scaler(c);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
    EXPECT_EQ(scaler.scale(), 10.0F);
    EXPECT_EQ(scaler.update(true), ScaleEvent::AtMinimum);
    EXPECT_EQ(scaler.scale(), 10.0F);
}

TEST(LossScalerLimits, MinimumEqualToMaximumHoldsTheScale)
{
    ScalerConfig c = every(1);
    c.initialScale = c.minScale = c.maxScale = 1024;
    EXPECT_EQ(events(c, ".x"), (std::vector<ScaleEvent>{ScaleEvent::GrowthCapped, ScaleEvent::AtMinimum}));
}

TEST(LossScalerLimits, HysteresisIsPaidBeforeTheMinimumCounts)
{
    ScalerConfig c = withHysteresis(100, 2, HysteresisKind::Budget);
    c.initialScale = c.minScale = 1;
    EXPECT_EQ(events(c, "xx"), (std::vector<ScaleEvent>{ScaleEvent::Tolerated, ScaleEvent::AtMinimum}));
}

TEST(LossScalerLimits, InverseIsRoundedOnceFromDouble)
{
    ScalerConfig c;
    c.initialScale = 1050;
    EXPECT_EQ(LossScaler(c).inverseScale(), static_cast<float>(1.0 / 1050.0));
    c.initialScale = kFltMax;
    EXPECT_GT(LossScaler(c).inverseScale(), 0.0F); // subnormal, but not zero
}

// --- state machine ---------------------------------------------------------------------------------------------------

TEST(LossScalerState, OverflowOnTheGrowingStepBacksOff)
{
    LossScaler scaler(every(4));
    clean(scaler, 3);
    EXPECT_EQ(scaler.growthTracker(), 3);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
    EXPECT_EQ(scaler.scale(), 32768.0F);
    EXPECT_EQ(scaler.growthTracker(), 0);
}

TEST(LossScalerState, ToleratedOverflowStillRestartsTheCount)
{
    LossScaler scaler(withHysteresis(4, 2, HysteresisKind::Budget));
    clean(scaler, 3);
    EXPECT_EQ(scaler.update(true), ScaleEvent::Tolerated);
    EXPECT_EQ(scaler.growthTracker(), 0);
    EXPECT_EQ(scaler.hysteresisLeft(), 1);
}

TEST(LossScalerState, BudgetIsRefilledByGrowthAlone)
{
    LossScaler scaler(withHysteresis(3, 3, HysteresisKind::Budget));
    scaler.update(true);
    clean(scaler, 2);
    EXPECT_EQ(scaler.hysteresisLeft(), 2);
    clean(scaler, 1); // grows
    EXPECT_EQ(scaler.hysteresisLeft(), 3);
}

TEST(LossScalerState, BudgetIsRefilledEvenWhenGrowthIsCapped)
{
    ScalerConfig c = withHysteresis(1, 2, HysteresisKind::Budget);
    c.maxScale = c.initialScale;
    LossScaler scaler(c);
    scaler.update(true);
    EXPECT_EQ(scaler.update(false), ScaleEvent::GrowthCapped);
    EXPECT_EQ(scaler.hysteresisLeft(), 2);
}

TEST(LossScalerState, SpentBudgetBacksOffAtEveryOverflow)
{
    LossScaler scaler(withHysteresis(100, 2, HysteresisKind::Budget));
    EXPECT_EQ(scaler.update(true), ScaleEvent::Tolerated);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
        EXPECT_EQ(scaler.hysteresisLeft(), 0);
        scaler.update(false);
    }
}

TEST(LossScalerState, CountsOverflowsInARow)
{
    for (const std::string_view preset : {"pytorch", "static", "off"}) {
        LossScaler scaler(findScalerPreset(preset)->config);
        scaler.update(true);
        scaler.update(true);
        EXPECT_EQ(scaler.consecutiveOverflows(), 2) << preset;
        scaler.update(false);
        EXPECT_EQ(scaler.consecutiveOverflows(), 0) << preset;
    }
}

TEST(LossScalerState, StaticAndOffNeverMove)
{
    for (const std::string_view preset : {"static", "off"}) {
        const ScalerConfig c = findScalerPreset(preset)->config;
        LossScaler scaler(c);
        const float before = scaler.scale();
        EXPECT_EQ(before, c.enabled ? 65536.0F : 1.0F);
        for (int i = 0; i < 5000; ++i)
            EXPECT_EQ(scaler.update(i % 7 == 0), ScaleEvent::None);
        EXPECT_EQ(scaler.scale(), before);
        EXPECT_EQ(scaler.growthTracker(), 0);
    }
}

TEST(LossScalerState, PeekSaysWhatUpdateWillDo)
{
    LossScaler scaler(withHysteresis(2, 2, HysteresisKind::Budget));
    for (const bool overflow : {false, false, true, true, true, false, false}) {
        const ScaleEvent expected = scaler.peek(overflow);
        EXPECT_EQ(scaler.update(overflow), expected);
    }
}

// --- live edits ------------------------------------------------------------------------------------------------------

TEST(LossScalerEdit, LoweredIntervalGrowsAtTheNextCleanStep)
{
    LossScaler scaler(every(2000));
    clean(scaler, 500);
    scaler.reconfigure(every(100));
    EXPECT_EQ(scaler.growthTracker(), 500);
    EXPECT_EQ(scaler.update(false), ScaleEvent::Grew);
    EXPECT_EQ(scaler.scale(), 131072.0F);
    EXPECT_EQ(scaler.growthTracker(), 0);
}

TEST(LossScalerEdit, RaisedIntervalKeepsTheCount)
{
    LossScaler scaler(every(100));
    clean(scaler, 60);
    scaler.reconfigure(every(2000));
    EXPECT_EQ(scaler.growthTracker(), 60);
    clean(scaler, 1939);
    EXPECT_EQ(scaler.scale(), 65536.0F);
    EXPECT_EQ(scaler.update(false), ScaleEvent::Grew);
}

TEST(LossScalerEdit, HysteresisLoweredBelowWhatIsSpentBacksOffNext)
{
    LossScaler scaler(withHysteresis(100, 5, HysteresisKind::Budget));
    scaler.update(true);
    scaler.update(true);
    EXPECT_EQ(scaler.hysteresisLeft(), 3);
    scaler.reconfigure(withHysteresis(100, 2, HysteresisKind::Budget));
    EXPECT_EQ(scaler.hysteresisLeft(), 0);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
}

TEST(LossScalerEdit, HysteresisRaisedAddsToWhatIsLeft)
{
    LossScaler scaler(withHysteresis(100, 2, HysteresisKind::Budget));
    scaler.update(true);
    scaler.reconfigure(withHysteresis(100, 4, HysteresisKind::Budget));
    EXPECT_EQ(scaler.hysteresisLeft(), 3);
    EXPECT_EQ(scaler.update(true), ScaleEvent::Tolerated);
    EXPECT_EQ(scaler.update(true), ScaleEvent::Tolerated);
    EXPECT_EQ(scaler.update(true), ScaleEvent::BackedOff);
}

TEST(LossScalerEdit, SetScaleRestartsTheCountAndIsClamped)
{
    ScalerConfig c = every(100);
    c.minScale = 2;
    c.maxScale = 0x1p20;
    LossScaler scaler(c);
    clean(scaler, 50);
    scaler.setScale(1000);
    EXPECT_EQ(scaler.scale(), 1000.0F);
    EXPECT_EQ(scaler.growthTracker(), 0);
    scaler.setScale(1);
    EXPECT_EQ(scaler.scale(), 2.0F);
    scaler.setScale(1e300);
    EXPECT_EQ(scaler.scale(), 0x1p20F);
}

TEST(LossScalerEdit, SetScaleRefusesWhatIsNoScale)
{
    LossScaler scaler(every(100));
    clean(scaler, 3);
    const LossScaler::State before = scaler.state();
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        ASSERT_TRUE(scaler.refusal(bad).has_value()) << bad;
        EXPECT_EQ(scaler.refusal(bad)->field, "scale");
        scaler.setScale(bad);
        EXPECT_EQ(scaler.state(), before) << bad;
    }
    EXPECT_FALSE(scaler.refusal(1.0).has_value());
    LossScaler off(findScalerPreset("off")->config);
    EXPECT_TRUE(off.refusal(2.0).has_value());
    off.setScale(2.0);
    EXPECT_EQ(off.scale(), 1.0F);
}

TEST(LossScalerEdit, NewBoundsClampTheScaleAtOnce)
{
    LossScaler scaler(every(100));
    ScalerConfig lower = every(100);
    lower.initialScale = lower.maxScale = 1024;
    scaler.reconfigure(lower);
    EXPECT_EQ(scaler.scale(), 1024.0F);
    ScalerConfig higher = every(100);
    higher.minScale = 4096;
    scaler.reconfigure(higher);
    EXPECT_EQ(scaler.scale(), 4096.0F);
}

TEST(LossScalerEdit, InitialScaleDoesNotMoveARunningScale)
{
    LossScaler scaler(every(100));
    ScalerConfig c = every(100);
    c.initialScale = 4;
    scaler.reconfigure(c);
    EXPECT_EQ(scaler.scale(), 65536.0F);
}

TEST(LossScalerEdit, BetweenDynamicAndStaticTheScaleStaysAndTheCountRestarts)
{
    LossScaler scaler(every(100));
    scaler.update(true);
    clean(scaler, 7);
    ScalerConfig fixed = every(100);
    fixed.dynamic = false;
    scaler.reconfigure(fixed);
    EXPECT_EQ(scaler.scale(), 32768.0F);
    EXPECT_EQ(scaler.growthTracker(), 0);
    scaler.reconfigure(every(100));
    EXPECT_EQ(scaler.scale(), 32768.0F);
    EXPECT_EQ(scaler.growthTracker(), 0);
}

TEST(LossScalerEdit, OffIsOneAndOnAgainStartsAtTheInitialScale)
{
    LossScaler scaler(every(100));
    scaler.update(true);
    ScalerConfig off = every(100);
    off.enabled = false;
    scaler.reconfigure(off);
    EXPECT_EQ(scaler.scale(), 1.0F);
    EXPECT_EQ(scaler.inverseScale(), 1.0F);
    scaler.reconfigure(every(100));
    EXPECT_EQ(scaler.scale(), 65536.0F);
}

// --- saving and restoring --------------------------------------------------------------------------------------------

TEST(LossScalerRestore, ResumedTraceEqualsUninterruptedTrace)
{
    const std::vector<bool> overflows = parseOverflows("..x.xx....x.....xx..x......xxx....");
    for (const HysteresisKind kind : {HysteresisKind::None, HysteresisKind::Budget, HysteresisKind::Consecutive}) {
        ScalerConfig c = withHysteresis(4, 3, kind);
        c.growthFactor = 1.7;
        c.backoffFactor = 0.45;
        for (std::size_t cut = 0; cut < overflows.size(); ++cut) {
            LossScaler whole(c);
            LossScaler first(c);
            for (std::size_t i = 0; i < cut; ++i) {
                whole.update(overflows[i]);
                first.update(overflows[i]);
            }
            LossScaler second(ScalerConfig{}); // everything comes from the state
            ASSERT_FALSE(second.restore(first.state()).has_value());
            for (std::size_t i = cut; i < overflows.size(); ++i) {
                ASSERT_EQ(second.update(overflows[i]), whole.update(overflows[i]));
                ASSERT_EQ(second.state(), whole.state());
            }
        }
    }
}

TEST(LossScalerRestore, RefusesBadStatesAndStaysAsItWas)
{
    LossScaler scaler(withHysteresis(10, 3, HysteresisKind::Budget));
    clean(scaler, 4);
    scaler.update(true);
    clean(scaler, 2);
    const LossScaler::State good = scaler.state();

    struct Case {
        std::string field;
        std::function<void(LossScaler::State&)> spoil;
    };
    const std::vector<Case> cases = {
        {"scale", [](auto& s) { s = LossScaler::State{}; }}, // an empty one
        {"scale", [](auto& s) { s.scale = -65536; }},
        {"scale", [](auto& s) { s.scale = std::nan(""); }},
        {"scale", [](auto& s) { s.config.minScale = 0x1p-126, s.scale = 0x1p-127; }},
        {"scale", [](auto& s) { s.config.maxScale = 0x1p24, s.scale = HUGE_VAL; }},
        {"scale", [](auto& s) { s.scale = 0.1; }}, // no FP32 number
        {"growth-tracker", [](auto& s) { s.growthTracker = -1; }},
        {"hysteresis-left", [](auto& s) { s.hysteresisLeft = -1; }},
        {"hysteresis-left", [](auto& s) { s.hysteresisLeft = 4; }},
        {"consecutive-overflows", [](auto& s) { s.consecutiveOverflows = -1; }},
        {"steps-since-change", [](auto& s) { s.stepsSinceChange = -1; }},
        {"overflows-since-backoff", [](auto& s) { s.overflowsSinceBackoff = -1; }},
        {"growth-factor", [](auto& s) { s.config.growthFactor = std::nan(""); }},
        {"growth-interval", [](auto& s) { s.config.growthInterval = 0; }},
    };
    for (const Case& c : cases) {
        LossScaler::State bad = good;
        c.spoil(bad);
        const std::optional<ConfigProblem> problem = scaler.restore(bad);
        ASSERT_TRUE(problem.has_value()) << c.field;
        EXPECT_EQ(problem->field, c.field);
        EXPECT_EQ(scaler.state(), good) << c.field;
    }
    LossScaler::State off;
    off.config = findScalerPreset("off")->config;
    off.hysteresisLeft = 1;
    off.scale = 2;
    EXPECT_TRUE(scaler.restore(off).has_value());
    off.scale = 1;
    EXPECT_FALSE(scaler.restore(off).has_value());
    EXPECT_EQ(scaler.scale(), 1.0F);
}

// --- against another model -------------------------------------------------------------------------------------------

// Knows nothing but the history: for every question it looks back over the whole run.
class HistoryModel {
public:
    explicit HistoryModel(const ScalerConfig& config) : m_config(config), m_scale(config.initialScale) {}

    void step(bool overflow)
    {
        m_overflow.push_back(overflow);
        m_restart.push_back(overflow);
        m_refill.push_back(false);
        if (overflow) {
            if (overflowsSinceRefill() >= m_config.hysteresis)
                m_scale = std::max<double>(static_cast<float>(m_scale * m_config.backoffFactor), m_config.minScale);
            return;
        }
        if (m_config.hysteresisKind == HysteresisKind::Consecutive)
            m_refill.back() = true;
        if (cleanSinceRestart() >= m_config.growthInterval) {
            m_restart.back() = true;
            m_refill.back() = true;
            const float grown = static_cast<float>(m_scale * m_config.growthFactor);
            if (std::isfinite(grown))
                m_scale = std::min<double>(grown, m_config.maxScale);
        }
    }

    double scale() const { return m_scale; }
    std::int64_t cleanSinceRestart() const
    {
        std::int64_t count = 0;
        for (std::size_t i = m_restart.size(); i-- > 0 && !m_restart[i];)
            ++count;
        return count;
    }

private:
    std::int64_t overflowsSinceRefill() const
    {
        if (m_config.hysteresisKind == HysteresisKind::None)
            return m_config.hysteresis;
        std::int64_t count = 0;
        for (std::size_t i = m_refill.size(); i-- > 0 && !m_refill[i];)
            count += m_overflow[i] ? 1 : 0;
        return count;
    }

    ScalerConfig m_config;
    double m_scale;
    std::vector<bool> m_overflow; // per step
    std::vector<bool> m_restart;  // the count of clean steps starts anew after this step
    std::vector<bool> m_refill;   // the hysteresis budget is full again after this step
};

TEST(LossScalerProperty, AgreesWithAModelThatLooksBackOverTheHistory)
{
    std::uint64_t state = 12345; // a small generator of its own: the same sequences on every machine
    const auto random = [&](std::uint64_t bound) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state >> 33) % bound;
    };
    for (int trial = 0; trial < 400; ++trial) {
        ScalerConfig c;
        c.growthInterval = 1 + static_cast<std::int64_t>(random(6));
        c.hysteresis = 1 + static_cast<int>(random(4));
        c.hysteresisKind = static_cast<HysteresisKind>(random(3));
        c.growthFactor = random(2) == 0 ? 2.0 : 1.0 + 0.01 * static_cast<double>(1 + random(300));
        c.backoffFactor = random(2) == 0 ? 0.5 : 0.01 * static_cast<double>(1 + random(98));
        c.minScale = std::ldexp(1.0, -static_cast<int>(random(127)));
        c.maxScale = random(3) == 0 ? static_cast<double>(kFltMax) : std::ldexp(1.0, 1 + static_cast<int>(random(127)));
        c.initialScale = std::clamp(65536.0, c.minScale, c.maxScale);
        ASSERT_TRUE(validate(c).empty());
        LossScaler scaler(c);
        HistoryModel model(c);
        const std::uint64_t rarity = 2 + random(8);
        for (int step = 0; step < 120; ++step) {
            const bool overflow = random(rarity) == 0;
            const double before = scaler.scale();
            const ScaleEvent event = scaler.update(overflow);
            model.step(overflow);
            ASSERT_EQ(static_cast<double>(scaler.scale()), model.scale()) << "trial " << trial << " step " << step;
            ASSERT_EQ(scaler.growthTracker(), model.cleanSinceRestart());
            ASSERT_GE(scaler.scale(), static_cast<float>(c.minScale));
            ASSERT_LE(scaler.scale(), static_cast<float>(c.maxScale));
            ASSERT_TRUE(std::isfinite(scaler.inverseScale()) && scaler.inverseScale() > 0);
            // What the event says is what happened.
            if (event == ScaleEvent::Grew) {
                ASSERT_GT(scaler.scale(), before);
            } else if (event == ScaleEvent::BackedOff) {
                ASSERT_LT(scaler.scale(), before);
            } else if (event != ScaleEvent::GrowthCapped) {
                ASSERT_EQ(scaler.scale(), before);
            }
            ASSERT_EQ(event == ScaleEvent::BackedOff || event == ScaleEvent::Tolerated ||
                          event == ScaleEvent::AtMinimum,
                      overflow);
        }
    }
}

} // namespace
} // namespace halfscope
