// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/simulate_verb.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "app/exit_status.h"
#include "app/output.h"
#include "app/run_setup.h"
#include "engine/amp/scaler_simulation.h"
#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

std::string readSequence(const std::string& file)
{
    if (file == "-")
        return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    std::error_code error;
    if (std::filesystem::is_directory(file, error))
        throw UsageError(file + " is a folder; name a file that holds a sequence such as \"..x.....\".");
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw UsageError("The sequence " + file + " cannot be read: " + std::generic_category().message(errno) + ".");
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

void requireScalerSetting(const std::string& key)
{
    const SettingInfo* setting = findSetting(key);
    if (setting && setting->group != "scaler")
        throw UsageError(key + " is no setting of the scaler, and only the scaler is simulated; use it with train.");
}

RunConfig presetConfig(const SimulateOptions& options)
{
    const ScalerPreset* preset = findScalerPreset(options.preset);
    if (!preset) {
        std::vector<std::string_view> keys;
        for (const ScalerPreset& p : scalerPresets())
            keys.push_back(p.key);
        throw UsageError("There is no preset \"" + options.preset + "\"; the nearest is " +
                         std::string(nearestWord(options.preset, keys)) + ".");
    }
    for (const std::string& text : options.settings)
        requireScalerSetting(parseAssignment("--set", text).first);
    RunConfig base;
    base.scaler = preset->config;
    ConfigOptions given;
    given.settings = options.settings;
    return buildConfig(given, base);
}

std::string rowText(const SimulatedStep& s)
{
    // Scales are FP32, hence exactly doubles; as such they are written.
    const auto flag = [](bool b) { return b ? ",1" : ",0"; };
    return numberText(s.step) + flag(s.foundInf) + flag(s.skipped) + ',' +
           numberText(static_cast<double>(s.scaleBefore)) + ',' + numberText(static_cast<double>(s.scaleAfter)) + ',' +
           numberText(s.growthTracker) + ',' + numberText(static_cast<std::int64_t>(s.hysteresisLeft)) + ',' +
           std::string(scaleEventKey(s.event)) + '\n';
}

} // namespace

int runSimulate(const SimulateOptions& options)
{
    if (options.overflows.empty() == options.overflowsFile.empty())
        throw UsageError("Give the sequence either by --overflows, as in --overflows \"..x.....\", or by "
                         "--overflows-file.");
    RunConfig config = presetConfig(options);
    std::vector<bool> overflows;
    try {
        overflows =
            parseOverflows(options.overflowsFile.empty() ? options.overflows : readSequence(options.overflowsFile));
    } catch (const std::invalid_argument& e) {
        throw UsageError(e.what());
    }
    std::vector<TimedCommand> commands;
    for (const std::string& text : options.at) {
        commands.push_back(parseAt(text));
        if (const auto* set = std::get_if<SetSetting>(&commands.back().command))
            requireScalerSetting(set->key);
    }
    prepareCommands(commands, config, static_cast<std::int64_t>(overflows.size()));

    std::size_t nextCommand = 0;
    std::int64_t endedAt = 0;
    writeOutput("step,found_inf,skipped,scale_before,scale_after,growth_tracker,hysteresis,event\n");
    simulate(
        config.scaler, overflows,
        [&](std::int64_t step, LossScaler& scaler) {
            for (; nextCommand < commands.size() && commands[nextCommand].step == step; ++nextCommand) {
                const Command& command = commands[nextCommand].command;
                if (const auto* scale = std::get_if<SetScale>(&command)) {
                    scaler.setScale(scale->scale);
                } else if (const auto* set = std::get_if<SetSetting>(&command)) {
                    applySetting(config, set->key, set->value); // checked by prepareCommands()
                    scaler.reconfigure(config.scaler);
                }
            }
        },
        [&](const SimulatedStep& step) {
            writeOutput(rowText(step));
            const bool stops = step.event == ScaleEvent::AtMinimum && config.scaler.atMinimum == AtMinimum::Stop;
            if (stops)
                endedAt = step.step;
            return !stops;
        });
    flushOutput();
    if (endedAt > 0)
        std::cerr << "halfscope simulate: at-min = stop ended the run at step " << numberText(endedAt) << ".\n";
    return kExitDone;
}

} // namespace halfscope
