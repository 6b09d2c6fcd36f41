// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/run_setup.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "app/exit_status.h"
#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/io/config_json.h"
#include "engine/train/settings_registry.h"
#include "engine/train/task.h"
#include "engine/train/telemetry.h"

namespace halfscope {

namespace {

std::string inQuotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// Splits "STEP:rest".
std::pair<std::int64_t, std::string> parseStep(const std::string& option, const std::string& text,
                                               const std::string& form)
{
    const std::size_t colon = text.find(':');
    const std::optional<std::int64_t> step = parseInteger(std::string_view(text).substr(0, colon));
    if (colon == std::string::npos || !step || *step < 1)
        throw UsageError(option + " " + inQuotes(text) + " must be " + form + ", with a step of at least 1.");
    return {*step, text.substr(colon + 1)};
}

double parseFactor(const std::string& text, const std::string& factor)
{
    const std::optional<double> value = parseDouble(factor);
    if (!value || !std::isfinite(static_cast<float>(*value)))
        throw UsageError("--inject " + inQuotes(text) + ": the factor " + inQuotes(factor) +
                         " is not a finite FP32 number.");
    return *value;
}

void applyOrThrow(RunConfig& config, std::string_view key, std::string_view value)
{
    if (key == "scale")
        throw UsageError("scale is what a running scaler has, not a setting; set initial-scale for the start, or "
                         "--at STEP:scale=VALUE for later.");
    if (const std::optional<std::string> problem = applySetting(config, key, value))
        throw UsageError(*problem);
}

void checkScale(const LossScaler& scaler, const SetScale& command)
{
    if (const std::optional<ConfigProblem> problem = scaler.refusal(command.scale))
        throw UsageError(problem->message());
}

void checkSpike(const InjectSpike& spike, const std::vector<ModuleInfo>& modules)
{
    const auto module =
        std::find_if(modules.begin(), modules.end(), [&](const ModuleInfo& m) { return m.name == spike.module; });
    if (module == modules.end()) {
        std::vector<std::string_view> names;
        for (const ModuleInfo& m : modules)
            names.push_back(m.name);
        throw UsageError("There is no module " + inQuotes(spike.module) + " to inject a spike into" +
                         nearestHint(spike.module, names));
    }
    if (module->kind == ModuleKind::Loss || (spike.weightGrad && module->kind == ModuleKind::Attention))
        throw UsageError(inQuotes(spike.module) + " has no " +
                         std::string(tapKey(spike.weightGrad ? Tap::WeightGrad : Tap::ActivationGrad)) +
                         " to inject a spike into; choose another module, such as lm_head.");
}

} // namespace

std::pair<std::string, std::string> parseAssignment(const std::string& option, const std::string& text)
{
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw UsageError(option + " " + inQuotes(text) + " must be key=value, as in growth-interval=100.");
    return {text.substr(0, equals), text.substr(equals + 1)};
}

const Experiment& chosenExperiment(const ConfigOptions& options)
{
    if (options.experiment.empty())
        return experiments().front();
    if (const Experiment* experiment = findExperiment(options.experiment))
        return *experiment;
    std::vector<std::string_view> keys;
    for (const Experiment& experiment : experiments())
        keys.push_back(experiment.key);
    throw UsageError("There is no experiment " + inQuotes(options.experiment) + nearestHint(options.experiment, keys));
}

RunConfig buildConfig(const ConfigOptions& options, const std::optional<RunConfig>& base)
{
    RunConfig config = base ? *base : chosenExperiment(options).config;
    if (!options.configFile.empty()) {
        try {
            config = loadConfigFile(options.configFile, config);
        } catch (const std::runtime_error& e) {
            throw UsageError(e.what());
        }
    }
    for (const std::string& text : options.settings) {
        const auto [key, value] = parseAssignment("--set", text);
        applyOrThrow(config, key, value);
    }
    if (options.text)
        applyOrThrow(config, "text", *options.text);
    if (options.seed)
        applyOrThrow(config, "seed", *options.seed);
    const std::vector<std::string> problems = validate(config);
    if (!problems.empty())
        throw UsageError(problems.front());
    return config;
}

TimedCommand parseAt(const std::string& text)
{
    const auto [step, assignment] = parseStep("--at", text, "STEP:key=value");
    const auto [key, value] = parseAssignment("--at", assignment);
    if (key != "scale")
        return {step, SetSetting{key, value}};
    const std::optional<double> scale = parseDouble(value);
    if (!scale)
        throw UsageError("scale = " + inQuotes(value) + " is not allowed: it must be a number, such as 65536 or 2^16.");
    return {step, SetScale{*scale}};
}

TimedCommand parseInjection(const std::string& text)
{
    const std::string form = "STEP:MODULE:FACTOR, STEP:bad-batch or STEP:learning-rate:FACTOR";
    const auto [step, rest] = parseStep("--inject", text, form);
    if (rest == "bad-batch")
        return {step, InjectBadBatch{}};
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos || colon == 0)
        throw UsageError("--inject " + inQuotes(text) + " must be " + form + ".");
    std::string target = rest.substr(0, colon);
    const double factor = parseFactor(text, rest.substr(colon + 1));
    if (target == "learning-rate") {
        if (factor < 0)
            throw UsageError("--inject " + inQuotes(text) + ": the factor of a learning rate must be at least 0.");
        return {step, InjectLearningRateJump{factor}};
    }
    InjectSpike spike{target, factor, false};
    if (const std::size_t slash = target.find('/'); slash != std::string::npos) {
        const std::string tap = target.substr(slash + 1);
        if (tap != tapKey(Tap::WeightGrad) && tap != tapKey(Tap::ActivationGrad))
            throw UsageError("--inject " + inQuotes(text) + ": " + inQuotes(tap) +
                             " is not a gradient; it must be weight_grad or activation_grad.");
        spike.module = target.substr(0, slash);
        spike.weightGrad = tap == tapKey(Tap::WeightGrad);
    }
    return {step, spike};
}

void prepareCommands(std::vector<TimedCommand>& commands, const RunConfig& config, std::int64_t steps)
{
    std::stable_sort(commands.begin(), commands.end(),
                     [](const TimedCommand& a, const TimedCommand& b) { return a.step < b.step; });
    RunConfig then = config;
    const std::vector<ModuleInfo> modules = listModules(expectedModel(config));
    for (const TimedCommand& timed : commands) {
        if (timed.step > steps)
            throw UsageError("A command is for step " + numberText(timed.step) + ", but the run ends after step " +
                             numberText(steps) + ".");
        if (const auto* set = std::get_if<SetSetting>(&timed.command)) {
            applyOrThrow(then, set->key, set->value);
            adaptInitialScale(then.scaler, set->key);
            if (!timed.recorded && !findSetting(set->key)->live)
                throw UsageError(set->key + " cannot change while a run goes on; use --set " + set->key + "=" +
                                 set->value + ".");
            const std::vector<std::string> problems = validate(then);
            if (!problems.empty())
                throw UsageError("At step " + numberText(timed.step) + ": " + problems.front());
        } else if (const auto* scale = std::get_if<SetScale>(&timed.command)) {
            checkScale(LossScaler(then.scaler), *scale);
        } else if (const auto* spike = std::get_if<InjectSpike>(&timed.command)) {
            checkSpike(*spike, modules);
        }
    }
}

} // namespace halfscope
