// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/simulate_verb.h"

#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "app/exit_status.h"
#include "app/output.h"
#include "app/run_setup.h"
#include "engine/amp/scaler_simulation.h"
#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/io/atomic_file.h"
#include "engine/io/json_text.h"
#include "engine/io/scaler_json.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

std::string readSequence(const std::string& file)
{
    if (file == "-")
        return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    try {
        return readTextFile(file, "sequence");
    } catch (const std::runtime_error& e) {
        throw UsageError(e.what());
    }
}

struct Source {
    OverflowRule overflows;
    std::int64_t steps = 0;
};

// The sequence, or the closed loop.
Source sourceOf(const SimulateOptions& options)
{
    const int given =
        (options.overflows.empty() ? 0 : 1) + (options.overflowsFile.empty() ? 0 : 1) + (options.limit.empty() ? 0 : 1);
    if (given != 1)
        throw UsageError("Give the sequence by --overflows, as in --overflows \"..x.....\", or by --overflows-file, or "
                         "a limit of the scale by --limit with --steps.");
    if (options.limit.empty()) {
        if (!options.steps.empty())
            throw UsageError("--steps goes with --limit; a sequence has its own length.");
        try {
            std::vector<bool> sequence =
                parseOverflows(options.overflowsFile.empty() ? options.overflows : readSequence(options.overflowsFile));
            const auto steps = static_cast<std::int64_t>(sequence.size());
            return {overflowsOf(std::move(sequence)), steps};
        } catch (const std::invalid_argument& e) {
            throw UsageError(e.what());
        }
    }
    const std::optional<double> limit = parseDouble(options.limit);
    if (!limit || !(*limit > 0))
        throw UsageError("--limit " + options.limit + " is not allowed: it must be a number greater than 0.");
    const std::optional<std::int64_t> steps = parseInteger(options.steps);
    if (!steps || *steps < 1 || *steps > static_cast<std::int64_t>(kMaxSimulatedSteps))
        throw UsageError("--limit needs --steps N, a whole number from 1 to " +
                         numberText(static_cast<std::uint64_t>(kMaxSimulatedSteps)) + ".");
    return {overflowsAbove(*limit), *steps};
}

void requireScalerSetting(const std::string& key)
{
    const SettingInfo* setting = findSetting(key);
    if (setting && setting->group != "scaler")
        throw UsageError(key + " is no setting of the scaler, and only the scaler is simulated; use it with train.");
}

ScalerConfig presetConfig(const std::string& key)
{
    if (const ScalerPreset* preset = findScalerPreset(key))
        return preset->config;
    std::vector<std::string_view> keys;
    for (const ScalerPreset& p : scalerPresets())
        keys.push_back(p.key);
    throw UsageError("There is no preset \"" + key + "\"" + nearestHint(key, keys));
}

// The scaler as the preset or the saved state has it, with the settings given.
LossScaler makeScaler(const SimulateOptions& options, RunConfig& config)
{
    if (!options.stateFile.empty() && !options.preset.empty())
        throw UsageError("--state brings its own preset; leave --preset out, or change settings with --set.");
    for (const std::string& text : options.settings)
        requireScalerSetting(parseAssignment("--set", text).first);
    ConfigOptions given;
    given.settings = options.settings;
    RunConfig base;
    if (options.stateFile.empty()) {
        base.scaler = presetConfig(options.preset.empty() ? "pytorch" : options.preset);
        config = buildConfig(given, base);
        return LossScaler(config.scaler);
    }
    LossScaler::State state;
    try {
        state = loadScalerState(options.stateFile);
    } catch (const std::runtime_error& e) {
        throw UsageError(e.what());
    }
    base.scaler = state.config;
    config = buildConfig(given, base);
    LossScaler scaler(state.config);
    scaler.restore(state); // checked when it was read
    if (!(config.scaler == state.config))
        scaler.reconfigure(config.scaler);
    return scaler;
}

std::string rowText(const SimulatedStep& s)
{
    const auto flag = [](bool b) { return b ? ",1" : ",0"; };
    return numberText(s.step) + flag(s.foundInf) + flag(s.skipped) + ',' + numberText(s.scaleBefore) + ',' +
           numberText(s.scaleAfter) + ',' + numberText(s.growthTracker) + ',' +
           numberText(static_cast<std::int64_t>(s.hysteresisLeft)) + ',' + std::string(simulatedEventKey(s)) + '\n';
}

// Why the rule ended the run, one clause.
std::string raisedBecause(const SimulatedStep& s, const ScalerConfig& config)
{
    if (s.event == ScaleEvent::TooManyOverflows)
        return "more than " + numberText(config.maxOverflows) + " steps in a row overflowed";
    return config.minTrigger == MinTrigger::Reached ? "backing off would have reached min-scale"
                                                    : "a step overflowed at min-scale";
}

} // namespace

int runSimulate(const SimulateOptions& options)
{
    const Source source = sourceOf(options);
    RunConfig config;
    LossScaler scaler = makeScaler(options, config);
    std::vector<TimedCommand> commands;
    for (const std::string& text : options.at) {
        commands.push_back(parseAt(text));
        if (const auto* set = std::get_if<SetSetting>(&commands.back().command))
            requireScalerSetting(set->key);
    }
    prepareCommands(commands, config, source.steps);
    std::optional<AtomicFile> stateFile; // opened before anything is printed: a bad name is an error at once
    if (!options.saveStateFile.empty())
        stateFile.emplace(options.saveStateFile);

    std::size_t nextCommand = 0;
    SimulatedStep last;
    writeOutput("step,found_inf,skipped,scale_before,scale_after,growth_tracker,hysteresis,event\n");
    simulate(
        scaler, source.steps, source.overflows,
        [&](std::int64_t step, LossScaler& now) {
            for (; nextCommand < commands.size() && commands[nextCommand].step == step; ++nextCommand) {
                const Command& command = commands[nextCommand].command;
                if (const auto* scale = std::get_if<SetScale>(&command)) {
                    now.setScale(scale->scale);
                } else if (const auto* set = std::get_if<SetSetting>(&command)) {
                    applySetting(config, set->key, set->value); // checked by prepareCommands()
                    adaptInitialScale(config.scaler, set->key);
                    now.reconfigure(config.scaler);
                }
            }
        },
        [&](const SimulatedStep& step) {
            writeOutput(rowText(step));
            last = step;
            return true;
        });
    flushOutput();
    if (stateFile) {
        stateFile->write(scalerStateToJson(scaler.state()));
        stateFile->publish();
    }
    if (!last.raised)
        return kExitDone;
    std::cerr << "halfscope simulate: the rule raised at step " << numberText(last.step) << ": "
              << raisedBecause(last, scaler.config()) << ".\n";
    return kExitEndedEarly;
}

} // namespace halfscope
