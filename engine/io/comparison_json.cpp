// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/comparison_json.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/core/number_text.h"
#include "engine/io/atomic_file.h"
#include "engine/io/config_json.h"
#include "engine/io/json_text.h"
#include "engine/io/run_json.h"

namespace halfscope {

namespace {

constexpr int kVersion = 1;
constexpr const char* kFormat = "halfscope-comparison";

[[noreturn]] void fail(const std::string& sentence) { throw std::runtime_error(sentence); }

// JSON has no word for what is not finite.
Json number(double value)
{
    if (std::isfinite(value))
        return value;
    return numberText(value);
}

double number(const nlohmann::json& value)
{
    if (value.is_number())
        return value.get<double>();
    const std::optional<double> parsed = value.is_string() ? parseDouble(value.get<std::string>()) : std::nullopt;
    if (!parsed)
        fail("A number is missing in the comparison's file.");
    return *parsed;
}

Json numbers(const std::vector<double>& values)
{
    Json list = Json::array();
    for (const double value : values)
        list.push_back(number(value));
    return list;
}

std::vector<double> numbers(const nlohmann::json& list)
{
    std::vector<double> values;
    values.reserve(list.size());
    for (const nlohmann::json& value : list)
        values.push_back(number(value));
    return values;
}

Json toJson(const ComparedRun& run)
{
    Json json;
    json["format"] = run.format;
    json["seed"] = run.seed;
    json["scaler"] = run.scaler;
    json["end"] = runEndKey(run.end);
    json["reason"] = run.reason;
    json["skipped"] = run.skipped;
    json["final_scale"] = number(run.finalScale);
    json["step_ms"] = run.stepMs;
    json["bytes"] = {{"weights", run.bytes.weights},
                     {"gradients", run.bytes.gradients},
                     {"moments", run.bytes.moments},
                     {"activations", run.bytes.activations}};
    json["loss"] = numbers(run.loss);
    json["accuracy"] = numbers(run.accuracy);
    Json heldOut = Json::array();
    for (const HeldOut& point : run.heldOut)
        heldOut.push_back(Json::array({point.step, number(point.loss), number(point.accuracy)}));
    json["held_out"] = std::move(heldOut);
    return json;
}

RunEnd runEnd(const std::string& key)
{
    for (const RunEnd end : {RunEnd::Completed, RunEnd::EndedEarly, RunEnd::Failed}) {
        if (runEndKey(end) == key)
            return end;
    }
    fail("A run of the comparison ended in an unknown way, " + inQuotes(key) + ".");
}

Computed computed(const std::string& key)
{
    for (const Computed c : {Computed::Native, Computed::LinearOnly, Computed::Emulated}) {
        if (computedKey(c) == key)
            return c;
    }
    fail("A format of the comparison is computed in an unknown way, " + inQuotes(key) + ".");
}

// get() would turn 1e308 into any number.
std::int64_t whole(const nlohmann::json& json)
{
    if (!json.is_number_integer())
        fail("The comparison's file has " + json.dump() + " where a whole number must be.");
    return json.get<std::int64_t>();
}

ComparedRun runFromJson(const nlohmann::json& json)
{
    ComparedRun run;
    run.format = json.at("format").get<std::string>();
    run.seed = json.at("seed").get<std::uint64_t>();
    run.scaler = json.at("scaler").get<std::string>();
    run.end = runEnd(json.at("end").get<std::string>());
    run.reason = json.at("reason").get<std::string>();
    run.skipped = whole(json.at("skipped"));
    run.finalScale = number(json.at("final_scale"));
    run.stepMs = json.at("step_ms").get<double>();
    const nlohmann::json& bytes = json.at("bytes");
    run.bytes = {bytes.at("weights").get<double>(), bytes.at("gradients").get<double>(),
                 bytes.at("moments").get<double>(), bytes.at("activations").get<double>()};
    run.loss = numbers(json.at("loss"));
    run.accuracy = numbers(json.at("accuracy"));
    for (const nlohmann::json& point : json.at("held_out"))
        run.heldOut.push_back({whole(point.at(0)), number(point.at(1)), number(point.at(2))});
    return run;
}

bool isShare(double value) { return std::isnan(value) || (value >= 0 && value <= 1); }

// Figures that no run has.
bool isPossible(const ComparedRun& run)
{
    const MemoryUse& bytes = run.bytes;
    return run.skipped >= 0 && run.skipped <= static_cast<std::int64_t>(run.loss.size()) && !(run.finalScale < 0) &&
           run.stepMs >= 0 && std::ranges::all_of(run.accuracy, isShare) &&
           std::min({bytes.weights, bytes.gradients, bytes.moments, bytes.activations}) >= 0 &&
           std::ranges::all_of(run.heldOut, [](const HeldOut& p) { return p.step >= 1 && isShare(p.accuracy); });
}

// A file of ours that was edited: what does not fit the plan would end up in the wrong row.
void check(const Comparison& comparison)
{
    const ComparisonPlan& plan = comparison.plan;
    if (const auto problem = problemOf(plan))
        fail(*problem);
    if (!comparison.computed.empty() && comparison.computed.size() != plan.formats.size())
        fail("The comparison's file does not say how each format is computed.");
    for (const FormatSpeed& speed : comparison.speeds) {
        if (!(speed.stepsPerSecond >= 0) || !(speed.relative >= 0))
            fail("The comparison's file has a speed of " + inQuotes(speed.format) + " that was not measured.");
    }
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        const ComparedRunPtr& run = comparison.runs[i];
        if (!run)
            continue;
        const auto steps = static_cast<std::int64_t>(run->loss.size());
        const RunConfig config = configOf(plan, i);
        const bool fits = run->format == config.precision && run->seed == config.seed && steps <= plan.steps &&
                          (run->end != RunEnd::Completed || steps == plan.steps) &&
                          (run->accuracy.empty() || run->accuracy.size() == run->loss.size()) && isPossible(*run);
        if (!fits)
            fail("Run " + numberText(static_cast<std::uint64_t>(i + 1)) +
                 " in the comparison's file is not the one that its settings ask for.");
    }
}

} // namespace

std::string comparisonToJson(const Comparison& comparison)
{
    const ComparisonPlan& plan = comparison.plan;
    Json json;
    json["format"] = kFormat;
    json["version"] = kVersion;
    json["formats"] = plan.formats;
    json["seeds"] = plan.seeds;
    json["steps"] = plan.steps;
    json["configuration"] = Json::parse(configToJson(plan.base));
    json["backend"] = comparison.backend;
    json["data"]["title"] = comparison.data;
    json["data"]["fnv1a64"] = textHashText(comparison.dataHash);
    json["computed"] = Json::array();
    for (const Computed c : comparison.computed)
        json["computed"].push_back(computedKey(c));
    json["speed_measured"] = comparison.speedMeasured;
    json["speeds"] = Json::array();
    for (const FormatSpeed& s : comparison.speeds)
        json["speeds"].push_back(
            {{"format", s.format}, {"steps_per_second", s.stepsPerSecond}, {"relative", s.relative}});
    json["runs"] = Json::array();
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        if (!comparison.runs[i])
            continue;
        Json run = {{"run", i + 1}};
        run.update(toJson(*comparison.runs[i]));
        json["runs"].push_back(std::move(run));
    }
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Comparison comparisonFromJson(std::string_view text)
{
    const nlohmann::json json = parseJson(text);
    if (!json.is_object() || !json.contains("format") || json["format"] != kFormat)
        fail(std::string("This is no comparison of HalfScope: it must have \"format\": \"") + kFormat + "\".");
    if (!json.contains("version") || json["version"] != kVersion)
        fail("The comparison was written by another version of HalfScope; this one reads version " +
             numberText(std::int64_t{kVersion}) + ".");
    try {
        ComparisonPlan plan;
        plan.formats = json.at("formats").get<std::vector<std::string>>();
        plan.seeds = static_cast<int>(std::clamp<std::int64_t>(whole(json.at("seeds")), 0, kMostSeeds + 1));
        plan.steps = whole(json.at("steps"));
        plan.base = configFromJson(json.at("configuration").dump());
        if (const auto problem = problemOf(plan))
            fail(*problem);
        Comparison comparison(std::move(plan));
        comparison.backend = json.at("backend").get<std::string>();
        comparison.data = json.at("data").at("title").get<std::string>();
        comparison.dataHash = std::stoull(json.at("data").at("fnv1a64").get<std::string>(), nullptr, 16);
        for (const nlohmann::json& c : json.at("computed"))
            comparison.computed.push_back(computed(c.get<std::string>()));
        comparison.speedMeasured = json.at("speed_measured").get<bool>();
        for (const nlohmann::json& s : json.at("speeds"))
            comparison.speeds.push_back({s.at("format").get<std::string>(), s.at("steps_per_second").get<double>(),
                                         s.at("relative").get<double>()});
        for (const nlohmann::json& run : json.at("runs")) {
            const std::int64_t index = whole(run.at("run"));
            if (index < 1 || index > static_cast<std::int64_t>(comparison.runs.size()))
                fail("The comparison's file has a run " + numberText(index) + ", but there are only " +
                     numberText(std::uint64_t{comparison.runs.size()}) + ".");
            comparison.runs[static_cast<std::size_t>(index - 1)] = std::make_shared<ComparedRun>(runFromJson(run));
        }
        check(comparison);
        return comparison;
    } catch (const nlohmann::json::exception&) {
        fail("The comparison's file is incomplete or was changed by hand.");
    } catch (const std::logic_error&) { // of stoull
        fail("The comparison's file is incomplete or was changed by hand.");
    }
}

void saveComparison(const std::filesystem::path& file, const Comparison& comparison)
{
    AtomicFile out(file);
    out.write(comparisonToJson(comparison));
    out.publish();
}

Comparison loadComparison(const std::filesystem::path& file)
{
    const std::string text = readTextFile(file, "comparison");
    try {
        return comparisonFromJson(text);
    } catch (const std::runtime_error& e) {
        fail(file.string() + ": " + e.what());
    }
}

} // namespace halfscope
