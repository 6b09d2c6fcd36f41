// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/config_json.h"

#include <optional>
#include <stdexcept>

#include "engine/core/number_text.h"
#include "engine/io/json_text.h"
#include "engine/train/settings_registry.h"
#include "engine/train/settings_table.h"

namespace halfscope {

namespace {

[[noreturn]] void fail(const std::string& sentence) { throw std::runtime_error(sentence); }

// A number where the text is one, so that other programs need not parse strings.
Json settingJson(std::string_view key, const std::string& text)
{
    if (text == "on" || text == "off")
        return text == "on";
    if (key == "text" || key == "data" || key == "backend" || key == "device" || key == kPrecisionScheduleKey)
        return text;
    if (const std::optional<std::uint64_t> whole = parseUnsigned(text); whole && numberText(*whole) == text)
        return *whole;
    // Only where the double is written with the digits that the setting has: an FP32 setting's shortest text would
    // come out of a double with more.
    if (const std::optional<double> real = parseDouble(text); real && numberText(*real) == text)
        return *real;
    return text;
}

// Of one group, or of all.
Json settingsObject(const RunConfig& config, std::string_view group = {})
{
    Json object = Json::object();
    for (const SettingInfo& setting : settings()) {
        if (!group.empty() && setting.group != group)
            continue;
        if (setting.key != kModulePrecisionKey) {
            object[std::string(setting.key)] = settingJson(setting.key, settingValue(config, setting.key));
            continue;
        }
        for (const auto& [module, format] : config.modulePrecision)
            object[std::string(kModulePrecisionPrefix) + module] = std::string(moduleFormatKey(format));
    }
    return object;
}

std::string valueText(const std::string& key, const nlohmann::json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_boolean())
        return value.get<bool>() ? "on" : "off";
    if (value.is_number_unsigned())
        return numberText(value.get<std::uint64_t>());
    if (value.is_number_integer())
        return numberText(value.get<std::int64_t>());
    if (value.is_number_float())
        return numberText(value.get<double>());
    fail("The value of " + inQuotes(key) + " must be a number, a text, true or false, not " +
         (value.is_null()    ? std::string("null")
          : value.is_array() ? "a list"
                             : "an object") +
         ".");
}

// The object {format, version, settings} in a configuration or a run file.
const nlohmann::json& configurationOf(const nlohmann::json& document)
{
    if (!document.is_object())
        fail("A configuration must be a JSON object with the members format, version and settings.");
    if (const auto it = document.find("configuration"); it != document.end() && it->is_object())
        return *it;
    return document;
}

void checkHead(const nlohmann::json& configuration)
{
    const auto format = configuration.find("format");
    if (format == configuration.end() || *format != "halfscope-config")
        fail("This is no HalfScope configuration: it must have \"format\": \"halfscope-config\".");
    const auto version = configuration.find("version");
    if (version == configuration.end() || !version->is_number_integer() || *version < 1)
        fail("The configuration must have \"version\": " + numberText(std::int64_t{kConfigVersion}) + ".");
    if (*version > kConfigVersion)
        fail("The configuration has version " + valueText("version", *version) +
             ", made by a newer HalfScope; this one reads up to version " + numberText(std::int64_t{kConfigVersion}) +
             ".");
    for (const auto& [key, value] : configuration.items()) {
        if (key != "format" && key != "version" && key != "settings")
            fail("The configuration has an unknown member " + inQuotes(key) +
                 "; settings belong into the member \"settings\".");
    }
    const auto settingsMember = configuration.find("settings");
    if (settingsMember == configuration.end() || !settingsMember->is_object())
        fail("The configuration must have a member \"settings\" that is an object.");
}

} // namespace

std::string settingsToJson(const RunConfig& config, int indent)
{
    const std::string text = settingsObject(config).dump(2, ' ', false, Json::error_handler_t::replace);
    std::string shifted;
    for (const char c : text) {
        shifted += c;
        if (c == '\n')
            shifted.append(static_cast<std::size_t>(indent), ' ');
    }
    return shifted;
}

std::string settingsToJson(const RunConfig& config, std::string_view group)
{
    return settingsObject(config, group).dump();
}

std::string configToJson(const RunConfig& config)
{
    Json document;
    document["format"] = "halfscope-config";
    document["version"] = kConfigVersion;
    document["settings"] = settingsObject(config);
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunConfig configFromJson(std::string_view json, const RunConfig& base)
{
    const nlohmann::json document = parseJson(json);
    const nlohmann::json& configuration = configurationOf(document);
    checkHead(configuration);
    const nlohmann::json& given = configuration["settings"];

    RunConfig config = base;
    const auto apply = [&](const std::string& key) {
        if (std::optional<std::string> problem = applySetting(config, key, valueText(key, given[key])))
            fail(*problem);
    };
    // In the registry's order, whatever the file's: a preset comes before the settings that refine it.
    for (const SettingInfo& setting : settings()) {
        if (given.contains(std::string(setting.key)) && setting.key != kModulePrecisionKey)
            apply(std::string(setting.key));
    }
    for (const auto& [key, value] : given.items()) {
        const SettingInfo* setting = findSetting(key);
        if (!setting || setting->key == kModulePrecisionKey)
            apply(key);
    }
    return config;
}

RunConfig loadConfigFile(const std::filesystem::path& file, const RunConfig& base)
{
    const std::string text = readTextFile(file, "configuration");
    try {
        return configFromJson(text, base);
    } catch (const std::runtime_error& e) {
        fail(file.string() + ": " + e.what());
    }
}

} // namespace halfscope
