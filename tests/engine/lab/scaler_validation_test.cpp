// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <set>

#include "engine/amp/loss_scaler.h"

namespace halfscope {
namespace {

const double kNan = std::nan("");
const double kInf = HUGE_VAL;

std::set<std::string> fields(const ScalerConfig& c)
{
    std::set<std::string> names;
    for (const ConfigProblem& p : validate(c)) {
        EXPECT_FALSE(p.value.empty());
        EXPECT_FALSE(p.allowed.empty());
        EXPECT_EQ(p.message(), p.field + " = " + p.value + " is not allowed: it must be " + p.allowed + ".");
        names.insert(p.field);
    }
    return names;
}

TEST(ScalerValidation, PresetsAreValidAndFindable)
{
    for (const ScalerPreset& preset : scalerPresets()) {
        EXPECT_TRUE(validate(preset.config).empty()) << preset.key;
        EXPECT_EQ(findScalerPreset(preset.key), &preset);
        EXPECT_EQ(preset.config.preset, preset.key);
        // JMP's rule and TF-Keras's are one rule under two names.
        EXPECT_EQ(scalerPresetKey(preset.config), preset.key == "jmp" ? "tf-keras" : preset.key);
        EXPECT_FALSE(preset.difference.empty());
    }
    EXPECT_EQ(findScalerPreset("nothing"), nullptr);
}

TEST(ScalerValidation, PyTorchPresetHasPyTorchsNumbers)
{
    const ScalerConfig& c = findScalerPreset("pytorch")->config;
    EXPECT_EQ(c.initialScale, 65536.0);
    EXPECT_EQ(c.growthFactor, 2.0);
    EXPECT_EQ(c.backoffFactor, 0.5);
    EXPECT_EQ(c.growthInterval, 2000);
    EXPECT_TRUE(c.enabled && c.dynamic);
    EXPECT_EQ(c.hysteresisKind, HysteresisKind::None);
}

TEST(ScalerValidation, PresetKeyJudgesParametersNotTheLabel)
{
    ScalerConfig c;
    c.preset = "something else";
    EXPECT_EQ(scalerPresetKey(c), "pytorch");
    c.growthInterval = 25;
    EXPECT_EQ(scalerPresetKey(c), "custom");
}

TEST(ScalerValidation, EachKnobsBounds)
{
    struct Case {
        std::string field;
        std::function<void(ScalerConfig&, double)> set;
        std::vector<double> good;
        std::vector<double> bad;
    };
    const double fltMax = 3.4028234663852886e38;
    const std::vector<Case> cases = {
        {"growth-factor",
         [](ScalerConfig& c, double v) { c.growthFactor = v; },
         {2, 1.5, 1.0 + 0x1p-23, 1e30},
         {1, 0.5, 0, -2, 1.0 + 0x1p-24, kNan, kInf}},
        {"backoff-factor",
         [](ScalerConfig& c, double v) { c.backoffFactor = v; },
         {0.5, 0.7, 1.0 - 0x1p-24, 1e-30},
         {1, 2, 0, -0.5, 1.0 - 0x1p-25, kNan, kInf}},
        {"growth-interval",
         [](ScalerConfig& c, double v) { c.growthInterval = static_cast<std::int64_t>(v); },
         {1, 2000, 1e15},
         {0, -1}},
        {"hysteresis", [](ScalerConfig& c, double v) { c.hysteresis = static_cast<int>(v); }, {1, 2, 1000}, {0, -1}},
        {"initial-scale",
         [](ScalerConfig& c, double v) { c.initialScale = v; },
         {1, 1e-30, 0x1p-126, fltMax},
         {0, -1, 0x1p-127, 1e39, kNan, kInf}},
        {"min-scale",
         [](ScalerConfig& c, double v) { c.minScale = v; },
         {0, 1, 0x1p-126, 65536},
         {-1, 0x1p-127, 1e39, kNan, kInf}},
        {"max-scale",
         [](ScalerConfig& c, double v) { c.maxScale = v; },
         {65536, fltMax, kInf},
         {0, -1, 0x1p-127, 1e39, kNan}},
        {"threshold", [](ScalerConfig& c, double v) { c.threshold = v; }, {0, 4}, {-1, 1e39, kNan, kInf}},
        {"tolerance", [](ScalerConfig& c, double v) { c.tolerance = v; }, {0, 0.25, 1}, {-0.1, 1.1, kNan, kInf}},
        {"max-overflows",
         [](ScalerConfig& c, double v) { c.maxOverflows = static_cast<std::int64_t>(v); },
         {0, 1000},
         {-1}},
    };
    for (const Case& test : cases) {
        for (const double value : test.good) {
            ScalerConfig c;
            test.set(c, value);
            EXPECT_EQ(fields(c), std::set<std::string>()) << test.field << " = " << value;
        }
        for (const double value : test.bad) {
            ScalerConfig c;
            test.set(c, value);
            EXPECT_EQ(fields(c), std::set<std::string>{test.field}) << test.field << " = " << value;
        }
    }
}

TEST(ScalerValidation, ScalesMustFitTogether)
{
    ScalerConfig c;
    c.minScale = 1e6; // above the initial scale
    EXPECT_EQ(fields(c), std::set<std::string>{"initial-scale"});
    c = {};
    c.maxScale = 1000;
    EXPECT_EQ(fields(c), std::set<std::string>{"initial-scale"});
    c = {};
    c.minScale = 2000;
    c.maxScale = 1000;
    EXPECT_EQ(fields(c), std::set<std::string>{"min-scale"});
}

TEST(ScalerValidation, AllProblemsAreReported)
{
    ScalerConfig c;
    c.growthFactor = 1;
    c.backoffFactor = 1;
    c.growthInterval = 0;
    c.hysteresis = 0;
    c.minScale = -1;
    c.threshold = -1;
    c.tolerance = -1;
    c.maxOverflows = -1;
    c.rule = static_cast<ScalerRule>(77);
    c.hysteresisKind = static_cast<HysteresisKind>(77);
    c.atMinimum = static_cast<AtMinimum>(77);
    c.minTrigger = static_cast<MinTrigger>(77);
    c.arithmetic = static_cast<ScaleArithmetic>(77);
    c.growthAfter = static_cast<GrowthAfter>(77);
    c.growthCap = static_cast<GrowthCap>(77);
    c.backoffRule = static_cast<BackoffRule>(77);
    EXPECT_EQ(fields(c), (std::set<std::string>{"growth-factor", "backoff-factor", "growth-interval", "hysteresis",
                                                "min-scale", "threshold", "scaler-rule", "tolerance", "max-overflows",
                                                "hysteresis-kind", "at-min", "min-trigger", "scale-arithmetic",
                                                "growth-after", "growth-cap", "backoff-rule"}));
}

// The bounds 1 + 2^-23 and 1 - 2^-24 are there because with them every FP32 scale moves.
TEST(ScalerValidation, FactorsAtTheirBoundsMoveEveryScale)
{
    for (const float scale : {1.0F, 1.0F + 0x1p-23F, 1.5F, 1.75F, 2.0F - 0x1p-23F, 65536.0F, 1050.0F, 0x1.555556p7F}) {
        EXPECT_GT(static_cast<float>(static_cast<double>(scale) * (1.0 + 0x1p-23)), scale);
        EXPECT_LT(static_cast<float>(static_cast<double>(scale) * (1.0 - 0x1p-24)), scale);
    }
}

} // namespace
} // namespace halfscope
