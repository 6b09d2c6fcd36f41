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

// The forms in which a run's file writes a command; those of parseAt() and parseInjection() say the same.
TimedCommand command(const nlohmann::json& entry)
{
    const auto step = numberText(entry.at("step").get<std::int64_t>());
    const auto key = entry.at("key").get<std::string>();
    const auto value = entry.at("value").get<std::string>();
    if (!key.starts_with(kInject))
        return parseAt(step + ":" + key + "=" + value);
    std::string target = key.substr(kInject.size());
    if (target == "bad-batch")
        return parseInjection(step + ":" + target);
    if (const auto tap = entry.find("tap"); tap != entry.end())
        target += "/" + tap->get<std::string>();
    return parseInjection(step + ":" + target + ":" + value);
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
        for (const nlohmann::json& entry : document.at("commands")) {
            run.commands.push_back(command(entry));
            run.commands.back().recorded = true;
        }
        run.steps = document.at("steps").at("recorded").get<std::int64_t>();
    } catch (const UsageError& e) {
        throw UsageError(file.string() + ": " + e.what());
    } catch (const nlohmann::json::exception&) {
        throw UsageError(file.string() + ": its commands or steps are not as HalfScope writes them.");
    }
    return run;
}

} // namespace halfscope
