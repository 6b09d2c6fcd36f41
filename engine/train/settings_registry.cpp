// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/settings_registry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/model/precision_plan.h"
#include "engine/train/settings_table.h"
#include "engine/train/task.h"

namespace halfscope {

namespace {

const SettingEntry* findEntry(std::string_view key)
{
    for (const SettingEntry& entry : settingEntries()) {
        if (entry.info.key == key)
            return &entry;
    }
    return nullptr;
}

// The module of "precision.h0.mlp.fc"; empty for any other key, and for the placeholder "precision.MODULE".
std::string_view precisionModule(std::string_view key)
{
    if (!key.starts_with(kModulePrecisionPrefix) || key == kModulePrecisionKey)
        return {};
    return key.substr(kModulePrecisionPrefix.size());
}

std::string inQuotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string badValue(std::string_view key, std::string_view value, std::string_view allowed)
{
    return std::string(key) + " = " + inQuotes(value) + " is not allowed; allowed: " + std::string(allowed) + ".";
}

std::string unknownKey(std::string_view key)
{
    const std::string nearest = nearestSetting(key);
    return "There is no setting " + inQuotes(key) +
           (nearest.empty() ? "; halfscope train --list-settings prints all." : "; the nearest is " + nearest + ".");
}

std::optional<std::string> applyModulePrecision(RunConfig& config, std::string_view key, std::string_view value)
{
    const std::optional<FormatId> format = parseModuleFormat(value);
    const std::vector<FormatId> allowed = allowedFormats(ModuleKind::Linear);
    if (!format || std::find(allowed.begin(), allowed.end(), *format) == allowed.end())
        return badValue(key, value, findSetting(key)->range);
    config.modulePrecision[std::string(precisionModule(key))] = *format;
    return std::nullopt;
}

// Names that people bring along from elsewhere and that edit distance would not find.
struct Alias {
    std::string_view name;
    std::string_view key;
};
constexpr std::array<Alias, 16> kAliases = {{
    {"lr", "learning-rate"},
    {"wd", "weight-decay"},
    {"layers", "depth"},
    {"n-layer", "depth"},
    {"n-head", "heads"},
    {"n-embd", "width"},
    {"d-model", "width"},
    {"block-size", "context"},
    {"batch-size", "batch"},
    {"eps", "epsilon"},
    {"clip", "clip-norm"},
    {"dtype", "precision"},
    {"scale", "initial-scale"},
    {"init-scale", "initial-scale"},
    {"loss-scale", "initial-scale"},
    {"loss-scale-window", "growth-interval"},
}};

void validateTask(const RunConfig& config, std::vector<std::string>& problems)
{
    const TaskInfo* task = findTask(config.task);
    if (task == nullptr) {
        problems.push_back(badValue("task", config.task, findSetting("task")->range));
        return;
    }
    if (task->needsFile && config.data.empty())
        problems.push_back("The task " + config.task + " needs a file; set data to its path.");
    if (config.model.tiedHead && task->classifies)
        problems.push_back("tied-head = on is for a language model; the task " + config.task +
                           " has classes, so set tied-head to off.");
    if (config.pretrainSteps > 0 && (!task->classifies || task->hasImage))
        problems.push_back("pretrain-steps = " + numberText(config.pretrainSteps) +
                           " is for classifiers of text, which the task " + config.task + " is not; set it to 0.");
}

void validateModel(const RunConfig& config, std::vector<std::string>& problems)
{
    const TransformerConfig& m = config.model;
    if (m.heads > 0 && m.width % m.heads != 0)
        problems.push_back("width = " + numberText(std::int64_t{m.width}) + " is not a multiple of heads = " +
                           numberText(std::int64_t{m.heads}) + "; choose a width that heads divides.");
    // Sizes are counted in 32 bits further on; long before that no machine has the memory.
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    const std::int64_t tokens = std::int64_t{m.batch} * m.context;
    const std::int64_t widest = std::int64_t{m.width} * std::max(3, m.mlpRatio);
    if (tokens > kMost / widest)
        problems.push_back("batch = " + numberText(std::int64_t{m.batch}) + ", context = " +
                           numberText(std::int64_t{m.context}) + " and width = " + numberText(std::int64_t{m.width}) +
                           " together make activations of more than 2^30 numbers; choose smaller ones.");
    else if (tokens * m.heads > kMost / m.context)
        problems.push_back("batch = " + numberText(std::int64_t{m.batch}) + ", heads = " +
                           numberText(std::int64_t{m.heads}) + " and context = " + numberText(std::int64_t{m.context}) +
                           " together make attention maps of more than 2^30 numbers; choose smaller ones.");
    if (std::int64_t{m.width} * widest > kMost)
        problems.push_back("width = " + numberText(std::int64_t{m.width}) +
                           " and mlp-ratio = " + numberText(std::int64_t{m.mlpRatio}) +
                           " together make a weight of more than 2^30 numbers; choose smaller ones.");
}

constexpr std::size_t kEnoughProblems = 20; // for a file full of nonsense

// What is wrong with giving module `name` this format; `key` is what the user wrote it under.
std::optional<std::string> moduleFormatProblem(const std::vector<ModuleInfo>& modules, const std::string& key,
                                               const std::string& name, FormatId format)
{
    const auto module = std::ranges::find(modules, name, &ModuleInfo::name);
    if (module == modules.end()) {
        std::vector<std::string_view> names;
        for (const ModuleInfo& m : modules)
            names.push_back(m.name);
        return key + ": there is no module " + inQuotes(name) + nearestHint(name, names);
    }
    const std::vector<FormatId> allowed = allowedFormats(module->kind);
    if (std::ranges::find(allowed, format) != allowed.end())
        return std::nullopt;
    std::string words;
    for (const FormatId id : allowed)
        words += (words.empty() ? "" : " or ") + std::string(moduleFormatKey(id));
    return badValue(key, moduleFormatKey(format), words);
}

void validatePrecision(const RunConfig& config, std::vector<std::string>& problems)
{
    const std::vector<ModuleInfo> modules = listModules(expectedModel(config));
    const auto check = [&](const std::string& key, const std::string& name, FormatId format) {
        if (problems.size() >= kEnoughProblems)
            return;
        if (std::optional<std::string> problem = moduleFormatProblem(modules, key, name, format))
            problems.push_back(std::move(*problem));
    };
    if (!makePlan(config.precision, modules))
        problems.push_back(badValue("precision", config.precision, findSetting("precision")->range));
    for (const auto& [name, format] : config.modulePrecision)
        check(std::string(kModulePrecisionPrefix) + name, name, format);
    for (const ScheduledPrecision& entry : config.precisionSchedule) {
        if (!entry.module.empty())
            check("precision-schedule, " + entry.text(), entry.module, entry.format);
    }
}

} // namespace

const std::vector<SettingInfo>& settings()
{
    static const std::vector<SettingInfo> infos = [] {
        std::vector<SettingInfo> all;
        for (const SettingEntry& entry : settingEntries())
            all.push_back(entry.info);
        return all;
    }();
    return infos;
}

const SettingInfo* findSetting(std::string_view key)
{
    const std::string_view listed = precisionModule(key).empty() ? key : kModulePrecisionKey;
    for (const SettingInfo& setting : settings()) {
        if (setting.key == listed)
            return &setting;
    }
    return nullptr;
}

std::string nearestSetting(std::string_view key)
{
    std::string given(key);
    std::transform(given.begin(), given.end(), given.begin(), [](char c) {
        return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (const Alias& alias : kAliases) {
        if (alias.name == given)
            return std::string(alias.key);
    }
    std::vector<std::string_view> keys;
    for (const SettingEntry& entry : settingEntries())
        keys.push_back(entry.info.key);
    return std::string(nearestWord(given, keys));
}

std::optional<std::string> applySetting(RunConfig& config, std::string_view key, std::string_view value)
{
    if (!precisionModule(key).empty())
        return applyModulePrecision(config, key, value);
    const SettingEntry* entry = findEntry(key);
    if (!entry) {
        const std::vector<ModuleInfo> modules = listModules(expectedModel(config));
        if (std::ranges::find(modules, key, &ModuleInfo::name) != modules.end())
            return "There is no setting " + inQuotes(key) + ", which is a module; its format is precision." +
                   std::string(key) + ".";
        return unknownKey(key);
    }
    if (key == kPrecisionScheduleKey) { // a small language, whose problems its parser knows best
        if (std::string problem; !parseSchedule(value, problem))
            return std::string(key) + ": " + problem;
    }
    if (!entry->set)
        return std::string(key) +
               ": put a module's name in the place of MODULE, as in precision.lm_head=" + std::string(value) + ".";
    if (!entry->set(config, value))
        return badValue(key, value, entry->info.range);
    return std::nullopt;
}

std::optional<std::string> editSetting(RunConfig& config, std::string_view key, std::string_view value)
{
    RunConfig next = config;
    if (std::optional<std::string> problem = applySetting(next, key, value))
        return problem;
    adaptInitialScale(next.scaler, key);
    const std::vector<std::string> problems = validate(next);
    if (!problems.empty())
        return problems.front();
    config = std::move(next);
    return std::nullopt;
}

std::string settingNumber(double value)
{
    const float narrow = static_cast<float>(value);
    return static_cast<double>(narrow) == value ? numberText(narrow) : numberText(value);
}

std::string settingValue(const RunConfig& config, std::string_view key)
{
    if (const std::string_view name = precisionModule(key); !name.empty()) {
        if (const auto it = config.modulePrecision.find(std::string(name)); it != config.modulePrecision.end())
            return std::string(moduleFormatKey(it->second));
        const std::vector<ModuleInfo> modules = listModules(expectedModel(config));
        const std::optional<PrecisionPlan> plan = makePlan(config.precision, modules);
        for (std::size_t i = 0; plan && i < modules.size(); ++i) {
            if (modules[i].name == name)
                return std::string(moduleFormatKey((*plan)[i]));
        }
        return {};
    }
    const SettingEntry* entry = findEntry(key);
    return entry && entry->get ? entry->get(config) : std::string();
}

std::vector<std::string> validate(const RunConfig& config)
{
    std::vector<std::string> problems;
    validateTask(config, problems);
    validateModel(config, problems);
    validatePrecision(config, problems);
    for (const ConfigProblem& problem : validate(config.scaler))
        problems.push_back(problem.message());
    if (config.optimizer.minLearningRate > config.optimizer.learningRate &&
        config.optimizer.schedule == LearningRateSchedule::WarmupCosine)
        problems.push_back("min-learning-rate = " + numberText(config.optimizer.minLearningRate) +
                           " is above learning-rate = " + numberText(config.optimizer.learningRate) +
                           "; the cosine goes down from the latter to the former.");
    return problems;
}

} // namespace halfscope
