// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/run_json.h"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "engine/core/version.h"
#include "engine/io/config_json.h"

namespace halfscope {
namespace {

using Json = nlohmann::ordered_json; // members in the order they are written here

constexpr int kRunJsonVersion = 1;

Json textJson(const RunInfo& info)
{
    Json text;
    text["title"] = info.data.title;
    text["generated"] = info.data.generated;
    text["fnv1a64"] = textHashText(info.data.hash);
    text["vocabulary"] = info.data.vocabulary;
    if (!info.data.notice.empty())
        text["notice"] = info.data.notice;
    return text;
}

Json commandsJson(const std::vector<RecordedCommand>& commands)
{
    Json list = Json::array();
    for (const RecordedCommand& c : commands) {
        Json entry;
        entry["step"] = c.step;
        entry["key"] = c.key;
        entry["value"] = c.value;
        if (!c.tap.empty())
            entry["tap"] = c.tap;
        if (c.since >= 0)
            entry["since"] = c.since;
        list.push_back(std::move(entry));
    }
    return list;
}

// Only of a run whose backend failed. `backend` beside it is the first one.
Json continuationsJson(const RunInfo& info)
{
    Json list = Json::array();
    for (const Continuation& c : info.continuations) {
        Json entry;
        entry["step"] = c.step;
        entry["state_after_step"] = c.stateAfter;
        entry["backend"] = c.to;
        entry["failure"] = c.failure;
        list.push_back(std::move(entry));
    }
    return list;
}

Json modulesJson(const RunInfo& info)
{
    Json list = Json::array();
    for (const ModuleInfo& m : info.modules) {
        Json entry;
        entry["name"] = m.name;
        entry["parameters"] = m.parameters;
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace

std::string textHashText(std::uint64_t hash)
{
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

std::string runJson(const RunInfo& info, const std::vector<RecordedCommand>& commands, const RunTotals& totals)
{
    Json run;
    run["format"] = "halfscope-run";
    run["version"] = kRunJsonVersion;
    run["program"]["name"] = "HalfScope";
    run["program"]["version"] = programVersion();
    run["program"]["compiler"] = compilerDescription();
    run["backend"] = info.continuations.empty() ? info.backend : info.continuations.front().from;
    if (!info.continuations.empty())
        run["continuations"] = continuationsJson(info);
    run["seed"] = info.config.seed;
    run["text"] = textJson(info);
    run["configuration"] = Json::parse(configToJson(info.config));
    run["commands"] = commandsJson(commands);
    run["steps"]["recorded"] = totals.steps;
    run["steps"]["applied"] = totals.applied;
    run["steps"]["skipped"] = totals.skipped;
    run["model"]["parameters"] = info.parameterCount;
    run["model"]["modules"] = modulesJson(info);
    // Names and paths may hold bytes that are not UTF-8; a replacement character is better than no file.
    return run.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace halfscope
