// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/setting_choices.h"

#include <QCoreApplication>

#include "engine/amp/scaler_config.h"
#include "engine/backend/backend_registry.h"
#include "engine/data/dataset_registry.h"
#include "engine/model/precision_plan.h"
#include "ui/models/scaler_text.h"

namespace halfscope {

namespace {

struct Choice {
    const char* key;
    const char* value;
    const char* text;
    const char* toolTip;
};

constexpr Choice kChoices[] = {
    Choice{"scaler-mode", "dynamic", QT_TRANSLATE_NOOP("Choice", "dynamic"),
           QT_TRANSLATE_NOOP("Choice", "The scale grows and backs off by itself")},
    Choice{"scaler-mode", "static", QT_TRANSLATE_NOOP("Choice", "static"),
           QT_TRANSLATE_NOOP("Choice", "The scale stands; steps that overflow are skipped")},
    Choice{"scaler-mode", "off", QT_TRANSLATE_NOOP("Choice", "off"), QT_TRANSLATE_NOOP("Choice", "The scale is 1")},
    Choice{"hysteresis-kind", "none", QT_TRANSLATE_NOOP("Choice", "none"),
           QT_TRANSLATE_NOOP("Choice", "Every overflow backs off")},
    Choice{"hysteresis-kind", "budget", QT_TRANSLATE_NOOP("Choice", "budget"),
           QT_TRANSLATE_NOOP("Choice", "Overflows are paid from a budget that growth refills")},
    Choice{"hysteresis-kind", "consecutive", QT_TRANSLATE_NOOP("Choice", "consecutive"),
           QT_TRANSLATE_NOOP("Choice", "Every clean step refills the budget")},
    Choice{"hysteresis-kind", "repeating", QT_TRANSLATE_NOOP("Choice", "repeating"),
           QT_TRANSLATE_NOOP("Choice", "Clean steps and backing off refill the budget")},
    Choice{"at-min", "skip", QT_TRANSLATE_NOOP("Choice", "keep skipping"),
           QT_TRANSLATE_NOOP("Choice", "Stay there and skip every step that overflows")},
    Choice{"at-min", "pause", QT_TRANSLATE_NOOP("Choice", "pause"),
           QT_TRANSLATE_NOOP("Choice", "Pause the run and say so")},
    Choice{"at-min", "stop", QT_TRANSLATE_NOOP("Choice", "stop"),
           QT_TRANSLATE_NOOP("Choice", "End the run and say so")},
    Choice{"at-min", "sanitise", QT_TRANSLATE_NOOP("Choice", "sanitise"),
           QT_TRANSLATE_NOOP("Choice", "Replace what is not finite by zero and apply the step")},
    Choice{"growth-after", "n", QT_TRANSLATE_NOOP("Choice", "the interval"),
           QT_TRANSLATE_NOOP("Choice", "After exactly the interval, as PyTorch")},
    Choice{"growth-after", "n+1", QT_TRANSLATE_NOOP("Choice", "interval + 1"),
           QT_TRANSLATE_NOOP("Choice", "One clean step more, as Flax")},
    Choice{"growth-after", "first-n+1", QT_TRANSLATE_NOOP("Choice", "first + 1"),
           QT_TRANSLATE_NOOP("Choice", "One clean step more at the start and after an overflow, as DeepSpeed")},
    Choice{"growth-cap", "keep", QT_TRANSLATE_NOOP("Choice", "refuse"),
           QT_TRANSLATE_NOOP("Choice", "A growth that is not finite is refused, as in PyTorch")},
    Choice{"growth-cap", "clamp", QT_TRANSLATE_NOOP("Choice", "up to the bound"),
           QT_TRANSLATE_NOOP("Choice", "The scale becomes the largest allowed, as in Flax")},
    Choice{"growth-cap", "none", QT_TRANSLATE_NOOP("Choice", "let it go"),
           QT_TRANSLATE_NOOP("Choice", "The scale becomes infinite, as in Keras; the run then pauses")},
    Choice{"scaler-rule", "dynamic", QT_TRANSLATE_NOOP("Choice", "clean steps"),
           QT_TRANSLATE_NOOP("Choice", "The scale grows after so many clean steps in a row")},
    Choice{"scaler-rule", "log-normal", QT_TRANSLATE_NOOP("Choice", "log-normal rule"),
           QT_TRANSLATE_NOOP("Choice",
                             "From mean and deviation of the logarithm of the largest gradient: one step in a "
                             "thousand overflows")},
    Choice{"scaler-rule", "preventive", QT_TRANSLATE_NOOP("Choice", "preventive rule"),
           QT_TRANSLATE_NOOP("Choice", "Halved when gradients reach the top three octaves, doubled otherwise, at every "
                                       "measured step")},
    Choice{"scaler-rule", "stability-band", QT_TRANSLATE_NOOP("Choice", "stability band"),
           QT_TRANSLATE_NOOP("Choice", "Kept between ε/g_low and M/g_max; moved only when it leaves the band")},
    Choice{"backoff-rule", "factor", QT_TRANSLATE_NOOP("Choice", "times the factor"),
           QT_TRANSLATE_NOOP("Choice", "Multiplied by the backoff factor")},
    Choice{"backoff-rule", "divide", QT_TRANSLATE_NOOP("Choice", "divided by growth"),
           QT_TRANSLATE_NOOP("Choice", "Divided by the growth factor, as in JMP and fairseq")},
    Choice{"scale-arithmetic", "fp32", QT_TRANSLATE_NOOP("Choice", "FP32"),
           QT_TRANSLATE_NOOP("Choice", "FP32; the product is formed in FP64 and rounded once, as in PyTorch")},
    Choice{"scale-arithmetic", "fp32-factor", QT_TRANSLATE_NOOP("Choice", "FP32, factor too"),
           QT_TRANSLATE_NOOP("Choice", "FP32 times FP32, as in Megatron, Keras and JAX")},
    Choice{"scale-arithmetic", "fp64", QT_TRANSLATE_NOOP("Choice", "FP64"),
           QT_TRANSLATE_NOOP("Choice", "A Python number, as in DeepSpeed, Apex and fairseq")},
    Choice{"min-trigger", "overflow", QT_TRANSLATE_NOOP("Choice", "overflow there"),
           QT_TRANSLATE_NOOP("Choice", "An overflow at the smallest scale")},
    Choice{"min-trigger", "reached", QT_TRANSLATE_NOOP("Choice", "reaching it"),
           QT_TRANSLATE_NOOP("Choice", "Backing off to the smallest scale, as in fairseq")},
    Choice{"skip-nonfinite", "on", QT_TRANSLATE_NOOP("Choice", "skipped"),
           QT_TRANSLATE_NOOP("Choice", "A step with nonfinite gradients is skipped")},
    Choice{
        "skip-nonfinite", "off", QT_TRANSLATE_NOOP("Choice", "applied"),
        QT_TRANSLATE_NOOP(
            "Choice", "A step with nonfinite gradients is applied, as by Apex's static scaler; the weights are lost")},
    Choice{"master-weights", "on", QT_TRANSLATE_NOOP("Choice", "FP32 masters"),
           QT_TRANSLATE_NOOP("Choice", "Updates are added to FP32 weights, which are rounded to compute with")},
    Choice{"master-weights", "off", QT_TRANSLATE_NOOP("Choice", "none"),
           QT_TRANSLATE_NOOP("Choice", "Weights are kept in the module's format; an update too small to move one is "
                                       "lost")},
    Choice{"moments", "as-weights", QT_TRANSLATE_NOOP("Choice", "as the weights"),
           QT_TRANSLATE_NOOP("Choice", "In the format of the weights that are updated, as torch.optim.AdamW has them")},
    Choice{"moments", "fp32", QT_TRANSLATE_NOOP("Choice", "FP32"),
           QT_TRANSLATE_NOOP("Choice", "In FP32, whatever the weights are in")},
    Choice{"fp8-scaling", "delayed", QT_TRANSLATE_NOOP("Choice", "delayed"),
           QT_TRANSLATE_NOOP("Choice", "Each FP8 tensor has a scale, from its largest values in past steps, as in "
                                       "Transformer Engine")},
    Choice{"fp8-scaling", "off", QT_TRANSLATE_NOOP("Choice", "off"),
           QT_TRANSLATE_NOOP("Choice", "Values are cast to FP8 as they are; most gradients become zero")},
    Choice{"scale-per-module", "on", QT_TRANSLATE_NOOP("Choice", "each module"),
           QT_TRANSLATE_NOOP("Choice", "Linear layers and attention each have a loss scale of their own; any overflow "
                                       "skips the step")},
    Choice{"scale-per-module", "off", QT_TRANSLATE_NOOP("Choice", "one for all"),
           QT_TRANSLATE_NOOP("Choice", "One loss scale, as in every framework")},
    Choice{"measure-updates", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "Each update of the weights is counted: its relative size, and what is lost")},
    Choice{"measure-updates", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "Updates are not counted")},
    Choice{"schedule", "constant", QT_TRANSLATE_NOOP("Choice", "constant"),
           QT_TRANSLATE_NOOP("Choice", "The learning rate stays as it is")},
    Choice{"schedule", "warmup-cosine", QT_TRANSLATE_NOOP("Choice", "warm-up, cosine"),
           QT_TRANSLATE_NOOP("Choice", "Rises, then falls along a cosine")},
    Choice{"norm", "pre", QT_TRANSLATE_NOOP("Choice", "before each branch"),
           QT_TRANSLATE_NOOP("Choice", "Pre-norm: layer norm before each branch, and one at the end")},
    Choice{"norm", "post", QT_TRANSLATE_NOOP("Choice", "after each sum"),
           QT_TRANSLATE_NOOP("Choice", "Post-norm: layer norm after each sum")},
    Choice{"tied-head", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "The head uses the token embedding's weights")},
    Choice{"tied-head", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "The head has weights of its own")},
    Choice{"causal", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "A classifier's tokens see only those before them, as a language model's do")},
    Choice{"causal", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "A classifier's tokens see the whole sequence")},
    Choice{"activation", "gelu", QT_TRANSLATE_NOOP("Choice", "GELU"),
           QT_TRANSLATE_NOOP("Choice", "By the error function, as torch.nn.GELU()")},
    Choice{"activation", "relu", QT_TRANSLATE_NOOP("Choice", "ReLU"), QT_TRANSLATE_NOOP("Choice", "Zero below zero")},
    Choice{"activation-grads", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "Gradients with respect to each module's output are counted")},
    Choice{"activation-grads", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "Only gradients of weights are counted")},
    Choice{"shadow-run", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "A second model trains in FP32 from the same seed; its loss is drawn too")},
    Choice{"shadow-run", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "Only this run is trained")},
    Choice{"activations", "on", QT_TRANSLATE_NOOP("Choice", "yes"),
           QT_TRANSLATE_NOOP("Choice", "Each module's output is counted in the forward pass")},
    Choice{"activations", "off", QT_TRANSLATE_NOOP("Choice", "no"),
           QT_TRANSLATE_NOOP("Choice", "Nothing is counted in the forward pass")},
};

QString translated(const char* context, std::string_view text)
{
    return QCoreApplication::translate(context, std::string(text).c_str());
}

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace

QList<SettingChoice> settingChoices(const QString& key)
{
    QList<SettingChoice> choices;
    if (key == QLatin1String("scaler")) {
        for (const ScalerPreset& preset : scalerPresets()) {
            choices.push_back({fromView(preset.key), presetName(preset), presetDifference(preset)});
        }
    } else if (key == QLatin1String("precision")) {
        for (const PrecisionPreset& preset : precisionPresets()) {
            choices.push_back(
                {fromView(preset.key), translated("Action", preset.name), translated("Action", preset.description)});
        }
    } else if (key == QLatin1String("backend")) {
        choices.push_back({QStringLiteral("auto"), translated("Choice", QT_TRANSLATE_NOOP("Choice", "automatic")),
                           translated("Choice", QT_TRANSLATE_NOOP("Choice", "The GPU where there is one that can be "
                                                                            "used, else the CPU"))});
        for (const BackendInfo& backend : listBackends()) {
            choices.push_back({QString::fromStdString(backend.key), QString::fromStdString(backend.name),
                               translated("Choice", backend.reason), backend.available});
        }
    }
    if (key == QLatin1String("task")) {
        for (const TaskInfo& task : tasks()) {
            choices.push_back(
                {fromView(task.key), translated("Choice", task.name), translated("Choice", task.description)});
        }
    }
    for (const Choice& choice : kChoices) {
        if (key == QLatin1String(choice.key)) {
            choices.push_back(
                {QLatin1String(choice.value), translated("Choice", choice.text), translated("Choice", choice.toolTip)});
        }
    }
    return choices;
}

QString choiceText(const QString& key, const QString& value)
{
    const QList<SettingChoice> choices = settingChoices(key);
    for (const SettingChoice& choice : choices) {
        if (choice.value == value) {
            return choice.text;
        }
    }
    if (key.startsWith(QLatin1String("precision."))) {
        if (const auto format = parseModuleFormat(value.toStdString())) {
            return fromView(moduleFormatName(*format));
        }
    }
    return value;
}

} // namespace halfscope
