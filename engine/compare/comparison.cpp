// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/comparison.h"

#include <algorithm>
#include <set>

#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/model/precision_plan.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

constexpr int kFp32ExponentBits = 8;

std::string inQuotes(std::string_view text) { return '"' + std::string(text) + '"'; }

bool needsScale(const RunConfig& config)
{
    const PrecisionPlan plan = makePlan(config.precision, listModules(config.model)).value_or(PrecisionPlan());
    return std::any_of(plan.begin(), plan.end(), [](FormatId format) {
        return floatFormat(storageFormat(format)).exponentBits < kFp32ExponentBits;
    });
}

std::optional<std::string> unknownFormat(const std::string& format)
{
    std::vector<std::string_view> keys;
    for (const PrecisionPreset& preset : precisionPresets())
        keys.push_back(preset.key);
    if (std::find(keys.begin(), keys.end(), format) != keys.end())
        return std::nullopt;
    return "There is no precision preset " + inQuotes(format) + nearestHint(format, keys);
}

double meanOfLast(const std::vector<double>& values, std::int64_t last)
{
    const std::size_t count = std::min(values.size(), static_cast<std::size_t>(last));
    if (count == 0)
        return ComparedRun::kNone;
    double sum = 0.0;
    for (std::size_t i = values.size() - count; i < values.size(); ++i)
        sum += values[i];
    return sum / static_cast<double>(count);
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ",") + word;
    return text;
}

} // namespace

std::int64_t ComparisonPlan::lastSteps() const { return std::clamp<std::int64_t>(steps / 10, 1, 100); }

std::optional<std::string> problemOf(const ComparisonPlan& plan)
{
    if (plan.formats.empty())
        return "There is nothing to compare: name one or more formats.";
    std::set<std::string> seen;
    for (const std::string& format : plan.formats) {
        if (auto problem = unknownFormat(format))
            return problem;
        if (!seen.insert(format).second)
            return "The format " + inQuotes(format) + " is named twice; once is enough.";
    }
    if (plan.seeds < 1 || plan.seeds > kMostSeeds)
        return "The number of seeds must be from 1 to " + numberText(std::int64_t{kMostSeeds}) + ".";
    const auto runs = static_cast<std::int64_t>(plan.runs());
    if (plan.steps < 1 || plan.steps > kMostComparedSteps / runs)
        return "The number of steps must be from 1 to " + numberText(kMostComparedSteps / runs) + " with " +
               numberText(runs) + (runs == 1 ? " run." : " runs.");
    if (plan.base.seed > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(plan.seeds - 1))
        return "There are not so many seeds after " + numberText(plan.base.seed) + "; begin with a smaller one.";
    for (std::size_t i = 0; i < plan.formats.size(); ++i) {
        const std::vector<std::string> problems = validate(configOf(plan, i));
        if (!problems.empty())
            return problems.front();
    }
    return std::nullopt;
}

std::optional<std::string> differenceOf(const ComparisonPlan& there, const ComparisonPlan& here)
{
    const auto differs = [](std::string_view what, const std::string& a, const std::string& b) {
        return std::string(what) + " is " + (a.empty() ? "empty" : a) + " there and " + (b.empty() ? "empty" : b) +
               " here";
    };
    if (there.formats != here.formats)
        return differs("formats", joined(there.formats), joined(here.formats));
    if (there.seeds != here.seeds)
        return differs("the number of seeds", numberText(std::int64_t{there.seeds}),
                       numberText(std::int64_t{here.seeds}));
    if (there.steps != here.steps)
        return differs("the number of steps", numberText(there.steps), numberText(here.steps));
    for (std::size_t run = 0; run < there.formats.size(); ++run) {
        const RunConfig a = configOf(there, run);
        const RunConfig b = configOf(here, run);
        for (const SettingInfo& setting : settings()) {
            if (setting.key == "threads") // results do not depend on it
                continue;
            const std::string value = settingValue(a, setting.key);
            if (value != settingValue(b, setting.key))
                return differs(setting.key, value, settingValue(b, setting.key));
        }
    }
    return std::nullopt;
}

RunConfig configOf(const ComparisonPlan& plan, std::size_t run)
{
    RunConfig config = plan.base;
    config.seed += run / plan.formats.size();
    config.precision = plan.formats[run % plan.formats.size()];
    config.modulePrecision.clear();
    config.precisionSchedule = {};
    if (!needsScale(config)) {
        applySetting(config, "scaler", "off");
        config.scalePerModule = false;
    }
    if (config.scaler.rule == ScalerRule::Dynamic) {
        config.statisticsInterval = 1'000'000;
        config.measureActivationGrads = false;
    }
    config.measureActivations = config.measureUpdates = config.shadowRun = false;
    config.shadowInterval = 0;
    return config;
}

std::string_view computedKey(Computed c)
{
    switch (c) {
    case Computed::Native:
        return "native";
    case Computed::LinearOnly:
        return "linear-only";
    case Computed::Emulated:
        break;
    }
    return "emulated";
}

std::string_view computedText(Computed c)
{
    switch (c) {
    case Computed::Native:
        return "native";
    case Computed::LinearOnly:
        return "linear layers native, attention emulated";
    case Computed::Emulated:
        break;
    }
    return "emulated exactly";
}

Computed computedBy(const Backend& backend, const ComparisonPlan& plan, const std::string& format)
{
    const std::vector<ModuleInfo> modules = listModules(plan.base.model);
    const PrecisionPlan formats = makePlan(format, modules).value_or(PrecisionPlan());
    bool attention = true;
    for (std::size_t i = 0; i < formats.size(); ++i) {
        if (modules[i].kind == ModuleKind::Linear && !backend.multipliesNatively(formats[i]))
            return Computed::Emulated;
        if (modules[i].kind == ModuleKind::Attention)
            attention = attention && backend.attendsNatively(formats[i]);
    }
    return attention ? Computed::Native : Computed::LinearOnly;
}

std::string_view runEndKey(RunEnd e)
{
    switch (e) {
    case RunEnd::Completed:
        return "completed";
    case RunEnd::EndedEarly:
        return "ended-early";
    case RunEnd::Failed:
        break;
    }
    return "failed";
}

double ComparedRun::finalLoss(std::int64_t lastSteps) const { return meanOfLast(loss, lastSteps); }

double ComparedRun::finalAccuracy(std::int64_t lastSteps) const { return meanOfLast(accuracy, lastSteps); }

std::size_t Comparison::done() const
{
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [](const ComparedRunPtr& run) { return run != nullptr; }));
}

const FormatSpeed* Comparison::speedOf(std::string_view format) const
{
    const auto found =
        std::find_if(speeds.begin(), speeds.end(), [&](const FormatSpeed& s) { return s.format == format; });
    return found != speeds.end() ? &*found : nullptr;
}

void Comparison::forgetFailures()
{
    for (ComparedRunPtr& run : runs) {
        if (run && run->end == RunEnd::Failed)
            run.reset();
    }
}

} // namespace halfscope
