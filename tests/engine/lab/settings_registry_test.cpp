// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/settings_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "engine/io/config_json.h"
#include "tests/support/only_problem.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

// For each key one allowed value that is not the default, and values that are refused.
struct Sample {
    std::string good;
    std::vector<std::string> bad;
};
const std::map<std::string, Sample, std::less<>>& samples()
{
    static const std::map<std::string, Sample, std::less<>> all = {
        {"seed", {"18446744073709551615", {"-1", "x", "1.5", ""}}},
        {"task", {"digits", {"mnist", ""}}},
        {"data", {"rows.csv", {std::string("a\0b", 3)}}},
        {"patch-size", {"7", {"0", "-1", "1025", "column"}}},
        {"pretrain-steps", {"300", {"-1", "1.5"}}},
        {"causal", {"on", {"left"}}},
        {"validation-interval", {"50", {"-1", "often"}}},
        {"validation-examples", {"1000", {"0", "all"}}},
        {"text", {"novel.txt", {std::string("a\0b", 3)}}},
        {"backend", {"cuda", {""}}},
        {"device", {"0000:c1:00", {"-1", "GPU", "0000:01", "0000:01:0g", "00000:01:00", "1e3", "4096"}}},
        {"threads", {"3", {"-1", "1025", "two"}}},
        {"width", {"96", {"0", "-8", "16385", "1.5", ""}}},
        {"depth", {"2", {"0", "257"}}},
        {"heads", {"2", {"0", "1025"}}},
        {"context", {"32", {"0", "16385"}}},
        {"batch", {"8", {"0", "65537"}}},
        {"mlp-ratio", {"2", {"0", "65"}}},
        {"norm", {"post", {"Pre", "none"}}},
        {"tied-head", {"on", {"maybe", ""}}},
        {"activation", {"relu", {"silu"}}},
        {"dropout", {"0.25", {"1", "-0.1", "nan"}}},
        {"learning-rate", {"0.003", {"-1", "inf", "nan", "1e60", "fast"}}},
        {"schedule", {"warmup-cosine", {"cosine"}}},
        {"warmup-steps", {"7", {"-1"}}},
        {"decay-steps", {"700", {"0"}}},
        {"min-learning-rate", {"3e-05", {"-1"}}},
        {"beta1", {"0.8", {"1", "-0.1"}}},
        {"beta2", {"0.95", {"1", "nan"}}},
        {"epsilon", {"1e-06", {"0", "-1e-8"}}},
        {"weight-decay", {"0.1", {"-0.1"}}},
        {"clip-norm", {"0", {"-1", "inf"}}},
        {"precision", {"pure-fp16", {"fp16", "mixed", "custom"}}},
        {"precision.MODULE", {"", {"fp16"}}},
        {"precision-schedule",
         {"0:fp32;200:mixed-fp16;800:lm_head=fp32;2e:h0.mlp.fc=fp8",
          {"fp32", "x:fp32", "-1:fp32", "5:half", "5:lm_head=half", "5:=fp32", "9"}}},
        {"master-weights", {"off", {"fp16"}}},
        {"moments", {"fp32", {"fp16", "on"}}},
        {"fp8-scaling", {"off", {"on", "current"}}},
        {"fp8-history", {"4", {"0", "1025"}}},
        {"fp8-margin", {"2", {"-1", "16"}}},
        {"scale-per-module", {"on", {"per-layer"}}},
        {"measure-updates", {"on", {"2"}}},
        {"scaler", {"static", {"torch", "custom"}}},
        {"scaler-mode", {"static", {"on"}}},
        {"initial-scale", {"4096", {"0", "-1", "inf", "nan", "1e39", "2^-127", "1,5"}}},
        {"growth-factor", {"1.5", {"1", "0", "inf", "nan", "two"}}},
        {"backoff-factor", {"0.7", {"1", "0", "-1", "nan"}}},
        {"growth-interval", {"100", {"0", "-5", "1.5", "often"}}},
        {"scaler-rule", {"preventive", {"guess"}}},
        {"skip-nonfinite", {"off", {"sometimes"}}},
        {"scale-arithmetic", {"fp64", {"fp16"}}},
        {"growth-after", {"n+1", {"n+2"}}},
        {"growth-cap", {"clamp", {"some"}}},
        {"backoff-rule", {"divide", {"times"}}},
        {"tolerance", {"0.25", {"-0.1", "1.5", "nan"}}},
        {"threshold", {"4", {"-1", "inf", "nan"}}},
        {"min-trigger", {"reached", {"never"}}},
        {"max-overflows", {"1000", {"-1", "1.5"}}},
        {"min-scale", {"0.5", {"-1", "2^-127", "nan", "inf"}}},
        {"max-scale", {"16777216", {"0", "1e39", "nan"}}},
        {"hysteresis", {"2", {"0", "-1", "1.5"}}},
        {"hysteresis-kind", {"consecutive", {"some"}}},
        {"at-min", {"stop", {"raise"}}},
        {"statistics-interval", {"10", {"0"}}},
        {"activation-grads", {"off", {"2"}}},
        {"activations", {"on", {"2"}}},
        {"low-quantile", {"0.05", {"1", "-0.1"}}},
        {"shadow-interval", {"10", {"-1", "2.5"}}},
        {"shadow-run", {"on", {"2"}}},
    };
    return all;
}

TEST(Settings, EveryKeyHasASampleAndEverySampleAKey)
{
    std::set<std::string> keys;
    for (const SettingInfo& s : settings()) {
        EXPECT_TRUE(samples().contains(s.key)) << s.key;
        EXPECT_TRUE(keys.insert(std::string(s.key)).second) << s.key << " is there twice";
        EXPECT_FALSE(s.range.empty() || s.meaning.empty() || s.group.empty()) << s.key;
        EXPECT_EQ(findSetting(s.key), &s);
    }
    EXPECT_EQ(keys.size(), samples().size());
}

TEST(Settings, GoodValuesAreTakenAndReadBack)
{
    for (const auto& [key, sample] : samples()) {
        if (key == "precision.MODULE")
            continue;
        RunConfig config;
        EXPECT_EQ(applySetting(config, key, sample.good), std::nullopt) << key;
        EXPECT_EQ(settingValue(config, key), sample.good) << key;
        EXPECT_FALSE(config == RunConfig{}) << key;
    }
}

TEST(Settings, BadValuesAreRefusedInOneSentenceAndChangeNothing)
{
    for (const auto& [key, sample] : samples()) {
        for (const std::string& bad : sample.bad) {
            RunConfig config;
            const std::optional<std::string> problem = applySetting(config, key, bad);
            ASSERT_TRUE(problem.has_value()) << key << " = " << bad;
            EXPECT_THAT(*problem, testing::StartsWith(key)) << bad;
            EXPECT_THAT(*problem, HasSubstr(bad));
            EXPECT_THAT(*problem, testing::EndsWith("."));
            EXPECT_TRUE(config == RunConfig{}) << key << " = " << bad;
        }
    }
}

TEST(Settings, RefusalNamesKeyValueAndWhatIsAllowed)
{
    RunConfig config;
    EXPECT_EQ(applySetting(config, "growth-interval", "often"),
              "growth-interval = \"often\" is not allowed; allowed: integer 1 to 10^12.");
}

TEST(Settings, UnknownKeysNameTheNearest)
{
    const std::map<std::string, std::string> nearest = {{"growth-intervall", "growth-interval"},
                                                        {"growth_interval", "growth-interval"},
                                                        {"Width", "width"},
                                                        {"widht", "width"},
                                                        {"lr", "learning-rate"},
                                                        {"n_layer", "depth"},
                                                        {"batch_size", "batch"},
                                                        {"loss-scale", "initial-scale"},
                                                        {"backof-factor", "backoff-factor"},
                                                        {"presision", "precision"},
                                                        {"at-minimum", "at-min"},
                                                        {"weight_decay", "weight-decay"},
                                                        {"scalar", "scaler"},
                                                        {"eps", "epsilon"}};
    for (const auto& [given, expected] : nearest) {
        RunConfig config;
        EXPECT_EQ(nearestSetting(given), expected);
        EXPECT_EQ(applySetting(config, given, "1"),
                  "There is no setting \"" + given + "\"; the nearest is " + expected + ".");
        EXPECT_EQ(findSetting(given), nullptr);
    }
    RunConfig config;
    EXPECT_EQ(applySetting(config, "bogus", "1"),
              "There is no setting \"bogus\"; halfscope train --list-settings prints all.");
    EXPECT_EQ(applySetting(config, "lm_head", "fp32"),
              "There is no setting \"lm_head\", which is a module; its format is precision.lm_head.");
}

TEST(Settings, ScalesTakeEveryFormOfNumber)
{
    for (const char* text : {"65536", "6.5536e4", "0x1p16", "2^16"}) {
        RunConfig config;
        config.scaler.initialScale = 1;
        EXPECT_EQ(applySetting(config, "initial-scale", text), std::nullopt);
        EXPECT_EQ(config.scaler.initialScale, 65536.0) << text;
    }
}

TEST(Settings, TheDefaultBoundsCanBeWrittenBack)
{
    RunConfig config;
    const RunConfig before = config;
    for (const char* key : {"min-scale", "max-scale"})
        EXPECT_EQ(applySetting(config, key, settingValue(config, key)), std::nullopt);
    EXPECT_TRUE(config == before);
}

TEST(Settings, ScalerPresetReplacesAllKnobs)
{
    RunConfig config;
    for (const char* assignment : {"growth-factor", "backoff-factor", "growth-interval", "min-scale", "hysteresis",
                                   "hysteresis-kind", "at-min", "initial-scale"})
        ASSERT_EQ(applySetting(config, assignment, samples().find(assignment)->second.good), std::nullopt);
    ASSERT_EQ(applySetting(config, "scaler", "pytorch"), std::nullopt);
    EXPECT_EQ(config.scaler, ScalerConfig{});
}

TEST(Settings, ScalerModes)
{
    RunConfig config;
    applySetting(config, "scaler-mode", "static");
    EXPECT_TRUE(config.scaler.enabled && !config.scaler.dynamic);
    applySetting(config, "scaler-mode", "off");
    EXPECT_FALSE(config.scaler.enabled);
    EXPECT_EQ(settingValue(config, "scaler-mode"), "off");
    applySetting(config, "scaler-mode", "dynamic");
    EXPECT_EQ(config.scaler, ScalerConfig{});
}

TEST(Settings, HysteresisAboveOneIsNeverWithoutEffect)
{
    RunConfig config;
    applySetting(config, "hysteresis", "1");
    EXPECT_EQ(config.scaler.hysteresisKind, HysteresisKind::None);
    applySetting(config, "hysteresis", "3");
    EXPECT_EQ(config.scaler.hysteresisKind, HysteresisKind::Budget);
    applySetting(config, "hysteresis-kind", "consecutive");
    applySetting(config, "hysteresis", "2");
    EXPECT_EQ(config.scaler.hysteresisKind, HysteresisKind::Consecutive);
}

TEST(Settings, PrecisionOfAModule)
{
    RunConfig config;
    EXPECT_EQ(settingValue(config, "precision.h0.mlp.fc"), "fp16"); // by the preset
    EXPECT_EQ(settingValue(config, "precision.loss"), "fp32");
    EXPECT_EQ(applySetting(config, "precision.h0.mlp.fc", "BF16"), std::nullopt);
    EXPECT_EQ(config.modulePrecision.at("h0.mlp.fc"), FormatId::Bf16);
    EXPECT_EQ(settingValue(config, "precision.h0.mlp.fc"), "bf16");
    EXPECT_TRUE(validate(config).empty());
    for (const char* bad : {"fp64", "fp8-e5m2", "half", ""})
        EXPECT_EQ(applySetting(config, "precision.h0.mlp.fc", bad),
                  "precision.h0.mlp.fc = \"" + std::string(bad) +
                      "\" is not allowed; allowed: fp32, tf32, fp16, bf16, fp8.");
    EXPECT_EQ(applySetting(config, "precision", "fp32"), std::nullopt);
    EXPECT_TRUE(config.modulePrecision.empty());
    EXPECT_THAT(*applySetting(config, "precision.MODULE", "fp16"), HasSubstr("put a module's name"));
}

TEST(Settings, LiveFlags)
{
    const std::set<std::string_view> fixed = {"seed",      "task",    "data",       "patch-size", "text",
                                              "backend",   "device",  "threads",    "width",      "depth",
                                              "heads",     "context", "batch",      "mlp-ratio",  "norm",
                                              "tied-head", "causal",  "activation", "dropout",    "shadow-run"};
    for (const SettingInfo& s : settings())
        EXPECT_EQ(s.live, !fixed.contains(s.key)) << s.key;
    EXPECT_TRUE(findSetting("precision.lm_head")->live);
}

TEST(Validate, DefaultsAreValid)
{
    EXPECT_TRUE(validate(RunConfig{}).empty());
    EXPECT_TRUE(validate(defaultExperiment()).empty());
}

TEST(Validate, WhatDoesNotFitTogether)
{
    EXPECT_EQ(onlyProblem({{"width", "100"}, {"heads", "3"}}),
              "width = 100 is not a multiple of heads = 3; choose a width that heads divides.");
    EXPECT_THAT(onlyProblem({{"min-scale", "2^20"}}), testing::StartsWith("initial-scale = 65536 is not allowed"));
    EXPECT_EQ(onlyProblem({{"precision.h9.mlp.fc", "fp32"}}),
              "precision.h9.mlp.fc: there is no module \"h9.mlp.fc\"; the nearest is h0.mlp.fc.");
    EXPECT_EQ(onlyProblem({{"precision.loss", "fp16"}}), "precision.loss = \"fp16\" is not allowed; allowed: fp32.");
    EXPECT_THAT(onlyProblem({{"schedule", "warmup-cosine"}, {"learning-rate", "1e-5"}}),
                HasSubstr("min-learning-rate = 1e-04 is above learning-rate = 1e-05"));
    EXPECT_THAT(onlyProblem({{"batch", "65536"}, {"context", "4096"}}), HasSubstr("activations of more than 2^30"));
    EXPECT_THAT(onlyProblem({{"batch", "8"}, {"context", "8192"}, {"width", "8"}}), HasSubstr("attention maps"));
    EXPECT_THAT(onlyProblem({{"width", "16384"}, {"batch", "1"}, {"context", "8"}, {"mlp-ratio", "64"}}),
                HasSubstr("a weight of more than 2^30"));
}

TEST(Validate, UnknownPrecisionInAConfigurationMadeByHand)
{
    RunConfig config;
    config.precision = "custom";
    EXPECT_THAT(validate(config).front(), testing::StartsWith("precision = \"custom\" is not allowed"));
}

TEST(SettingNumber, Fp32ValuesAsFp32)
{
    EXPECT_EQ(settingNumber(static_cast<double>(0.1F)), "0.1");
    EXPECT_EQ(settingNumber(0.1), "0.1");
    EXPECT_EQ(settingNumber(1e300), "1e+300");
    EXPECT_EQ(settingNumber(65536), "65536");
}

// All samples at once: what files and --set build must survive being written and read.
TEST(Settings, ApplyingEveryValueInOrderRebuildsTheConfiguration)
{
    RunConfig config;
    for (const auto& [key, sample] : samples()) {
        if (key != "precision.MODULE") {
            ASSERT_EQ(applySetting(config, key, sample.good), std::nullopt);
        }
    }
    config.modulePrecision = {{"h0.mlp.fc", FormatId::Bf16}, {"lm_head", FormatId::Fp32}};
    RunConfig rebuilt;
    for (const SettingInfo& s : settings()) {
        if (s.key != "precision.MODULE") {
            ASSERT_EQ(applySetting(rebuilt, s.key, settingValue(config, s.key)), std::nullopt) << s.key;
        }
    }
    rebuilt.modulePrecision = config.modulePrecision;
    EXPECT_TRUE(rebuilt == config);
}

} // namespace
} // namespace halfscope
