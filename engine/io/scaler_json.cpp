// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/scaler_json.h"

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "engine/core/number_text.h"
#include "engine/io/config_json.h"
#include "engine/io/json_text.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

constexpr int kVersion = 1;
constexpr const char* kFormat = "halfscope-scaler";

[[noreturn]] void fail(const std::string& sentence) { throw std::runtime_error(sentence); }

// JSON has no infinity.
Json numberJson(double value) { return std::isfinite(value) ? Json(value) : Json(numberText(value)); }

const nlohmann::json& member(const nlohmann::json& object, const std::string& key)
{
    const auto found = object.find(key);
    if (found == object.end())
        fail("The state has no member " + inQuotes(key) + "; the file is incomplete.");
    return *found;
}

double number(const nlohmann::json& object, const std::string& key)
{
    const nlohmann::json& value = member(object, key);
    if (value.is_number())
        return value.get<double>();
    const std::optional<double> parsed =
        value.is_string() ? parseDouble(value.get<std::string>()) : std::optional<double>();
    if (!parsed)
        fail("The member " + inQuotes(key) + " of the state must be a number.");
    return *parsed;
}

std::int64_t count(const nlohmann::json& object, const std::string& key, std::int64_t most = 1'000'000'000'000'000)
{
    const nlohmann::json& value = member(object, key);
    if (!value.is_number_integer() || value < 0 || value > most)
        fail("The member " + inQuotes(key) + " of the state must be a whole number from 0 to " + numberText(most) +
             ".");
    return value.get<std::int64_t>();
}

// What is not known would be lost without a word: a misspelt number, or one that another version counts too.
void refuseOthers(const nlohmann::json& object, const Json& known, const std::string& what)
{
    for (const auto& [key, value] : object.items()) {
        if (!known.contains(key))
            fail(what + " has a member " + inQuotes(key) + ", which this HalfScope does not know.");
    }
}

bool flag(const nlohmann::json& object, const std::string& key)
{
    const nlohmann::json& value = member(object, key);
    if (!value.is_boolean())
        fail("The member " + inQuotes(key) + " of the state must be true or false.");
    return value.get<bool>();
}

Json documentOf(const LossScaler::State& state)
{
    RunConfig config;
    config.scaler = state.config;
    Json document;
    document["format"] = kFormat;
    document["version"] = kVersion;
    document["settings"] = Json::parse(settingsToJson(config, "scaler"));
    document["state"] = {{"scale", numberJson(state.scale)},
                         {"growth-tracker", state.growthTracker},
                         {"hysteresis-left", state.hysteresisLeft},
                         {"consecutive-overflows", state.consecutiveOverflows},
                         {"grown", state.grown},
                         {"steps-since-change", state.stepsSinceChange},
                         {"overflows-since-backoff", state.overflowsSinceBackoff}};
    return document;
}

} // namespace

std::string scalerStateToJson(const LossScaler::State& state) { return documentOf(state).dump(2) + "\n"; }

LossScaler::State scalerStateFromJson(std::string_view json)
{
    const nlohmann::json document = parseJson(json);
    if (!document.is_object() || document.value("format", nlohmann::json()) != kFormat)
        fail("This is no scaler's state: it must have \"format\": \"" + std::string(kFormat) + "\".");
    if (document.value("version", nlohmann::json()) != kVersion)
        fail("The state must have \"version\": " + numberText(std::int64_t{kVersion}) +
             "; another HalfScope wrote this one.");
    const Json known = documentOf({});
    refuseOthers(document, known, "The scaler's file");
    const nlohmann::json& stored = member(document, "state");
    if (!stored.is_object())
        fail("The member \"state\" must be an object.");
    refuseOthers(stored, known["state"], "The state");
    nlohmann::json configuration;
    configuration["format"] = "halfscope-config";
    configuration["version"] = kConfigVersion;
    configuration["settings"] = member(document, "settings");
    const nlohmann::json& given = configuration["settings"];
    for (const SettingInfo& setting : settings()) { // a default in the place of one would be another rule
        if (setting.group == "scaler" && given.is_object() && !given.contains(setting.key))
            fail("The settings lack " + inQuotes(setting.key) + ".");
    }
    for (const auto& [key, value] : given.items()) { // unknown ones are refused below
        if (const SettingInfo* setting = findSetting(key); setting != nullptr && setting->group != "scaler")
            fail("The settings have " + inQuotes(key) + ", which is not one of the scaler's.");
    }
    LossScaler::State state;
    state.config = configFromJson(configuration.dump()).scaler;
    state.scale = number(stored, "scale");
    state.growthTracker = count(stored, "growth-tracker");
    state.hysteresisLeft = static_cast<int>(count(stored, "hysteresis-left", std::numeric_limits<int>::max()));
    state.consecutiveOverflows = count(stored, "consecutive-overflows");
    state.grown = flag(stored, "grown");
    state.stepsSinceChange = count(stored, "steps-since-change");
    state.overflowsSinceBackoff = count(stored, "overflows-since-backoff");
    if (const std::optional<ConfigProblem> problem = LossScaler::validateState(state))
        fail(problem->message());
    return state;
}

LossScaler::State loadScalerState(const std::filesystem::path& file)
{
    const std::string text = readTextFile(file, "scaler's state");
    try {
        return scalerStateFromJson(text);
    } catch (const std::runtime_error& e) {
        fail(file.string() + ": " + e.what());
    }
}

} // namespace halfscope
