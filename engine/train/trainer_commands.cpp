// SPDX-License-Identifier: GPL-3.0-or-later
// What may be changed and asked between two steps.
#include "engine/train/trainer_impl.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/core/number_text.h"
#include "engine/train/evaluator.h"
#include "engine/train/learning_rate.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

// Makes the FP32 model or lets it go. Returns why it cannot be made.
std::optional<std::string> Trainer::Impl::setShadow(int interval)
{
    try {
        if (interval == 0) {
            shadow.reset();
        } else if (!shadow) {
            requireMemory(*backend, gradientShadowBytes(model.config()), "The FP32 shadow",
                          "leave shadow-interval at 0");
            shadow = std::make_unique<GradientShadow>(*backend, model);
        }
    } catch (const std::runtime_error& e) {
        backend->forgetResults(); // the run goes on
        return e.what();
    }
    return std::nullopt;
}

Event Trainer::Impl::commandEvent(std::string key, std::string oldValue, std::string newValue) const
{
    Event e;
    e.step = step + 1; // takes effect with the next step
    e.kind = EventKind::Command;
    e.key = std::move(key);
    e.oldValue = std::move(oldValue);
    e.newValue = std::move(newValue);
    e.text = e.key + ": " + e.oldValue + " -> " + e.newValue;
    return e;
}

Event Trainer::Impl::set(const SetSetting& setting)
{
    const std::string& key = setting.key;
    const std::string& value = setting.value;
    RunConfig next = config;
    const std::string old = settingValue(config, key);
    std::optional<std::string> problem = editSetting(next, key, value);
    const std::string modulePrefix = "precision.";
    if (!problem && key.starts_with(modulePrefix) && model.moduleId(key.substr(modulePrefix.size())) < 0)
        problem = "There is no module \"" + key.substr(modulePrefix.size()) + "\" in this model; its modules are " +
                  model.modules().front().name + " to " + model.modules().back().name + ".";
    if (!problem)
        problem = setShadow(next.shadowInterval);
    if (problem) {
        Event e = commandEvent(key, old, value);
        e.kind = EventKind::Rejected;
        e.text = *problem;
        return e;
    }

    if (!keepsMasters(config) || !keepsMasters(next))
        weightsChange();
    const ScalerConfig before = config.scaler;
    config = next;
    if (!(config.scaler == before)) {
        scaler.reconfigure(config.scaler);
        moduleScalers.reconfigure(config.scaler);
    }
    if (config.scalePerModule && !moduleScalers.active())
        moduleScalers.start(config.scaler, model.modules().size(), scaler.exactScale());
    else if (!config.scalePerModule)
        moduleScalers.stop();
    model.setFp8Scaling(config.fp8);
    model.setWeightStorage(config.weightStorage);
    const bool backdated = (key == "precision" || key.starts_with(modulePrefix)) && setting.since >= 0 &&
                           precision.scheduledSince(setting.since);
    const std::int64_t since = backdated ? setting.since : step + 1;
    if (key == "precision")
        precision.set(config.precision, since);
    else if (key.starts_with(modulePrefix))
        precision.setModule(key.substr(modulePrefix.size()), config.modulePrecision.at(key.substr(modulePrefix.size())),
                            since);
    const PrecisionPlan plan = precision.plan(model.modules());
    if (plan != model.plan())
        model.setPlan(plan);
    learningRate = static_cast<float>(learningRateAt(config.optimizer, applied) * learningRateFactor);

    Event e = commandEvent(key, old, settingValue(config, key));
    const bool isBound = key == "min-scale" || key == "max-scale";
    if (isBound && config.scaler.initialScale != before.initialScale)
        e.text += " (initial-scale follows: " + settingValue(config, "initial-scale") + ")";
    if (backdated) {
        e.since = since;
        e.text += " (as if set at step " + numberText(since) + ": what the schedule has set since then stays)";
    }
    const SettingInfo* known = findSetting(key);
    if (known && (!known->live || (key == "pretrain-steps" && !model.config().pretraining)))
        e.text += " (from the next restart)";
    if (key == "master-weights" || key == "moments" || key == "epsilon" || key.starts_with("precision"))
        e.text += lostEpsilon();
    return e;
}

Event Trainer::Impl::inject(const InjectSpike& spike)
{
    Event e = commandEvent("inject." + spike.module, "", settingNumber(spike.factor));
    e.kind = EventKind::Injected;
    const Tap tap = spike.weightGrad ? Tap::WeightGrad : Tap::ActivationGrad;
    const int module = model.moduleId(spike.module);
    const bool finite = std::isfinite(static_cast<float>(spike.factor)); // it multiplies FP32 numbers
    if (module < 0 || !model.hasTap(module, tap) || !finite) {
        e.kind = EventKind::Rejected;
        if (module < 0)
            e.text = "There is no module \"" + spike.module +
                     "\" to inject a spike into; its name is one of those in the layers table, such as h0.mlp.fc.";
        else if (!finite)
            e.text = "The factor of a spike must be a finite FP32 number.";
        else
            e.text = "\"" + spike.module + "\" has no such gradient; choose another module, such as lm_head.";
        return e;
    }
    model.probe(module, tap).factor = static_cast<float>(spike.factor);
    e.module = static_cast<std::int16_t>(module);
    e.tap = static_cast<std::int8_t>(tap);
    e.text = std::string(tapKey(tap)) + " of " + spike.module + " multiplied by " + e.newValue + " in step " +
             std::to_string(e.step);
    return e;
}

Event Trainer::apply(const Command& command)
{
    Impl& t = *m_impl;
    if (t.keeper)
        t.keeper->begin(t);
    Event event = t.applyCommand(command);
    if (t.keeper && event.kind != EventKind::Rejected)
        t.keeper->applied(command);
    return event;
}

void Trainer::Impl::applyLater()
{
    for (const LaterCommand& one : later) {
        if (one.step == step)
            applyCommand(one.command);
    }
}

Event Trainer::Impl::applyCommand(const Command& command)
{
    if (const auto* c = std::get_if<SetSetting>(&command))
        return set(*c);
    if (std::holds_alternative<SwapHead>(command)) {
        if (model.config().pretraining)
            return set({"pretrain-steps", numberText(step)});
        Event e = commandEvent("pretrain-steps", "", "");
        e.kind = EventKind::Rejected;
        e.text = "There is no head to swap: only a classifier in pretraining has one.";
        return e;
    }
    if (const auto* c = std::get_if<SetScale>(&command)) {
        const std::string old = settingNumber(scaler.scale());
        Event e = commandEvent("scale", old, settingNumber(c->scale));
        if (!std::isfinite(c->scale) || c->scale <= 0) {
            e.kind = EventKind::Rejected;
            e.text = "The loss scale must be a finite number greater than 0.";
            return e;
        }
        if (!scaler.config().enabled) {
            e.kind = EventKind::Rejected;
            e.text = "The scaler is off, so the scale stays 1; choose a scaler first.";
            return e;
        }
        scaler.setScale(c->scale);
        moduleScalers.setScale(c->scale);
        return commandEvent("scale", old, settingNumber(scaler.scale()));
    }
    if (const auto* c = std::get_if<InjectSpike>(&command))
        return inject(*c);
    if (std::holds_alternative<InjectBadBatch>(command)) {
        badBatchPending = true;
        Event e = commandEvent("inject.bad-batch", "", "");
        e.kind = EventKind::Injected;
        e.text = "random targets in step " + std::to_string(e.step);
        return e;
    }
    if (const auto* c = std::get_if<InjectLearningRateJump>(&command)) {
        Event e = commandEvent("inject.learning-rate", "", settingNumber(c->factor));
        e.kind = EventKind::Injected;
        if (!std::isfinite(static_cast<float>(c->factor * learningRate)) || !(c->factor >= 0)) {
            e.kind = EventKind::Rejected;
            e.text = "The factor of a learning-rate jump must be at least 0 and keep the learning rate finite.";
            return e;
        }
        learningRateFactor = c->factor;
        e.text = "learning rate times " + e.newValue + " for one applied step";
        return e;
    }
    Event e = commandEvent("", "", "");
    e.kind = EventKind::Rejected;
    e.text = "This command is not for a single step.";
    return e;
}

EvaluationPtr Trainer::answer(const Command& request, std::uint64_t commandId) const
{
    try {
        return m_impl->answer(request, commandId);
    } catch (...) {
        m_impl->backend->forgetResults(); // the run goes on
        throw;
    }
}

EvaluationPtr Trainer::Impl::answer(const Command& request, std::uint64_t commandId) const
{
    const Evaluator evaluator(*backend, *data, model);
    auto evaluation = std::make_shared<Evaluation>();
    evaluation->step = step;
    evaluation->commandId = commandId;
    if (std::holds_alternative<RequestValidation>(request)) {
        if (data->validationSize() == 0)
            throw std::runtime_error("Nothing is held out: there is too little data for it.");
        evaluation->validation = evaluator.validate(config.validationExamples);
    } else if (const auto* predictions = std::get_if<RequestPredictions>(&request)) {
        evaluation->predictions = evaluator.predict(*predictions);
    } else if (const auto* sample = std::get_if<RequestSample>(&request)) {
        evaluation->sample = evaluator.sample(*sample);
    } else {
        return nullptr;
    }
    return evaluation;
}

} // namespace halfscope
