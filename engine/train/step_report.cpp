// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/step_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/core/number_text.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

std::int16_t findForwardSaturation(const Transformer& model)
{
    const auto& modules = model.modules();
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const int module = static_cast<int>(i);
        if (!model.hasTap(module, Tap::Activation))
            continue;
        const CastProbe& probe = model.probe(module, Tap::Activation);
        if (!probe.saturated && !probe.nonfinite)
            continue;
        // An FP32 norm or pool stores its result in its reader's format: the reader's cast is the one that saturated.
        const bool stores = modules[i].kind == ModuleKind::Norm || modules[i].kind == ModuleKind::Pool;
        const bool readersCast =
            stores && model.plan()[i] == FormatId::Fp32 && probe.saturated && i + 1 < modules.size();
        return static_cast<std::int16_t>(readersCast ? module + 1 : module);
    }
    return -1;
}

std::int16_t findLostWeights(const Transformer& model, Backend& backend)
{
    const auto& modules = model.modules();
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const int module = static_cast<int>(i);
        if (!model.hasTap(module, Tap::Activation))
            continue;
        const CastProbe& probe = model.probe(module, Tap::Activation);
        if (probe.saturated)
            return -1; // an overflow, and what comes after is only contaminated
        if (!probe.nonfinite)
            continue;
        std::vector<float> values;
        for (const Parameter& p : model.parameters()) {
            if (p.module != module)
                continue;
            values.resize(static_cast<std::size_t>(p.master.size()));
            backend.download(p.master, values);
            if (!std::ranges::all_of(values, [](float w) { return std::isfinite(w); }))
                return static_cast<std::int16_t>(module);
        }
        return -1;
    }
    return -1;
}

void nameCulprit(const Transformer& model, int firstParameter, StepRecord& record)
{
    for (const auto& [module, tap] : model.backwardOrder()) {
        const CastProbe& probe = model.probe(module, tap);
        if (probe.saturated || probe.nonfinite) {
            record.overflowModule = static_cast<std::int16_t>(module);
            record.overflowTap = static_cast<std::int8_t>(tap);
            return;
        }
    }
    if (firstParameter >= 0) {
        record.overflowModule =
            static_cast<std::int16_t>(model.parameters()[static_cast<std::size_t>(firstParameter)].module);
        record.overflowTap = static_cast<std::int8_t>(Tap::WeightGrad);
    }
}

void summariseGradients(const Transformer& model, double lowQuantile, StepRecord& record)
{
    TensorStatistics all;
    TensorStatistics scaled;
    std::optional<FormatId> narrow;
    for (const auto& [module, tap] : model.backwardOrder()) {
        if (tap != Tap::WeightGrad)
            continue;
        const TensorStatistics& s = model.probe(module, tap).statistics;
        all.merge(s);
        const FormatId format = model.tapFormat(module, tap);
        if (!hasWideRange(format) && model.tapOwnScale(module, tap) == 0) {
            scaled.merge(s);
            narrow = narrowerOf(narrow, format);
        }
    }
    record.gradAbsMin = all.absMin;
    record.gradAbsMax = all.absMax;
    record.gradLowQuantile = static_cast<float>(all.histogram.quantile(lowQuantile));
    const TensorStatistics& band = narrow ? scaled : all;
    record.bandFormat = narrow.value_or(FormatId::Fp16);
    record.bandAbsMin = band.absMin;
    record.bandAbsMax = band.absMax;
    record.bandLowQuantile = static_cast<float>(band.histogram.quantile(lowQuantile));
}

GradientFacts gradientFacts(const Transformer& model, const Transformer::StepOptions& measured)
{
    GradientFacts facts;
    for (const auto& [module, tap] : model.backwardOrder()) {
        const bool seen = tap == Tap::WeightGrad ? measured.measureWeightGrads : measured.measureActivationGrads;
        if (seen && model.tapOwnScale(module, tap) == 0)
            facts.add(model.probe(module, tap).statistics, model.tapFormat(module, tap));
    }
    return facts;
}

SnapshotPtr makeSnapshot(SnapshotPool& pool, const Transformer& model, const Transformer::StepOptions& measured,
                         const StepRecord& record, std::vector<ModuleUpdates>& updates)
{
    const std::shared_ptr<Snapshot> snapshot = pool.take();
    snapshot->step = snapshot->firstStep = record.step;
    snapshot->skippedSteps = record.outcome == StepOutcome::Applied ? 0 : 1;
    snapshot->scale = snapshot->minScale = snapshot->maxScale = record.scale;
    snapshot->outcome = record.outcome;
    const auto add = [&](int module, Tap tap) {
        const CastProbe& probe = model.probe(module, tap);
        snapshot->taps.push_back({static_cast<std::int16_t>(module), tap, model.tapFormat(module, tap),
                                  probe.statistics, model.tapOwnScale(module, tap)});
    };
    snapshot->updates.swap(updates);
    snapshot->taps.reserve(model.modules().size() * kTapCount);
    for (const auto& [module, tap] : model.backwardOrder()) {
        if (tap == Tap::WeightGrad ? measured.measureWeightGrads : measured.measureActivationGrads)
            add(module, tap);
    }
    if (measured.measureActivations) {
        for (int module = static_cast<int>(model.modules().size()) - 1; module >= 0; --module) {
            if (model.hasTap(module, Tap::Activation))
                add(module, Tap::Activation);
        }
    }
    return snapshot;
}

namespace {

Event makeEvent(const StepRecord& record, EventKind kind, std::string text)
{
    Event e;
    e.step = record.step;
    e.kind = kind;
    e.text = std::move(text);
    e.scale = record.scale;
    e.scaleNext = record.scaleNext;
    return e;
}

// With the old and the new scale as its values.
Event scaleEvent(const StepRecord& record, EventKind kind, std::string text)
{
    Event e = makeEvent(record, kind, std::move(text));
    e.oldValue = settingNumber(record.scale);
    e.newValue = settingNumber(record.scaleNext);
    return e;
}

// About a module whose trouble began with this step.
Event moduleEvent(const Transformer& model, const StepRecord& record, EventKind kind, std::int16_t module,
                  const std::string& before, const std::string& after)
{
    const std::string& name = model.modules()[static_cast<std::size_t>(module)].name;
    Event e = makeEvent(record, kind, before + name + after);
    e.module = module;
    e.key = name;
    return e;
}

std::string scaleChange(const StepRecord& record)
{
    return record.scale == record.scaleNext
               ? "scale stays " + settingNumber(record.scale)
               : "scale " + settingNumber(record.scale) + " -> " + settingNumber(record.scaleNext);
}

// The scaler as GradScaler.state_dict() tells of itself: the scale, the factors and how far the next growth is.
std::string scalerText(const ScalerConfig& scaler, const StepRecord& record)
{
    if (!scaler.enabled)
        return "off";
    const bool changed = scalerPresetKey(scaler) != scaler.preset;
    std::string text =
        scaler.preset + (changed ? " (changed)" : "") + ": scale " + powerText(static_cast<double>(record.scaleNext));
    if (!scaler.dynamic)
        return text + ", static";
    if (scaler.rule != ScalerRule::Dynamic)
        return text + ", moved by the rule " + std::string(scalerRuleKey(scaler.rule));
    const double backoff = scaler.backoffRule == BackoffRule::Divide ? 1.0 / scaler.growthFactor : scaler.backoffFactor;
    return text + ", growth x " + numberText(scaler.growthFactor) + " after " + numberText(scaler.growthInterval) +
           " clean steps (" + numberText(record.growthTracker) + " so far), backoff x " + numberText(backoff);
}

Event overflowEvent(const Transformer& model, const StepRecord& record, bool sanitised)
{
    Event e = scaleEvent(record, EventKind::Overflow, "");
    e.module = record.overflowModule;
    e.tap = record.overflowTap;
    if (e.module < 0) {
        e.text = "nonfinite gradient, step skipped, " + scaleChange(record);
        return e;
    }
    const Tap tap = static_cast<Tap>(e.tap);
    const TensorStatistics& s = model.probe(e.module, tap).statistics;
    const FormatId format = model.tapFormat(e.module, tap);
    const std::string tensor =
        model.modules()[static_cast<std::size_t>(e.module)].name + "/" + std::string(tapKey(tap));
    e.key = tensor;
    e.count = s.classes[ValueClass::Saturating] + s.classes[ValueClass::Inf] + s.classes[ValueClass::NaN];
    const float ownScale = model.tapOwnScale(e.module, tap); // what this tensor was multiplied by, where it has one
    e.largest = static_cast<float>(static_cast<double>(s.absMax) *
                                   static_cast<double>(ownScale != 0 ? ownScale : record.scale));
    e.text = tensor + ": " + std::to_string(e.count) + (e.count == 1 ? " value" : " values") + " beyond " +
             std::string(floatFormat(format).name) +
             (ownScale != 0 ? " at its own scale " + settingNumber(ownScale) : std::string()) + ", largest finite " +
             settingNumber(e.largest) +
             (sanitised                                ? "; set to zero and applied, "
              : record.outcome == StepOutcome::Applied ? "; applied all the same, so the weights are no longer finite, "
                                                       : "; step skipped, ") +
             scaleChange(record);
    return e;
}

} // namespace

void reportEvents(const Transformer& model, const StepRecord& record, bool sanitised, const RunConfig& config,
                  ForwardTrouble before, std::int64_t cleanSteps, std::vector<Event>& events)
{
    if (record.forwardSaturatedModule >= 0 && !before.saturated)
        events.push_back(moduleEvent(model, record, EventKind::ForwardSaturated, record.forwardSaturatedModule,
                                     "a forward cast in ", " saturated; no loss scale can mend that"));
    if (record.lostWeightsModule >= 0 && !before.weightsLost)
        events.push_back(moduleEvent(model, record, EventKind::WeightsLost, record.lostWeightsModule, "the weights of ",
                                     " are not finite; only a restart brings them back"));
    if (!std::isfinite(record.loss)) {
        Event e = makeEvent(
            record, EventKind::NonfiniteLoss,
            std::string("the loss is not finite; step ") +
                (record.outcome == StepOutcome::Applied ? "applied" : "skipped") + ", " + scaleChange(record) +
                (record.lostWeightsModule >= 0 ? "; the weights are not finite"
                                               : "; lowering the scale cannot mend a forward overflow"));
        e.module = std::max(record.forwardSaturatedModule, record.lostWeightsModule);
        events.push_back(std::move(e));
    } else if (record.foundInf) {
        events.push_back(overflowEvent(model, record, sanitised));
    }
    switch (record.scaleEvent) {
    case ScaleEvent::Grew:
        events.push_back(
            scaleEvent(record, EventKind::Growth, std::to_string(cleanSteps) + " clean steps, " + scaleChange(record)));
        break;
    case ScaleEvent::GrowthCapped:
        events.push_back(
            scaleEvent(record, EventKind::GrowthCapped, "growth is due but capped, " + scaleChange(record)));
        break;
    case ScaleEvent::Steered: {
        const std::string rule(scalerRuleKey(config.scaler.rule));
        events.push_back(scaleEvent(record, EventKind::Steered, "the rule " + rule + ": " + scaleChange(record)));
        events.back().key = rule;
        break;
    }
    case ScaleEvent::AtMinimum:
        events.push_back(makeEvent(record, EventKind::AtMinimum,
                                   "overflow at the smallest scale allowed, " + settingNumber(record.scale)));
        break;
    case ScaleEvent::TooManyOverflows: {
        Event e = makeEvent(record, EventKind::TooManyOverflows,
                            "more than " + std::to_string(config.scaler.maxOverflows) + " steps in a row overflowed");
        e.count = static_cast<std::uint64_t>(config.scaler.maxOverflows);
        events.push_back(std::move(e));
        break;
    }
    default:
        break;
    }
}

void EpochTotals::add(const StepRecord& record)
{
    if (!std::isfinite(record.loss))
        return;
    ++steps;
    loss += record.loss;
    accuracy += record.accuracy;
}

Event epochEvent(const StepRecord& record, std::int64_t epoch, const EpochTotals& totals, const std::string& precision,
                 const ScalerConfig& scaler)
{
    const auto percent = [](double share) { return fixedText(100.0 * share, 2) + " %"; };
    const auto steps = static_cast<double>(totals.steps);
    std::string text = "epoch " + numberText(epoch) + ": loss " + fixedText(totals.loss / steps, 4) + ", accuracy " +
                       percent(totals.accuracy / steps);
    if (!std::isnan(record.validationLoss))
        text += "; held out: loss " + fixedText(record.validationLoss, 4) + ", accuracy " +
                percent(record.validationAccuracy);
    text += "; precision " + precision + "; scaler " + scalerText(scaler, record);
    Event e = makeEvent(record, EventKind::Epoch, std::move(text));
    e.count = static_cast<std::uint64_t>(epoch);
    return e;
}

Event continuedEvent(const RunInfo& info, const std::string& from)
{
    const Continuation& c = info.continuations.back();
    Event e;
    e.step = c.step;
    e.kind = EventKind::Continued;
    e.key = "backend";
    e.oldValue = from;
    e.newValue = info.backendKey;
    e.since = c.stateAfter;
    e.text = "the run goes on on " + c.to + " from the state after step " + numberText(c.stateAfter);
    const std::int64_t again = c.step - 1 - c.stateAfter;
    if (again > 0)
        e.text += ", the last that was kept; " +
                  (again == 1 ? "step " + numberText(c.step - 1) + " is"
                              : "steps " + numberText(c.stateAfter + 1) + " to " + numberText(c.step - 1) + " are") +
                  " computed again there and stand here as they were the first time";
    return e;
}

Event fallbackEvent(const RunInfo& info)
{
    Event e;
    e.kind = EventKind::Note;
    e.key = "backend";
    e.newValue = info.backendKey;
    e.text = "the run is on the CPU: " + info.fallback;
    return e;
}

Event headSwappedEvent(std::int64_t step, const TransformerConfig& model)
{
    Event e;
    e.step = step;
    e.kind = EventKind::HeadSwapped;
    e.text = "head swapped: the language model classifies into " + numberText(std::int64_t{model.classes}) +
             " classes from here on" + (model.causal ? "" : ", and its attention looks both ways");
    return e;
}

Event unusableScaleEvent(const StepRecord& record, double wanted)
{
    Event e =
        makeEvent(record, EventKind::UnusableScale,
                  "the scale became " + numberText(wanted) + ", which FP32 cannot divide gradients by; it is held at " +
                      settingNumber(record.scaleNext) + " and the run pauses");
    e.oldValue = settingNumber(record.scale);
    e.newValue = numberText(wanted);
    return e;
}

} // namespace halfscope
