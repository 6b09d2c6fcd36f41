// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/config_json.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "engine/train/settings_registry.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

std::string wrap(const std::string& settings)
{
    return R"({"format": "halfscope-config", "version": 1, "settings": {)" + settings + "}}";
}

std::string refusal(const std::string& json)
{
    try {
        configFromJson(json);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return {};
}

RunConfig changedEverywhere()
{
    RunConfig c;
    c.seed = 18446744073709551615ULL;
    c.text = "a \"b\"\\ü.txt";
    c.threads = 3;
    c.model.width = 96;
    c.model.heads = 3;
    c.model.preNorm = false;
    c.model.tiedHead = true;
    c.model.activation = Activation::Relu;
    c.model.dropout = 0.1F;
    c.optimizer.learningRate = 3e-4F;
    c.optimizer.schedule = LearningRateSchedule::WarmupCosine;
    c.optimizer.beta2 = 0.95;
    c.optimizer.epsilon = 1e-6F;
    c.scaler = findScalerPreset("static")->config;
    c.scaler.initialScale = 1234.5;
    c.scaler.growthFactor = 1.7;
    c.scaler.hysteresis = 4;
    c.scaler.hysteresisKind = HysteresisKind::Consecutive;
    c.scaler.atMinimum = AtMinimum::Sanitise;
    c.precision = "mixed-bf16";
    c.modulePrecision = {{"h0.mlp.fc", FormatId::Fp32}, {"lm_head", FormatId::Fp16}};
    c.statisticsInterval = 7;
    c.measureActivations = true;
    c.lowQuantile = 0.05;
    return c;
}

TEST(ConfigJson, RoundTripsEverything)
{
    for (const RunConfig& config : {RunConfig{}, defaultExperiment(), changedEverywhere()}) {
        for (const RunConfig& base : {RunConfig{}, changedEverywhere()}) // every key is there, so the base is forgotten
            EXPECT_TRUE(configFromJson(configToJson(config), base) == config) << configToJson(config);
    }
}

TEST(ConfigJson, TheTextIsTheSameForTheSameConfiguration)
{
    const std::string text = configToJson(changedEverywhere());
    EXPECT_EQ(configToJson(configFromJson(text)), text);
    EXPECT_THAT(text,
                testing::StartsWith("{\n  \"format\": \"halfscope-config\",\n  \"version\": 1,\n  \"settings\": {\n    "
                                    "\"seed\": 18446744073709551615,\n"));
    // The registry's order, whatever order anything was set in.
    std::size_t at = 0;
    for (const SettingInfo& s : settings()) {
        if (s.key == "precision.MODULE")
            continue;
        const std::size_t found = text.find("\"" + std::string(s.key) + "\":");
        ASSERT_NE(found, std::string::npos) << s.key;
        EXPECT_GT(found, at) << s.key;
        at = found;
    }
}

TEST(ConfigJson, NumbersAreNumbers)
{
    const std::string text = configToJson(changedEverywhere());
    EXPECT_THAT(text, HasSubstr("\"learning-rate\": 0.0003,"));
    EXPECT_THAT(text, HasSubstr("\"initial-scale\": 1234.5,"));
    EXPECT_THAT(text, HasSubstr("\"tied-head\": true,"));
    EXPECT_THAT(text, HasSubstr("\"precision.h0.mlp.fc\": \"fp32\","));
}

TEST(ConfigJson, MissingKeysKeepTheBase)
{
    RunConfig base;
    base.model.width = 64;
    const RunConfig config = configFromJson(wrap(R"("depth": 2)"), base);
    EXPECT_EQ(config.model.width, 64);
    EXPECT_EQ(config.model.depth, 2);
}

TEST(ConfigJson, ValuesMayBeTheTextOfSet)
{
    const RunConfig config =
        configFromJson(wrap(R"("initial-scale": "2^12", "tied-head": "on", "activation-grads": false, "width": 64.0)"));
    EXPECT_EQ(config.scaler.initialScale, 4096.0);
    EXPECT_TRUE(config.model.tiedHead);
    EXPECT_FALSE(config.measureActivationGrads);
    EXPECT_EQ(config.model.width, 64);
}

TEST(ConfigJson, PresetsComeBeforeWhatRefinesThemInAnyOrder)
{
    const RunConfig config = configFromJson(
        wrap(R"("precision.lm_head": "fp32", "growth-interval": 7, "scaler": "pytorch", "precision": "pure-fp16")"));
    EXPECT_EQ(config.scaler.growthInterval, 7);
    EXPECT_EQ(config.scaler.initialScale, 65536.0);
    EXPECT_EQ(config.modulePrecision.at("lm_head"), FormatId::Fp32);
}

TEST(ConfigJson, ARunsFileIsRead)
{
    const std::string run =
        R"({"format": "halfscope-run", "version": 1, "configuration": )" + configToJson(changedEverywhere()) + "}";
    EXPECT_TRUE(configFromJson(run) == changedEverywhere());
}

TEST(ConfigJson, RefusalsAreOneSentence)
{
    EXPECT_EQ(refusal(wrap(R"("growth_interval": 3)")),
              "There is no setting \"growth_interval\"; the nearest is growth-interval.");
    EXPECT_THAT(refusal(wrap(R"("growth-interval": 0)")),
                testing::StartsWith("growth-interval = \"0\" is not allowed"));
    EXPECT_THAT(refusal(wrap(R"("width": 1.5)")), testing::StartsWith("width = \"1.5\" is not allowed"));
    EXPECT_EQ(refusal(wrap(R"("width": [1])")),
              "The value of \"width\" must be a number, a text, true or false, not a list.");
    EXPECT_THAT(refusal(wrap(R"("width": null)")), HasSubstr("not null"));
    EXPECT_THAT(refusal(wrap(R"("width": {})")), HasSubstr("not an object"));
    EXPECT_EQ(refusal(wrap(R"("width": 8, "width": 16)")), "The key \"width\" is there twice; keep one.");
    EXPECT_EQ(refusal("{\n  \"format\": oops\n}"), "This is not JSON: something is wrong at line 2, column 13.");
    EXPECT_THAT(refusal(""), testing::StartsWith("This is not JSON"));
    EXPECT_THAT(refusal(wrap(R"("seed": 1e999)")), testing::StartsWith("This is not JSON that can be read"));
    EXPECT_THAT(refusal("[]"), testing::StartsWith("A configuration must be a JSON object"));
    EXPECT_THAT(refusal("{}"), HasSubstr("\"format\": \"halfscope-config\""));
    EXPECT_THAT(refusal(R"({"format": "halfscope-config", "settings": {}})"), HasSubstr("\"version\": 1"));
    EXPECT_EQ(refusal(R"({"format": "halfscope-config", "version": 2, "settings": {}})"),
              "The configuration has version 2, made by a newer HalfScope; this one reads up to version 1.");
    EXPECT_THAT(refusal(R"({"format": "halfscope-config", "version": 1})"),
                HasSubstr("\"settings\" that is an object"));
    EXPECT_EQ(refusal(R"({"format": "halfscope-config", "version": 1, "settings": {}, "width": 8})"),
              "The configuration has an unknown member \"width\"; settings belong into the member \"settings\".");
}

TEST(ConfigJson, FilesNameThemselvesInErrors)
{
    const std::filesystem::path folder = testing::TempDir();
    const std::filesystem::path file = folder / "halfscope_config_test.json";
    std::ofstream(file) << wrap(R"("widht": 8)");
    const auto message = [](const std::filesystem::path& path) -> std::string {
        try {
            loadConfigFile(path);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return {};
    };
    EXPECT_EQ(message(file), file.string() + ": There is no setting \"widht\"; the nearest is width.");
    std::filesystem::remove(file);
    EXPECT_THAT(message(file), HasSubstr(file.string() + " cannot be read: No such file"));
    EXPECT_THAT(message(folder), HasSubstr("is a folder"));
}

} // namespace
} // namespace halfscope
