// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/settings_table.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/backend/backend_registry.h"
#include "engine/core/number_text.h"
#include "engine/model/precision_plan.h"

namespace halfscope {

namespace {

constexpr bool kLive = true;
constexpr std::int64_t kManySteps = 1'000'000'000'000;

// Finds the T inside a RunConfig; a captureless lambda, so that one definition serves reading and writing.
template <typename T>
using Field = T& (*)(RunConfig&);

template <typename T>
T read(Field<T> field, const RunConfig& config)
{
    return field(const_cast<RunConfig&>(config)); // only read through
}

template <typename T>
SettingEntry integer(SettingInfo info, Field<T> field, std::int64_t low, std::int64_t high)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                const std::optional<std::int64_t> value = parseInteger(text);
                if (!value || *value < low || *value > high)
                    return false;
                field(config) = static_cast<T>(*value);
                return true;
            },
            [=](const RunConfig& config) { return numberText(static_cast<std::int64_t>(read(field, config))); }};
}

// A real number, low <= value < high; `low` itself only with includeLow.
template <typename T>
SettingEntry real(SettingInfo info, Field<T> field, double low, bool includeLow, double high)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                std::optional<T> value;
                if constexpr (std::is_same_v<T, float>)
                    value = parseFloat(text);
                else
                    value = parseDouble(text);
                if (!value || !std::isfinite(*value) || !(*value < high) ||
                    !(*value > low || (includeLow && *value == low)))
                    return false;
                field(config) = *value + T(0); // -0 becomes 0
                return true;
            },
            [=](const RunConfig& config) { return numberText(read(field, config)); }};
}

SettingEntry boolean(SettingInfo info, Field<bool> field)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                const bool yes = text == "on" || text == "true" || text == "yes" || text == "1";
                if (!yes && text != "off" && text != "false" && text != "no" && text != "0")
                    return false;
                field(config) = yes;
                return true;
            },
            [=](const RunConfig& config) -> std::string { return read(field, config) ? "on" : "off"; }};
}

template <typename T>
using Words = std::vector<std::pair<std::string_view, T>>; // the first word of a value is the one that is written

// All values of an enumeration whose words `key` knows; it has none for what lies beyond the last.
template <typename T>
Words<T> wordsOf(std::string_view (*key)(T))
{
    Words<T> all;
    for (int i = 0; !key(static_cast<T>(i)).empty(); ++i)
        all.emplace_back(key(static_cast<T>(i)), static_cast<T>(i));
    return all;
}

template <typename T>
SettingEntry choice(SettingInfo info, Field<T> field, Words<T> words)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                for (const auto& [word, value] : words) {
                    if (word == text) {
                        field(config) = value;
                        return true;
                    }
                }
                return false;
            },
            [=](const RunConfig& config) {
                for (const auto& [word, value] : words) {
                    if (value == read(field, config))
                        return std::string(word);
                }
                return std::string();
            }};
}

// A scaler knob, judged alone by the scaler's own rules: the others stand at their defaults meanwhile. What must fit
// together (initial, minimum, maximum) is for validate().
SettingEntry scalerNumber(SettingInfo info, double ScalerConfig::*member, bool isScale)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                const std::optional<double> value = parseDouble(text);
                if (!value)
                    return false;
                ScalerConfig alone;
                if (isScale)
                    alone.initialScale = *value;
                else
                    alone.*member = *value;
                if (!validate(alone).empty())
                    return false;
                config.scaler.*member = *value;
                return true;
            },
            [=](const RunConfig& config) { return numberText(config.scaler.*member); }};
}

// One of the scale's bounds; `none` stands for the value that means there is no such bound.
SettingEntry scalerBound(SettingInfo info, double ScalerConfig::*member, double none)
{
    return {info,
            [=](RunConfig& config, std::string_view text) {
                const std::optional<double> value = text == "none" ? none : parseDouble(text);
                ScalerConfig alone;
                if (!value)
                    return false;
                alone.*member = *value;
                if (*value != none)
                    alone.initialScale = *value; // which must lie within the bounds
                if (!validate(alone).empty())
                    return false;
                config.scaler.*member = *value;
                return true;
            },
            [=](const RunConfig& config) {
                return config.scaler.*member == none ? "none" : numberText(config.scaler.*member);
            }};
}

// "auto", "row" or the side of a square.
bool setPatchSize(RunConfig& config, std::string_view text)
{
    const std::optional<std::int64_t> side = parseInteger(text);
    if (text == "auto")
        config.patchSize = kSuitablePatch;
    else if (text == "row")
        config.patchSize = kPatchRows;
    else if (side && *side >= 1 && *side <= 1024)
        config.patchSize = static_cast<int>(*side);
    else
        return false;
    return true;
}

std::string patchSizeText(const RunConfig& config)
{
    return config.patchSize == kSuitablePatch ? "auto"
           : config.patchSize == kPatchRows   ? "row"
                                              : numberText(static_cast<std::int64_t>(config.patchSize));
}

void addModel(std::vector<SettingEntry>& t)
{
    t.push_back(integer<int>(
        {"width", "model", "integer 1 to 16384, a multiple of heads", "numbers a token is made of"},
        [](RunConfig& c) -> int& { return c.model.width; }, 1, 16384));
    t.push_back(integer<int>(
        {"depth", "model", "integer 1 to 256", "transformer blocks, one after the other"},
        [](RunConfig& c) -> int& { return c.model.depth; }, 1, 256));
    t.push_back(integer<int>(
        {"heads", "model", "integer 1 to 1024", "attention heads; width / heads numbers each"},
        [](RunConfig& c) -> int& { return c.model.heads; }, 1, 1024));
    t.push_back(integer<int>(
        {"context", "model", "integer 1 to 16384", "characters the model sees at once"},
        [](RunConfig& c) -> int& { return c.model.context; }, 1, 16384));
    t.push_back(integer<int>(
        {"batch", "model", "integer 1 to 65536", "pieces of text a step"},
        [](RunConfig& c) -> int& { return c.model.batch; }, 1, 65536));
    t.push_back(integer<int>(
        {"mlp-ratio", "model", "integer 1 to 64", "hidden width of the MLP, in widths"},
        [](RunConfig& c) -> int& { return c.model.mlpRatio; }, 1, 64));
    t.push_back(choice<bool>({"norm", "model", "pre, post", "layer norm before each branch, or after each sum"},
                             [](RunConfig& c) -> bool& { return c.model.preNorm; }, {{"pre", true}, {"post", false}}));
    t.push_back(boolean({"tied-head", "model", "on, off", "the head uses the token embedding's weights"},
                        [](RunConfig& c) -> bool& { return c.model.tiedHead; }));
    t.push_back(boolean(
        {"causal", "model", "on, off", "a classifier's attention looks back only; a language model's always does"},
        [](RunConfig& c) -> bool& { return c.model.causal; }));
    t.push_back(choice<Activation>({"activation", "model", "gelu, relu", "the MLP's nonlinearity"},
                                   [](RunConfig& c) -> Activation& { return c.model.activation; },
                                   {{"gelu", Activation::Gelu}, {"relu", Activation::Relu}}));
    t.push_back(real<float>(
        {"dropout", "model", "number, 0 to 1 - 2^-24", "share of values dropped in training"},
        [](RunConfig& c) -> float& { return c.model.dropout; }, 0, true, 1));
}

void addOptimizer(std::vector<SettingEntry>& t)
{
    constexpr double kAny = std::numeric_limits<double>::infinity();
    t.push_back(real<float>(
        {"learning-rate", "optimizer", "number >= 0", "AdamW's step size (the peak, with warm-up)", kLive},
        [](RunConfig& c) -> float& { return c.optimizer.learningRate; }, 0, true, kAny));
    t.push_back(choice<LearningRateSchedule>(
        {"schedule", "optimizer", "constant, warmup-cosine", "how the learning rate moves over the applied steps",
         kLive},
        [](RunConfig& c) -> LearningRateSchedule& { return c.optimizer.schedule; },
        {{"constant", LearningRateSchedule::Constant}, {"warmup-cosine", LearningRateSchedule::WarmupCosine}}));
    t.push_back(integer<std::int64_t>(
        {"warmup-steps", "optimizer", "integer 0 to 10^12", "applied steps of linear warm-up", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.optimizer.warmupSteps; }, 0, kManySteps));
    t.push_back(integer<std::int64_t>(
        {"decay-steps", "optimizer", "integer 1 to 10^12", "applied steps until the cosine reaches min-learning-rate",
         kLive},
        [](RunConfig& c) -> std::int64_t& { return c.optimizer.decaySteps; }, 1, kManySteps));
    t.push_back(real<float>(
        {"min-learning-rate", "optimizer", "number >= 0", "learning rate at the cosine's end", kLive},
        [](RunConfig& c) -> float& { return c.optimizer.minLearningRate; }, 0, true, kAny));
    t.push_back(real<double>(
        {"beta1", "optimizer", "number, 0 <= b < 1", "decay of AdamW's mean of the gradient", kLive},
        [](RunConfig& c) -> double& { return c.optimizer.beta1; }, 0, true, 1));
    t.push_back(real<double>(
        {"beta2", "optimizer", "number, 0 <= b < 1", "decay of AdamW's mean of its square", kLive},
        [](RunConfig& c) -> double& { return c.optimizer.beta2; }, 0, true, 1));
    t.push_back(real<float>(
        {"epsilon", "optimizer", "number, at least 2^-149", "added to AdamW's denominator", kLive},
        [](RunConfig& c) -> float& { return c.optimizer.epsilon; }, 0, false, kAny));
    t.push_back(real<float>(
        {"weight-decay", "optimizer", "number >= 0", "decoupled weight decay", kLive},
        [](RunConfig& c) -> float& { return c.optimizer.weightDecay; }, 0, true, kAny));
    t.push_back(real<float>(
        {"clip-norm", "optimizer", "number >= 0", "largest global norm of the unscaled gradients; 0: no clipping",
         kLive},
        [](RunConfig& c) -> float& { return c.optimizer.clipNorm; }, 0, true, kAny));
}

void addPrecision(std::vector<SettingEntry>& t)
{
    t.push_back({{"precision", "precision", precisionPresetWords(),
                  "the format of every module; forgets the exceptions of precision.MODULE", kLive},
                 [](RunConfig& config, std::string_view text) {
                     for (const PrecisionPreset& preset : precisionPresets()) {
                         if (preset.key == text) {
                             config.precision = text;
                             config.modulePrecision.clear();
                             return true;
                         }
                     }
                     return false;
                 },
                 [](const RunConfig& config) { return config.precision; }});
    // Stands for every "precision.<module>"; settings_registry.cpp reads and writes those.
    t.push_back({{kModulePrecisionKey, "precision", "fp32, tf32, fp16, bf16, fp8",
                  "the format of one module, as precision.h0.mlp.fc=fp32", kLive},
                 nullptr,
                 nullptr});
    t.push_back({{kPrecisionScheduleKey, "precision", "STEP:PRESET or STEP:MODULE=FORMAT, separated by ; (2e: epochs)",
                  "changes of precision at steps to come, as 0:fp32;200:mixed-fp16;800:lm_head=fp32", kLive},
                 [](RunConfig& config, std::string_view text) {
                     std::string problem;
                     const std::optional<PrecisionSchedule> schedule = parseSchedule(text, problem);
                     if (schedule)
                         config.precisionSchedule = *schedule;
                     return schedule.has_value();
                 },
                 [](const RunConfig& config) { return scheduleText(config.precisionSchedule); }});
    t.push_back(boolean({"master-weights", "precision", "on, off",
                         "FP32 weights that updates are added to; off: weights are kept in the module's format", kLive},
                        [](RunConfig& c) -> bool& { return c.weightStorage.master; }));
    t.push_back(
        choice<bool>({"moments", "precision", "as-weights, fp32",
                      "the format of AdamW's moments: that of the weights it updates, as in torch, or FP32", kLive},
                     [](RunConfig& c) -> bool& { return c.weightStorage.momentsAsWeights; },
                     {{"as-weights", true}, {"fp32", false}}));
    t.push_back(choice<bool>({"fp8-scaling", "precision", "delayed, off",
                              "FP8 tensors are scaled by the largest values of past steps, or cast as they are", kLive},
                             [](RunConfig& c) -> bool& { return c.fp8.delayed; }, {{"delayed", true}, {"off", false}}));
    t.push_back(integer<int>(
        {"fp8-history", "precision", "integer 1 to 1024", "past steps whose largest value sets an FP8 tensor's scale",
         kLive},
        [](RunConfig& c) -> int& { return c.fp8.history; }, 1, 1024));
    t.push_back(integer<int>(
        {"fp8-margin", "precision", "integer 0 to 15", "octaves left free above the largest value of an FP8 tensor",
         kLive},
        [](RunConfig& c) -> int& { return c.fp8.margin; }, 0, 15));
}

std::string scalerModeText(const ScalerConfig& c) { return !c.enabled ? "off" : c.dynamic ? "dynamic" : "static"; }

bool setScalerMode(RunConfig& config, std::string_view text)
{
    if (text != "dynamic" && text != "static" && text != "off")
        return false;
    config.scaler.enabled = text != "off";
    config.scaler.dynamic = text != "static";
    return true;
}

bool setHysteresis(RunConfig& config, std::string_view text)
{
    const std::optional<std::int64_t> value = parseInteger(text);
    if (!value || *value < 1 || *value > 1'000'000)
        return false;
    config.scaler.hysteresis = static_cast<int>(*value);
    if (*value > 1 && config.scaler.hysteresisKind == HysteresisKind::None)
        config.scaler.hysteresisKind = HysteresisKind::Budget; // or the number would do nothing
    return true;
}

bool setBackoffFactor(RunConfig& config, std::string_view text)
{
    const std::optional<double> value = parseDouble(text);
    ScalerConfig alone;
    alone.backoffFactor = value.value_or(0.0);
    if (!validate(alone).empty())
        return false;
    // A system with one factor is given both: then nothing changes. Otherwise the number is to count.
    const bool reciprocal = *value == 1.0 / config.scaler.growthFactor;
    config.scaler.backoffFactor = *value;
    if (!reciprocal)
        config.scaler.backoffRule = BackoffRule::Factor;
    return true;
}

// "pytorch, deepspeed, ...", from the presets there are.
std::string_view scalerPresetWords()
{
    static const std::string words = [] {
        std::string all;
        for (const ScalerPreset& preset : scalerPresets())
            all += (all.empty() ? "" : ", ") + std::string(preset.key);
        return all;
    }();
    return words;
}

void addScale(std::vector<SettingEntry>& t)
{
    t.push_back({{"scaler", "scaler", scalerPresetWords(), "preset; replaces all the scaler's settings below", kLive},
                 [](RunConfig& config, std::string_view text) {
                     const ScalerPreset* preset = findScalerPreset(text);
                     if (preset)
                         config.scaler = preset->config;
                     return preset != nullptr;
                 },
                 [](const RunConfig& config) { return config.scaler.preset; }});
    t.push_back({{"scaler-mode", "scaler", "dynamic, static, off", "whether the scale moves, stands, or is 1", kLive},
                 setScalerMode,
                 [](const RunConfig& config) { return scalerModeText(config.scaler); }});
    using R = ScalerRule;
    t.push_back(choice<R>(
        {"scaler-rule", "scaler", "dynamic, log-normal, preventive, stability-band",
         "what moves the scale: clean steps, or a rule on the gradients' statistics", kLive},
        [](RunConfig& c) -> R& { return c.scaler.rule; }, wordsOf(scalerRuleKey)));
    t.push_back(boolean({"scale-per-module", "scaler", "on, off",
                         "linear layers and attention each have a loss scale; any overflow skips the step", kLive},
                        [](RunConfig& c) -> bool& { return c.scalePerModule; }));
    t.push_back(boolean({"skip-nonfinite", "scaler", "on, off",
                         "skip steps with nonfinite gradients; off: apply them, as Apex's static scaler does", kLive},
                        [](RunConfig& c) -> bool& { return c.scaler.skipNonfinite; }));
    t.push_back(scalerNumber({"initial-scale", "scaler", "number, min-scale to max-scale",
                              "the scale a run starts with; live: of the next restart", kLive},
                             &ScalerConfig::initialScale, true));
    using A = ScaleArithmetic;
    t.push_back(choice<A>(
        {"scale-arithmetic", "scaler", "fp32, fp32-factor, fp64",
         "the scale is FP32 times a factor in FP64, FP32 times one in FP32, or all FP64", kLive},
        [](RunConfig& c) -> A& { return c.scaler.arithmetic; }, wordsOf(arithmeticKey)));
}

void addGrowth(std::vector<SettingEntry>& t)
{
    t.push_back(scalerNumber({"growth-factor", "scaler", "finite number, at least 1 + 2^-23",
                              "the scale is multiplied by this after growth-interval clean steps", kLive},
                             &ScalerConfig::growthFactor, false));
    t.push_back(integer<std::int64_t>(
        {"growth-interval", "scaler", "integer 1 to 10^12", "clean steps in a row before the scale grows", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.scaler.growthInterval; }, 1, kManySteps));
    using G = GrowthAfter;
    t.push_back(choice<G>(
        {"growth-after", "scaler", "n, n+1, first-n+1",
         "growth after the interval, one step more, or one more only at the start and after an "
         "overflow",
         kLive},
        [](RunConfig& c) -> G& { return c.scaler.growthAfter; }, wordsOf(growthAfterKey)));
    using C = GrowthCap;
    t.push_back(choice<C>(
        {"growth-cap", "scaler", "keep, clamp, none",
         "a growth beyond what the scale can be: refused, up to the maximum, or to infinity", kLive},
        [](RunConfig& c) -> C& { return c.scaler.growthCap; }, wordsOf(growthCapKey)));
    t.push_back(scalerBound({"max-scale", "scaler", "none, or number, min-scale to 3.4028234663852886e+38",
                             "the scale never grows above this", kLive},
                            &ScalerConfig::maxScale, kNoMaximum));
}

void addBackoff(std::vector<SettingEntry>& t)
{
    t.push_back(
        {{"backoff-factor", "scaler", "number, 0 < b <= 1 - 2^-24",
          "the scale is multiplied by this after an overflow; any but 1/growth-factor sets backoff-rule to factor",
          kLive},
         setBackoffFactor,
         [](const RunConfig& c) { return numberText(c.scaler.backoffFactor); }});
    using B = BackoffRule;
    t.push_back(choice<B>(
        {"backoff-rule", "scaler", "factor, divide",
         "backing off multiplies by backoff-factor, or divides by growth-factor", kLive},
        [](RunConfig& c) -> B& { return c.scaler.backoffRule; }, wordsOf(backoffRuleKey)));
    t.push_back(
        {{"hysteresis", "scaler", "integer 1 to 1000000",
          "overflows until one backs off, itself included; above 1 it turns hysteresis-kind none into budget", kLive},
         setHysteresis,
         [](const RunConfig& c) { return numberText(static_cast<std::int64_t>(c.scaler.hysteresis)); }});
    using H = HysteresisKind;
    t.push_back(choice<H>(
        {"hysteresis-kind", "scaler", "none, budget, consecutive, repeating",
         "what refills it: nothing to refill, growth, every clean step, or that and backing off", kLive},
        [](RunConfig& c) -> H& { return c.scaler.hysteresisKind; }, wordsOf(hysteresisKindKey)));
    t.push_back({{"tolerance", "scaler", "number, 0 to 1",
                  "an overflow backs off only if this share of the steps since the last change overflowed", kLive},
                 [](RunConfig& config, std::string_view text) {
                     const std::optional<double> value = parseDouble(text);
                     if (!value || !(*value >= 0 && *value <= 1))
                         return false;
                     config.scaler.tolerance = *value + 0.0; // -0 becomes 0
                     return true;
                 },
                 [](const RunConfig& config) { return numberText(config.scaler.tolerance); }});
    t.push_back(scalerBound({"threshold", "scaler", "none, or number > 0",
                             "backing off stops here without the action at the minimum", kLive},
                            &ScalerConfig::threshold, 0.0));
}

void addMinimum(std::vector<SettingEntry>& t)
{
    t.push_back(scalerBound(
        {"min-scale", "scaler", "none, or number, 2^-126 to max-scale", "the scale never falls below this", kLive},
        &ScalerConfig::minScale, kNoMinimum));
    using A = AtMinimum;
    t.push_back(
        choice<A>({"at-min", "scaler", "skip, pause, stop, sanitise",
                   "an overflow at min-scale: skip the step, pause or stop the run, or apply it with zeros", kLive},
                  [](RunConfig& c) -> A& { return c.scaler.atMinimum; },
                  {{"skip", A::Skip},
                   {"pause", A::Pause},
                   {"stop", A::Stop},
                   {"sanitise", A::Sanitise},
                   {"sanitize", A::Sanitise}}));
    using M = MinTrigger;
    t.push_back(choice<M>(
        {"min-trigger", "scaler", "overflow, reached",
         "at-min is due when a step overflows at min-scale, or when backing off would reach it", kLive},
        [](RunConfig& c) -> M& { return c.scaler.minTrigger; }, wordsOf(minTriggerKey)));
    t.push_back(integer<std::int64_t>(
        {"max-overflows", "scaler", "integer 0 to 10^12", "more overflows in a row end the run; 0: never", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.scaler.maxOverflows; }, 0, kManySteps));
}

// "language-model, authors, ...", from the tasks there are.
std::string_view taskWords()
{
    static const std::string words = [] {
        std::string all;
        for (const TaskInfo& task : tasks())
            all += (all.empty() ? "" : ", ") + std::string(task.key);
        return all;
    }();
    return words;
}

bool setPath(std::string& path, std::string_view text)
{
    if (text.find('\0') != std::string_view::npos)
        return false;
    path = text;
    return true;
}

void addRun(std::vector<SettingEntry>& t)
{
    t.push_back({{"seed", "data", "integer 0 to 18446744073709551615", "of weights, batches and dropout"},
                 [](RunConfig& config, std::string_view text) {
                     const std::optional<std::uint64_t> value = parseUnsigned(text);
                     if (value)
                         config.seed = *value;
                     return value.has_value();
                 },
                 [](const RunConfig& config) { return numberText(config.seed); }});
    t.push_back({{"task", "data", taskWords(), "what is learnt, and from what data"},
                 [](RunConfig& config, std::string_view text) {
                     if (findTask(text) == nullptr)
                         return false;
                     config.task = text;
                     return true;
                 },
                 [](const RunConfig& config) { return config.task; }});
    t.push_back({{"data", "data", "path, or nothing", "the file or folder of a task that needs one: csv, idx"},
                 [](RunConfig& config, std::string_view text) { return setPath(config.data, text); },
                 [](const RunConfig& config) { return config.data; }});
    t.push_back({{"patch-size", "data", "auto, row, or integer 1 to 1024",
                  "what an image is cut into: what suits the task, its rows, or squares of so many pixels a side"},
                 setPatchSize,
                 patchSizeText});
    t.push_back(integer<std::int64_t>(
        {"pretrain-steps", "data", "integer 0 to 10^12",
         "steps that a classifier of text is a language model first; then its head is swapped", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.pretrainSteps; }, 0, kManySteps));
    t.push_back({{"text", "data", "path of a UTF-8 file, or nothing",
                  "what to train on; nothing: the installed novels, or generated text"},
                 [](RunConfig& config, std::string_view text) { return setPath(config.text, text); },
                 [](const RunConfig& config) { return config.text; }});
    t.push_back({{"backend", "data", "auto, cpu, onednn, cuda",
                  "what computes; auto: the GPU where there is one, else the CPU; `halfscope info` lists them"},
                 [](RunConfig& config, std::string_view text) {
                     if (text.empty())
                         return false;
                     config.backend = text;
                     return true;
                 },
                 [](const RunConfig& config) { return config.backend; }});
    t.push_back({{"device", "data", "number from 0, or PCI id as 0000:01:00",
                  "which of several GPUs; nothing: the first; `halfscope info` lists them"},
                 [](RunConfig& config, std::string_view text) {
                     if (!isDeviceName(text))
                         return false;
                     config.device = text;
                     return true;
                 },
                 [](const RunConfig& config) { return config.device; }});
    t.push_back(integer<int>(
        {"threads", "data", "integer 0 to 1024", "processor threads; 0: one a processor; results do not depend on it"},
        [](RunConfig& c) -> int& { return c.threads; }, 0, 1024));
}

void addStatistics(std::vector<SettingEntry>& t)
{
    t.push_back(integer<int>(
        {"statistics-interval", "statistics", "integer 1 to 1000000", "measure every n-th step", kLive},
        [](RunConfig& c) -> int& { return c.statisticsInterval; }, 1, 1'000'000));
    t.push_back(
        boolean({"activation-grads", "statistics", "on, off", "measure the gradients of the activations too", kLive},
                [](RunConfig& c) -> bool& { return c.measureActivationGrads; }));
    t.push_back(
        boolean({"activations", "statistics", "on, off", "measure the activations of the forward pass too", kLive},
                [](RunConfig& c) -> bool& { return c.measureActivations; }));
    t.push_back(integer<std::int64_t>(
        {"validation-interval", "statistics", "integer 0 to 10^12",
         "look at held-out examples after every n-th step, and after each epoch; 0: never", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.validationInterval; }, 0, kManySteps));
    t.push_back(integer<std::int64_t>(
        {"validation-examples", "statistics", "integer 1 to 10^12", "at so many of them at most", kLive},
        [](RunConfig& c) -> std::int64_t& { return c.validationExamples; }, 1, kManySteps));
    t.push_back(boolean({"measure-updates", "statistics", "on, off",
                         "measure what each update does to the weights: its relative size, and what is lost", kLive},
                        [](RunConfig& c) -> bool& { return c.measureUpdates; }));
    t.push_back(real<double>(
        {"low-quantile", "statistics", "number, 0 <= q < 1",
         "the quantile of the gradients that the stability band takes for the smallest", kLive},
        [](RunConfig& c) -> double& { return c.lowQuantile; }, 0, true, 1));
    t.push_back(integer<int>(
        {"shadow-interval", "statistics", "integer 0 to 1000000",
         "compare the weight gradients with FP32's every n-th step, which costs as much as the step; 0: never", kLive},
        [](RunConfig& c) -> int& { return c.shadowInterval; }, 0, 1'000'000));
    t.push_back(boolean(
        {"shadow-run", "statistics", "on, off", "train in FP32 alongside, from the same seed: a second loss curve"},
        [](RunConfig& c) -> bool& { return c.shadowRun; }));
}

std::vector<SettingEntry> makeEntries()
{
    std::vector<SettingEntry> entries;
    addRun(entries);
    addModel(entries);
    addOptimizer(entries);
    addPrecision(entries);
    addScale(entries);
    addGrowth(entries);
    addBackoff(entries);
    addMinimum(entries);
    addStatistics(entries);
    return entries;
}

} // namespace

const std::vector<SettingEntry>& settingEntries()
{
    static const std::vector<SettingEntry> entries = makeEntries();
    return entries;
}

} // namespace halfscope
