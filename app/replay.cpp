// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/replay.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/exit_status.h"
#include "engine/core/number_text.h"
#include "engine/io/config_json.h"

namespace halfscope {

namespace {

constexpr std::string_view kInject = "inject.";
constexpr int kRunVersion = 1;

// The forms in which a run's file writes a command; those of parseAt() and parseInjection() say the same.
TimedCommand command(const nlohmann::json& entry)
{
    const auto step = numberText(entry.at("step").get<std::int64_t>());
    const auto key = entry.at("key").get<std::string>();
    const auto value = entry.at("value").get<std::string>();
    if (!key.starts_with(kInject)) {
        TimedCommand timed = parseAt(step + ":" + key + "=" + value);
        if (const auto since = entry.find("since"); since != entry.end()) {
            auto* set = std::get_if<SetSetting>(&timed.command);
            if (set == nullptr || !since->is_number_integer() || *since < 0)
                throw UsageError("its command " + key + " has a \"since\" that is no step.");
            set->since = since->get<std::int64_t>();
        }
        return timed;
    }
    std::string target = key.substr(kInject.size());
    if (target == "bad-batch")
        return parseInjection(step + ":" + target);
    if (const auto tap = entry.find("tap"); tap != entry.end())
        target += "/" + tap->get<std::string>();
    return parseInjection(step + ":" + target + ":" + value);
}

bool giveTheSame(const std::string& a, const std::string& b)
{
    constexpr std::string_view kCpu = "CPU ";
    return a == b || (a.starts_with(kCpu) && b.starts_with(kCpu));
}

} // namespace

RecordedRun loadRecordedRun(const std::filesystem::path& file)
{
    RecordedRun run;
    try {
        run.config = loadConfigFile(file);
    } catch (const std::runtime_error& e) {
        throw UsageError(e.what());
    }
    try {
        std::ifstream in(file, std::ios::binary);
        const nlohmann::json document = nlohmann::json::parse(in);
        if (document.value("format", "") != "halfscope-run")
            throw UsageError("it is not the run.json of a run; use --config for a configuration.");
        if (document.value("version", 0) != kRunVersion)
            throw UsageError("its version is not " + numberText(std::int64_t{kRunVersion}) +
                             "; another HalfScope wrote it.");
        const nlohmann::json& commands = document.at("commands");
        if (!commands.is_array())
            throw UsageError("its commands are not a list.");
        for (const nlohmann::json& entry : commands) {
            run.commands.push_back(command(entry));
            run.commands.back().recorded = true;
        }
        const nlohmann::json& recorded = document.at("steps").at("recorded");
        if (!recorded.is_number_integer() || recorded < 1 || recorded > kMostSteps)
            throw UsageError("its number of recorded steps must be a whole number from 1 to " + numberText(kMostSteps) +
                             ".");
        run.steps = recorded.get<std::int64_t>();
        if (document.at("seed") != run.config.seed)
            throw UsageError("its seed is not that of its configuration; it was changed by hand.");
        run.textHash = document.at("text").at("fnv1a64").get<std::string>();
        run.backend = document.at("backend").get<std::string>();
        for (const nlohmann::json& entry : document.value("continuations", nlohmann::json::array()))
            run.continuations.push_back({entry.at("step").get<std::int64_t>(), entry.at("backend").get<std::string>()});
        // What somebody did after the last step changed nothing in the steps there are.
        std::erase_if(run.commands, [&](const TimedCommand& c) { return c.step > run.steps; });
    } catch (const UsageError& e) {
        throw UsageError(file.string() + ": " + e.what());
    } catch (const nlohmann::json::exception&) {
        throw UsageError(file.string() + ": its commands or steps are not as HalfScope writes them.");
    }
    return run;
}

std::string replayDiffers(const RecordedRun& run, const std::string& backend, const std::string& file)
{
    std::int64_t from = 1;
    std::string there = run.backend;
    for (const RecordedRun::Continuation& c : run.continuations) {
        if (!giveTheSame(there, backend))
            break;
        from = c.step;
        there = c.backend;
    }
    if (from > run.steps || giveTheSame(there, backend))
        return {};
    return "The steps of " + file + " from " + numberText(from) + " on were computed by \"" + there +
           "\", and are by \"" + backend + "\" now: their figures may differ in the last digits.";
}

} // namespace halfscope
