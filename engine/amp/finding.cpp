// SPDX-License-Identifier: GPL-3.0-or-later
// The English of findings.
#include "engine/amp/finding.h"

#include <array>
#include <cmath>

#include "engine/core/number_text.h"

namespace halfscope {

std::string_view findingKey(FindingKind kind)
{
    constexpr std::array<std::string_view, kFindingKindCount> keys = {
        "weights-lost",   "nonfinite-loss",  "forward-overflow", "at-floor",           "zero-gradients",
        "backoff-streak", "tensor-overflow", "zero-outputs",     "updates-lost",       "epsilon-lost",
        "loss-jump",      "flushing",        "shadow-deviates",  "interval-unreached", "validation-fluctuates",
        "growth-capped",  "probe-overflow",  "scaler-useless"};
    return keys.at(static_cast<std::size_t>(kind));
}

std::string_view severityKey(Severity severity)
{
    constexpr std::array<std::string_view, 4> keys = {"note", "advice", "warning", "error"};
    return keys.at(static_cast<std::size_t>(severity));
}

std::string moduleList(const std::vector<std::int16_t>& modules, const std::vector<ModuleInfo>& names)
{
    constexpr std::size_t kShown = 3;
    std::string list;
    const auto name = [&](std::size_t i) { return names.at(static_cast<std::size_t>(modules[i])).name; };
    const std::size_t shown = modules.size() == kShown + 1 ? modules.size() : std::min(modules.size(), kShown);
    for (std::size_t i = 0; i < shown; ++i) {
        const bool last = i + 1 == modules.size();
        list += (i == 0 ? "" : last ? " and " : ", ") + name(i);
    }
    if (shown < modules.size())
        list += " and " + numberText(static_cast<std::int64_t>(modules.size() - shown)) + " more";
    return list;
}

namespace {

std::string percent(double share)
{
    const double value = 100.0 * share;
    return fixedText(value, value >= 10 || value == 0 ? 0 : value >= 1 ? 1 : 2) + " %";
}

std::string counted(std::int64_t n, const std::string& one) { return numberText(n) + " " + one + (n == 1 ? "" : "s"); }

// "weight gradients"
std::string tapName(std::int8_t tap)
{
    switch (static_cast<Tap>(tap)) {
    case Tap::WeightGrad:
        return "weight gradients";
    case Tap::ActivationGrad:
        return "activation gradients";
    case Tap::Activation:
        break;
    }
    return "activations";
}

std::string flushingText(const Finding& f, const std::string& where)
{
    std::string text = percent(f.share) + " of the " + tapName(f.tap) + " of " +
                       (f.modules.size() > 1 ? "the worst module" : where) + " become zero at scale " +
                       powerText(f.scale) + (f.modules.size() > 1 ? ": " + where : "") +
                       ". They are smaller than the format can hold at this scale.";
    if (f.count > 0)
        text += " " + numberText(f.count) + " of the modules " + (f.count == 1 ? "is" : "are") +
                " in FP32, but the gradient comes from the layer that reads the output.";
    return f.limit > 0 ? text : text + " No larger scale is free: the largest gradients would overflow.";
}

std::string zeroGradientText(const Finding& f, const std::string& where)
{
    return (f.whole ? "All weight gradients are zero: nothing is learned. "
                    : "All weight gradients of " + where + " are zero. ") +
           (f.share > 0 ? "They, or the gradients they come from, were not zero before they were rounded."
                        : "They were zero before they were rounded: no gradient arrives there.");
}

std::string streakText(const Finding& f, const std::string& where)
{
    const std::string fall = "scale " + powerText(f.scaleFrom) + " -> " + powerText(f.scale);
    if (f.atStart)
        return counted(f.count, "step") + " skipped before the first was applied, " + fall +
               ". The initial scale is far too high; the scaler is on its way down.";
    return counted(f.count, "step") + " skipped in a row, " + fall + (where.empty() ? "" : ", by " + where) +
           (f.injected ? ". The scale was raised above what the gradients allow; the scaler is on its way down."
                       : ". The gradients have grown suddenly, or the scale is far too high.");
}

std::string lostWeightsText(const Finding& f, const std::string& where)
{
    return "The weights of " + where + " are not finite, and nor is anything that is computed from them. " +
           (f.value > 0 ? "Adam's epsilon of " + numberText(f.value) +
                              " is zero in the format of the moments: where a second moment is zero too, the update "
                              "was 0/0. Set another epsilon or keep FP32 masters, then restart."
                        : "The updates were too large, or not finite. Only a restart brings them back.");
}

std::string floorText(const Finding& f, const std::string& where)
{
    const std::string who = where.empty() ? "" : " The first to overflow is " + where + ".";
    if (f.limit > 0)
        return "The scale is at its smallest, " + powerText(f.limit) + ", and gradients still overflow (" +
               counted(f.count, "skip") + " in a row)." + who + " Lowering the scale cannot help any more.";
    return "The scale has fallen to " + powerText(f.scale) + " and gradients still overflow (" +
           counted(f.count, "skip") + " in a row)." + who +
           " Unscaled, they are themselves too large for the format, or not finite to begin with.";
}

std::string cappedText(const Finding& f)
{
    std::string text = "The scale stays at " + powerText(f.scale) +
                       (f.limit > 0 ? ", the largest that max-scale allows." : ", the largest FP32 can hold.");
    if (std::isnan(f.value))
        return text + " No gradient is left to measure it by.";
    return text + " The largest gradient is " + fixedText(f.value, 1) + " octaves away from overflowing; " +
           (f.value > 8 ? "the room above is not used." : "nothing is lost by that.");
}

std::string validationText(const Finding& f)
{
    return "Validation accuracy goes up and down between " + percent(f.value) + " and " + percent(f.largest) + " (" +
           numberText(f.count) + " changes of direction in the last " + numberText(f.of) +
           " looks). The learning rate is probably too high; precision is rarely the cause.";
}

} // namespace

std::string findingText(const Finding& f, const std::vector<ModuleInfo>& names)
{
    const std::string where = moduleList(f.modules, names);
    switch (f.kind) {
    case FindingKind::WeightsLost:
        if (f.count == 0)
            return lostWeightsText(f, where);
        return "Gradients that were not finite were applied (" + counted(f.count, "step") +
               "): the weights are no longer numbers. Only a restart brings them back.";
    case FindingKind::NonfiniteLoss:
        return "The loss was not finite in " + numberText(f.count) + " of the last " + counted(f.of, "step") +
               ", and nothing overflowed in the forward pass. The weights have diverged; no loss scale mends that.";
    case FindingKind::ForwardOverflow:
        return where + " overflows in the forward pass (" + numberText(f.count) + " of the last " +
               counted(f.of, "step") + (f.lossLost ? ", and the loss is lost" : "") +
               "). The loss scale multiplies gradients alone: no scale mends this, a wider format does.";
    case FindingKind::AtFloor:
        return floorText(f, where);
    case FindingKind::ZeroGradients:
        return zeroGradientText(f, where);
    case FindingKind::BackoffStreak:
        return streakText(f, where);
    case FindingKind::TensorOverflow:
        return where + " overflows again and again: its " + tapName(f.tap) + " caused " + numberText(f.count) +
               " of the " + counted(f.of, "skip") + " in the last " + counted(f.window, "step") +
               (f.values > 0 ? ", most recently with " + counted(static_cast<std::int64_t>(f.values), "value") : "") +
               ". This one tensor keeps the scale of all others down.";
    case FindingKind::ZeroOutputs:
        return f.whole ? "The loss is exactly that of equal outputs for every class: the model's outputs are constant."
                       : "All outputs of " + where + " are zero. Nothing behind it depends on its input.";
    case FindingKind::UpdatesLost:
        return percent(f.share) + " of the updates of " + (f.modules.size() > 1 ? "the worst module" : where) +
               " are too small to move their weight" + (f.modules.size() > 1 ? ": " + where : "") +
               ". The weights are kept in a format whose steps are larger than the updates.";
    case FindingKind::EpsilonLost:
        return "Adam's epsilon of " + numberText(f.value) + " is zero in the format of the moments (all up to " +
               powerText(f.limit) + " are): where a second moment is zero too, the update is 0/0.";
    case FindingKind::LossJump:
        return "The loss jumped from " + fixedText(f.value, 3) + " to " + fixedText(f.largest, 3) + ". " +
               (f.injected ? "You injected it."
                           : "The step before was too large, or the batch unlike the others; the loss scale is not the "
                             "cause.");
    case FindingKind::Flushing:
        return flushingText(f, where);
    case FindingKind::ShadowDeviates:
        return "The gradients of " + where + " differ from FP32's of the same batch and weights: cosine " +
               fixedText(f.value, 3) + ", relative error " + percent(f.share) +
               " at worst. Rounding changes where the "
               "step goes.";
    case FindingKind::IntervalUnreached:
        return "The scale has not grown for " + counted(f.window, "step") + ": of the " + numberText(f.of) +
               " clean steps in a row that growth takes, the most were " + numberText(f.value) + ", between " +
               counted(f.count, "skip") + ".";
    case FindingKind::ValidationFluctuates:
        return validationText(f);
    case FindingKind::GrowthCapped:
        return cappedText(f);
    case FindingKind::ProbeOverflow:
        return counted(f.count, "step") + " of the last " + numberText(f.window) + (f.count == 1 ? " was" : " were") +
               " skipped, as growth went one step too far. This is how the scaler finds the limit: about one in " +
               numberText(f.of) + " is normal with these settings.";
    case FindingKind::ScalerUseless:
        return "The loss scale is of no use: no module is in a format of a smaller range than FP32's (BF16 has the "
               "same). It does no harm either.";
    }
    return {};
}

std::string remedyText(const Remedy& r, const std::vector<ModuleInfo>& names)
{
    switch (r.kind) {
    case RemedyKind::SetScale:
        return "Set the scale to " + powerText(r.value);
    case RemedyKind::HalveScale:
        return "Halve the scale, to " + powerText(r.value);
    case RemedyKind::LiftMaxScale:
        return "No largest scale (max-scale=none)";
    case RemedyKind::CapScale:
        return "Let the scale grow no further than " + powerText(r.value) + " (max-scale)";
    case RemedyKind::LowerMinScale:
        return "Let the scale fall to " + powerText(r.value) + " (min-scale)";
    case RemedyKind::GrowthInterval:
        return "Grow after " + numberText(r.value) + " clean steps (growth-interval)";
    case RemedyKind::ModulesToFp32:
        return moduleList(r.modules, names) + " in FP32";
    case RemedyKind::ModulesToBf16:
        return moduleList(r.modules, names) + " in BF16";
    case RemedyKind::SensitiveToFp32:
        return "Embeddings, norms and head in FP32";
    case RemedyKind::AllFp32:
        return "Mixed precision off (precision=fp32)";
    case RemedyKind::AllBf16:
        return "BF16 instead of FP16 (precision=mixed-bf16)";
    case RemedyKind::ScalerOn:
        return "Dynamic loss scaling as in PyTorch (scaler=pytorch)";
    case RemedyKind::ScalerOff:
        return "Loss scaling off (scaler-mode=off)";
    case RemedyKind::SkipNonfinite:
        return "Skip such steps (skip-nonfinite=on)";
    case RemedyKind::LearningRate:
        return "Learning rate " + numberText(static_cast<float>(r.value));
    case RemedyKind::ClipNorm:
        return "Clip the gradients' norm at " + numberText(r.value) + " (clip-norm)";
    case RemedyKind::Epsilon:
        return "Epsilon " + numberText(r.value);
    case RemedyKind::MasterWeights:
        return "Keep FP32 master weights (master-weights=on)";
    case RemedyKind::MeasureActivations:
        return "Measure the activations (activations=on)";
    case RemedyKind::Restart:
        return "Restart with the same seed";
    }
    return {};
}

} // namespace halfscope
