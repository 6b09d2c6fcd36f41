// SPDX-License-Identifier: GPL-3.0-or-later
// Every preset against what its original does: tests/golden/scaler_traces.json was written by make_scaler_traces.py,
// which ran the frameworks' own classes. The bits of the scale after every step, and the step at which the original
// raised.
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/amp/scaler_simulation.h"
#include "engine/core/number_text.h"
#include "engine/io/json_text.h"
#include "engine/train/settings_registry.h"

namespace halfscope {
namespace {

const nlohmann::json& golden()
{
    static const nlohmann::json traces =
        parseJson(readTextFile(HALFSCOPE_SOURCE_DIR "/tests/golden/scaler_traces.json", "traces"));
    return traces;
}

double exact(const std::string& hexadecimal) { return std::strtod(hexadecimal.c_str(), nullptr); }

std::string describe(const nlohmann::json& oneCase)
{
    return oneCase["preset"].get<std::string>() + " " + oneCase["settings"].dump();
}

// The scaler of a case as it starts. A run may not start beyond FP32, but a state may be there.
LossScaler scalerOf(const nlohmann::json& oneCase)
{
    RunConfig config;
    EXPECT_FALSE(applySetting(config, "scaler", oneCase["preset"].get<std::string>()).has_value());
    // In an order in which a factor comes before its reciprocal.
    std::map<std::string, std::string, std::greater<>> settings;
    for (const auto& [key, value] : oneCase["settings"].items())
        settings[key] = value.get<std::string>();
    std::optional<double> beyondFp32;
    for (const auto& [key, value] : settings) {
        if (key == "initial-scale" && parseDouble(value).value_or(0.0) > kHighestUsableScale) {
            beyondFp32 = parseDouble(value);
            continue;
        }
        const auto problem = applySetting(config, key, value);
        EXPECT_FALSE(problem.has_value()) << describe(oneCase) << *problem;
    }
    const std::vector<ConfigProblem> problems = validate(config.scaler);
    EXPECT_TRUE(problems.empty()) << describe(oneCase) << problems.front().message();
    LossScaler scaler(config.scaler);
    if (beyondFp32) {
        LossScaler::State state = scaler.state();
        state.scale = *beyondFp32;
        EXPECT_FALSE(scaler.restore(state).has_value());
    }
    return scaler;
}

template <typename T, typename Read>
std::vector<T> expand(const nlohmann::json& runs, const Read& read)
{
    std::vector<T> all;
    for (const nlohmann::json& run : runs)
        all.insert(all.end(), run[1].get<std::size_t>(), read(run[0]));
    return all;
}

TEST(ScalerGolden, EveryPresetIsItsOriginalToTheBit)
{
    std::map<std::string, int> cases;
    for (const nlohmann::json& oneCase : golden()["cases"]) {
        const std::string what = describe(oneCase);
        LossScaler scaler = scalerOf(oneCase);
        const std::vector<bool> overflows = parseOverflows(oneCase["overflows"].get<std::string>());
        std::vector<SimulatedStep> steps;
        simulate(scaler, static_cast<std::int64_t>(overflows.size()), overflowsOf(overflows), nullptr,
                 [&](const SimulatedStep& step) {
                     steps.push_back(step);
                     return true;
                 });
        const auto scales =
            expand<double>(oneCase["scales"], [](const nlohmann::json& x) { return exact(x.get<std::string>()); });
        // DeepSpeed raises at an infinite scale because it cannot print it; that is no part of its rule.
        const bool unprintable = what.starts_with("deepspeed") && std::isinf(scales.back());
        if (unprintable)
            steps.resize(scales.size());
        ASSERT_EQ(steps.size(), scales.size()) << what;
        for (std::size_t i = 0; i < steps.size(); ++i)
            ASSERT_EQ(steps[i].scaleAfter, scales[i]) << what << " step " << i + 1;
        const nlohmann::json raisedAt = unprintable ? nlohmann::json() : oneCase["raised_at"];
        for (const SimulatedStep& step : steps)
            ASSERT_EQ(step.raised, raisedAt.is_number() && raisedAt == step.step) << what << " step " << step.step;
        ++cases[oneCase["preset"].get<std::string>()];
    }
    for (const ScalerPreset& preset : scalerPresets()) {
        const bool fixed = !preset.config.dynamic || !preset.config.enabled;
        EXPECT_EQ(cases[std::string(preset.key)] >= 10, !fixed) << preset.key;
    }
}

} // namespace
} // namespace halfscope
