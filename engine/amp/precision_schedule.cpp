// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/precision_schedule.h"

#include <algorithm>

#include "engine/core/number_text.h"
#include "engine/model/precision_plan.h"

namespace halfscope {

namespace {

constexpr std::int64_t kLastStep = 1'000'000'000'000;

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t\n");
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

bool isPreset(std::string_view key)
{
    return std::ranges::any_of(precisionPresets(), [&](const PrecisionPreset& p) { return p.key == key; });
}

} // namespace

std::int64_t ScheduledPrecision::step(std::int64_t stepsPerEpoch) const
{
    if (!epochs)
        return std::max<std::int64_t>(at, 1);
    return at > kLastStep / stepsPerEpoch ? kLastStep : at * stepsPerEpoch + 1;
}

std::string ScheduledPrecision::text() const
{
    return numberText(at) + (epochs ? "e:" : ":") + (module.empty() ? "" : module + "=") + value();
}

std::string ScheduledPrecision::key() const { return module.empty() ? "precision" : "precision." + module; }

std::string ScheduledPrecision::value() const { return module.empty() ? preset : std::string(moduleFormatKey(format)); }

std::optional<ScheduledPrecision> parseScheduled(std::string_view text, std::string& problem)
{
    const std::string quoted = '"' + std::string(trimmed(text)) + '"';
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) {
        problem = quoted + " has no colon; an entry is STEP:PRESET or STEP:MODULE=FORMAT, as 200:mixed-fp16.";
        return std::nullopt;
    }
    ScheduledPrecision entry;
    std::string_view at = trimmed(text.substr(0, colon));
    if (at.ends_with('e')) {
        entry.epochs = true;
        at.remove_suffix(1);
    }
    const std::optional<std::int64_t> number = parseInteger(at);
    if (!number || *number < 0 || *number > kLastStep) {
        problem = quoted + ": the step must be an integer from 0 to 10^12, or epochs as in 2e.";
        return std::nullopt;
    }
    entry.at = *number;
    const std::string_view what = trimmed(text.substr(colon + 1));
    const auto equals = what.find('=');
    if (equals == std::string_view::npos) {
        if (!isPreset(what)) {
            problem = quoted + ": there is no preset \"" + std::string(what) +
                      "\"; there are: " + std::string(precisionPresetWords()) + ".";
            return std::nullopt;
        }
        entry.preset = what;
        return entry;
    }
    entry.module = trimmed(what.substr(0, equals));
    const std::optional<FormatId> format = parseModuleFormat(trimmed(what.substr(equals + 1)));
    if (entry.module.empty() || !format) {
        problem =
            quoted + ": a module's entry is MODULE=FORMAT, as lm_head=fp32; formats: fp32, tf32, fp16, bf16, fp8.";
        return std::nullopt;
    }
    entry.format = *format;
    return entry;
}

std::optional<PrecisionSchedule> parseSchedule(std::string_view text, std::string& problem)
{
    PrecisionSchedule schedule;
    while (!trimmed(text).empty()) {
        const auto end = std::min(text.find(';'), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (trimmed(part).empty())
            continue;
        const std::optional<ScheduledPrecision> entry = parseScheduled(part, problem);
        if (!entry)
            return std::nullopt;
        schedule.push_back(*entry);
    }
    return schedule;
}

std::string scheduleText(const PrecisionSchedule& schedule)
{
    std::string text;
    for (const ScheduledPrecision& entry : schedule)
        text += (text.empty() ? "" : ";") + entry.text();
    return text;
}

} // namespace halfscope
