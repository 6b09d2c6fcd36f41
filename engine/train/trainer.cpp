// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "engine/backend/backend_registry.h"
#include "engine/core/number_text.h"
#include "engine/model/memory_estimate.h"
#include "engine/model/precision_in_force.h"
#include "engine/model/transformer.h"
#include "engine/train/evaluator.h"
#include "engine/train/gradient_shadow.h"
#include "engine/train/learning_rate.h"
#include "engine/train/module_scalers.h"
#include "engine/train/optimizer.h"
#include "engine/train/settings_registry.h"
#include "engine/train/shadow_run.h"
#include "engine/train/step_report.h"
#include "engine/train/task.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;

float millisecondsSince(Clock::time_point start)
{
    return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
}

// Streams of random numbers, each its own so that none shifts another.
enum Stream : std::uint64_t { InitStream = 1, BatchStream, DropoutStream, BadBatchStream, HeadStream };

RunConfig checked(const RunConfig& config)
{
    const std::vector<std::string> problems = validate(config);
    if (!problems.empty())
        throw std::runtime_error(problems.front());
    return config;
}

// With the model that the data make of it, which must fit together as well.
TransformerConfig checkedModel(RunConfig config, const DatasetInfo& data)
{
    config.model = modelFor(config, data);
    return checked(config).model;
}

// What does not fit into memory is refused: the system would end the program.
void requireMemory(const Backend& backend, double wanted, const std::string& what, const std::string& remedy)
{
    const std::optional<double> available = backend.availableMemory();
    if (available && wanted > *available) {
        const auto gigabytes = [](double bytes) { return fixedText(bytes / 1e9, 1) + " GB"; };
        throw std::runtime_error(what + " needs " + gigabytes(wanted) + " of memory and " + gigabytes(*available) +
                                 " are free; " + remedy + ".");
    }
}

PrecisionPlan planThatFits(const Backend& backend, const RunConfig& config, const TransformerConfig& model)
{
    PrecisionPlan plan = PrecisionInForce(config.precision, config.modulePrecision).plan(listModules(model));
    TransformerConfig later = model; // after pretraining
    later.pretraining = false;
    for (const TransformerConfig& each : {model, later}) {
        const double shadows = (config.shadowInterval > 0 ? gradientShadowBytes(each) : 0.0) +
                               (config.shadowRun ? shadowRunBytes(each) : 0.0);
        const double wanted = modelBytes(each, plan, config.weightStorage);
        requireMemory(backend, wanted, "This model", "choose a smaller model or batch");
        requireMemory(backend, wanted + shadows, "This model with its FP32 shadow",
                      "choose a smaller model or batch, or turn shadow-interval and shadow-run off");
    }
    return plan;
}

} // namespace

struct Trainer::Impl {
    // With all edits. What is not live takes effect at the next restart: the model keeps model.config(), the random
    // numbers the seed in info.config.
    RunConfig config;
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Dataset> data;
    Transformer model;
    Optimizer optimizer;
    LossScaler scaler;
    ModuleScalers moduleScalers;
    PrecisionInForce precision; // the schedule leaves the configuration, which a restart begins with, alone
    ScaleAdvisor advisor;
    std::unique_ptr<GradientShadow> shadow; // while shadow-interval is not 0
    std::unique_ptr<ShadowRun> shadowRun;   // with shadow-run
    RunInfo info;

    Rng batchRng;
    Rng badBatchRng;
    Examples examples;                 // of this step
    std::vector<std::int32_t> columns; // what was predicted for them
    EpochTotals epoch;

    std::int64_t step = 0;
    std::int64_t applied = 0;
    std::int64_t skipped = 0;
    bool badBatchPending = false;
    double learningRateFactor = 1.0; // an injected jump, for the next applied step
    float learningRate = 0.0F;
    ForwardTrouble before; // of the last step
    SnapshotPool snapshots;
    std::vector<float> spikes;          // of this step, in backward order
    std::vector<ModuleUpdates> updates; // of this step; empty where they were not measured
    StepResult result;

    Impl(const RunConfig& c, const std::function<void()>& whileBuilding)
        : config(checked(c)),
          backend(makeBackend(config.backend, config.threads)),
          data(makeDataset(datasetRequest(config))),
          model(*backend, checkedModel(config, data->info()),
                planThatFits(*backend, config, checkedModel(config, data->info())), hash64(config.seed, InitStream),
                whileBuilding),
          optimizer(*backend, model),
          scaler(config.scaler),
          precision(config.precision, config.modulePrecision),
          batchRng(hash64(config.seed, BatchStream)),
          badBatchRng(hash64(config.seed, BadBatchStream))
    {
        learningRate = learningRateAt(config.optimizer, 0);
        model.setWeightStorage(config.weightStorage);
        model.setFp8Scaling(config.fp8);
        if (config.scalePerModule)
            moduleScalers.start(config.scaler, model.modules().size(), scaler.exactScale());
        info.config = config;
        info.backend = backend->description();
        info.data = data->info();
        const auto batch = static_cast<std::size_t>(model.config().batch);
        info.trainingExamples = static_cast<std::int64_t>(data->trainingSize());
        info.heldOutExamples = static_cast<std::int64_t>(data->validationSize());
        info.stepsPerEpoch =
            static_cast<std::int64_t>(std::max<std::size_t>(1, (data->trainingSize() + batch - 1) / batch));
        describeModel();
        if (config.shadowInterval > 0)
            shadow = std::make_unique<GradientShadow>(*backend, model);
        if (config.shadowRun)
            shadowRun = std::make_unique<ShadowRun>(*backend, model, hash64(config.seed, InitStream));
    }

    void describeModel();
    void runStep();
    Transformer::Batch nextBatch();
    void swapHead();
    void look();
    void stepShadows(const Transformer::Batch& batch, StepRecord& record);
    std::optional<std::string> setShadow(int interval);
    void followSchedule();
    std::string lostEpsilon() const;
    ScaleEvent updateScalers(bool foundInf);
    Transformer::StepOptions options(bool measure) const;
    void requestEnd(ScaleEvent event, bool held);
    Event set(const SetSetting& setting);
    Event inject(const InjectSpike& spike);
    Event commandEvent(std::string key, std::string oldValue, std::string newValue) const;
};

void Trainer::Impl::describeModel()
{
    info.model = model.config();
    info.modules = model.modules();
    info.parameterCount = model.parameterCount();
    info.memory = model.memory();
    info.bytes = info.memory.total();
    columns.resize(static_cast<std::size_t>(model.config().predictions()));
}

Transformer::Batch Trainer::Impl::nextBatch()
{
    data->sample(batchRng, model.config().batch, examples);
    const Transformer::Batch batch = batchOf(model.config(), examples);
    if (badBatchPending) {
        for (std::int32_t& t : examples.targets) {
            if (t >= 0)
                t = static_cast<std::int32_t>(badBatchRng.below(static_cast<std::uint64_t>(model.config().outputs())));
        }
        badBatchPending = false;
    }
    return batch;
}

void Trainer::Impl::swapHead()
{
    model.swapHead(hash64(config.seed, HeadStream));
    optimizer.restart();
    if (shadow)
        shadow = std::make_unique<GradientShadow>(*backend, model);
    if (shadowRun)
        shadowRun->swapHead(hash64(config.seed, HeadStream));
    epoch = {};
    describeModel();
    result.headSwapped = true;
    result.events.push_back(headSwappedEvent(step, model.config()));
}

// At held-out examples, if it is time; and at the epoch, if it ends.
void Trainer::Impl::look()
{
    StepRecord& record = result.record;
    const bool epochEnds = step % info.stepsPerEpoch == 0;
    epoch.add(record);
    if (config.validationInterval > 0 && data->validationSize() > 0 &&
        (epochEnds || step % config.validationInterval == 0)) {
        auto evaluation = std::make_shared<Evaluation>();
        evaluation->step = step;
        evaluation->validation = Evaluator(*backend, *data, model).validate(config.validationExamples);
        record.validationLoss = evaluation->validation->loss;
        record.validationAccuracy = evaluation->validation->accuracy;
        result.evaluation = std::move(evaluation);
    }
    if (epochEnds) {
        result.events.push_back(epochEvent(record, step / info.stepsPerEpoch, epoch,
                                           planKey(model.plan(), model.modules()), config.scaler));
        epoch = {};
    }
}

Transformer::StepOptions Trainer::Impl::options(bool measure) const
{
    Transformer::StepOptions o;
    o.lossScale = scaler.scale();
    o.inverseScale = scaler.inverseScale();
    o.moduleScales = moduleScalers.scales();
    o.measureWeightGrads = measure;
    o.measureActivationGrads = measure && config.measureActivationGrads;
    o.measureActivations = measure && config.measureActivations;
    o.dropoutSeed = hash64(hash64(info.config.seed, DropoutStream), static_cast<std::uint64_t>(step));
    return o;
}

// Before the update: the comparison is of the weights that the gradients were computed at.
void Trainer::Impl::stepShadows(const Transformer::Batch& batch, StepRecord& record)
{
    if (!shadow && !shadowRun)
        return;
    const Clock::time_point start = Clock::now();
    if (shadow && (step - 1) % config.shadowInterval == 0)
        result.shadow = shadow->compare(step, model, optimizer.unscaled(), batch, options(false));
    if (shadowRun) {
        const bool jump = record.outcome == StepOutcome::Applied; // of the learning rate: for one applied step
        record.shadowLoss =
            shadowRun->step(batch, config.optimizer, options(false).dropoutSeed, jump ? learningRateFactor : 1.0);
    }
    record.shadowMs = millisecondsSince(start);
}

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
        return e.what();
    }
    return std::nullopt;
}

// What the schedule has for the step that begins.
void Trainer::Impl::followSchedule()
{
    for (const ScheduledPrecision& entry : config.precisionSchedule) {
        if (entry.step(info.stepsPerEpoch) != step)
            continue;
        Event e = commandEvent(entry.key(), "", entry.value());
        e.step = step;
        e.kind = EventKind::Scheduled;
        if (entry.module.empty()) {
            e.oldValue = planKey(model.plan(), model.modules());
            precision.schedule(entry.preset, step);
        } else {
            const int module = model.moduleId(entry.module);
            if (module < 0) // of another model, which the next restart has
                continue;
            e.oldValue = moduleFormatKey(model.plan()[static_cast<std::size_t>(module)]);
            precision.scheduleModule(entry.module, entry.format, step);
        }
        model.setPlan(precision.plan(model.modules()));
        e.text = e.key + ": " + e.oldValue + " -> " + e.newValue + " (schedule)" + lostEpsilon();
        result.events.push_back(std::move(e));
    }
}

// A warning where AdamW's epsilon is nothing in the format of the moments; else nothing.
std::string Trainer::Impl::lostEpsilon() const
{
    for (const Parameter& p : model.parameters()) {
        const FormatId format = p.moment2.format();
        if (roundTo(format, config.optimizer.epsilon) == 0.0F)
            return "; epsilon " + settingNumber(static_cast<double>(config.optimizer.epsilon)) + " is 0 in " +
                   std::string(floatFormat(format).name) +
                   ", so that an update with no second moment divides by 0: set epsilon to 1e-4, or moments to fp32";
    }
    return {};
}

// With a scale a module the run's own scale is judged by what has none of its own.
ScaleEvent Trainer::Impl::updateScalers(bool foundInf)
{
    if (!moduleScalers.active())
        return scaler.update(foundInf);
    bool blamed = !moduleScalers.update(model, foundInf);
    for (const auto& [module, tap] : model.backwardOrder())
        blamed |= !model.canHaveScale(module) && model.probe(module, tap).saturated;
    return foundInf && !blamed ? ScaleEvent::None : scaler.update(foundInf);
}

void Trainer::Impl::runStep()
{
    const Clock::time_point start = Clock::now();
    result.events.clear();
    result.snapshot.reset();
    result.evaluation.reset();
    result.pauseRequested = result.stopRequested = result.headSwapped = false;
    result.shadow.reset();
    result.endReason.clear();
    ++step;
    if (model.config().pretraining && step > config.pretrainSteps)
        swapHead();
    followSchedule();
    if (const std::string warning = lostEpsilon(); step == 1 && !warning.empty()) {
        Event e = commandEvent("epsilon", "", "");
        e.step = step;
        e.kind = EventKind::Note;
        e.text = warning.substr(2);
        result.events.push_back(std::move(e));
    }
    const Transformer::Batch batch = nextBatch();

    StepRecord record;
    record.step = step;
    record.scale = scaler.scale();
    const bool measure = (step - 1) % config.statisticsInterval == 0;
    spikes.clear();
    for (const auto& [module, tap] : model.backwardOrder())
        spikes.push_back(model.probe(module, tap).factor);

    record.loss = model.forward(batch, options(measure));
    const bool lossFinite = std::isfinite(record.loss);
    backend->argmax(model.logits(), columns);
    record.accuracy = countHits(columns, batch.targets).share();
    record.forwardMs = millisecondsSince(start);

    const Clock::time_point backwardStart = Clock::now();
    model.backward(batch);
    record.backwardMs = millisecondsSince(backwardStart);

    const Clock::time_point unscaleStart = Clock::now();
    Optimizer::Gradients gradients = optimizer.unscale(scaler.inverseScale(), moduleScalers.scales());
    record.foundInf = gradients.foundInf;
    record.statisticsMs = millisecondsSince(unscaleStart);

    const bool sanitised = gradients.foundInf && lossFinite && scaler.peek(true) == ScaleEvent::AtMinimum &&
                           scaler.config().atMinimum == AtMinimum::Sanitise;
    record.outcome = !scaler.config().skipNonfinite     ? StepOutcome::Applied
                     : !lossFinite                      ? StepOutcome::SkippedNonfiniteLoss
                     : gradients.foundInf && !sanitised ? StepOutcome::SkippedOverflow
                                                        : StepOutcome::Applied;
    bool measured = measure;
    if (gradients.foundInf && !measure) {
        // A skip must name its tensor and count: the same step once more, this time measured. Same inputs, same bits.
        std::size_t i = 0;
        for (const auto& [module, tap] : model.backwardOrder())
            model.probe(module, tap).factor = spikes[i++];
        model.forward(batch, options(true));
        model.backward(batch);
        measured = true;
    }
    record.lostWeightsModule = findLostWeights(model, *backend);
    if (record.lostWeightsModule < 0)
        record.forwardSaturatedModule = findForwardSaturation(model);

    stepShadows(batch, record);

    const Clock::time_point optimizerStart = Clock::now();
    updates.clear();
    record.gradNorm = gradients.norm;
    record.learningRate = static_cast<float>(learningRateAt(config.optimizer, applied) * learningRateFactor);
    if (record.outcome == StepOutcome::Applied) {
        if (sanitised)
            record.gradNorm = optimizer.sanitise();
        optimizer.update(config.optimizer, record.learningRate, record.gradNorm,
                         measure && config.measureUpdates ? &updates : nullptr);
        ++applied;
        learningRateFactor = 1.0;
    } else {
        ++skipped;
    }
    learningRate = static_cast<float>(learningRateAt(config.optimizer, applied) * learningRateFactor);
    model.finishStep();
    record.optimizerMs = millisecondsSince(optimizerStart);

    const std::int64_t cleanSteps = scaler.stepsToGrowth();
    record.scaleEvent = updateScalers(gradients.foundInf);
    if (measured) {
        advisor.observe(gradientFacts(model, options(true)), static_cast<double>(record.scale), config.lowQuantile,
                        config.scaler);
        if (!record.foundInf && record.scaleEvent == ScaleEvent::None)
            record.scaleEvent = scaler.steer(advisor.advice().of(config.scaler.rule));
    }
    const double wantedScale = scaler.exactScale();
    const bool held = scaler.holdUsable();
    record.scaleNext = scaler.scale();
    record.growthTracker = scaler.growthTracker();
    record.hysteresisLeft = scaler.hysteresisLeft();
    record.appliedSteps = applied;
    record.skippedSteps = skipped;

    const Clock::time_point reportStart = Clock::now();
    if (record.foundInf && lossFinite)
        nameCulprit(model, gradients.firstParameter, record);
    if (measured) {
        summariseGradients(model, config.lowQuantile, record);
        result.snapshot = makeSnapshot(snapshots, model, options(true), record, updates);
    }
    reportEvents(model, record, sanitised, config, before, cleanSteps, result.events);
    before = {record.forwardSaturatedModule >= 0, record.lostWeightsModule >= 0};
    if (held)
        result.events.push_back(unusableScaleEvent(record, wantedScale));
    requestEnd(record.scaleEvent, held);
    record.statisticsMs += millisecondsSince(reportStart);
    record.stepMs = millisecondsSince(start);
    result.record = record;
    look();
}

void Trainer::Impl::requestEnd(ScaleEvent event, bool held)
{
    if (event == ScaleEvent::TooManyOverflows) {
        result.stopRequested = true;
        result.endReason = "more than " + std::to_string(config.scaler.maxOverflows) + " steps in a row overflowed";
    } else if (event == ScaleEvent::AtMinimum && config.scaler.atMinimum == AtMinimum::Stop) {
        result.stopRequested = true;
        result.endReason = "a gradient overflowed at the smallest scale allowed, and at-min is stop";
    } else if (event == ScaleEvent::AtMinimum && config.scaler.atMinimum == AtMinimum::Pause) {
        result.pauseRequested = true;
        result.endReason = "a gradient overflowed at the smallest scale allowed, and at-min is pause";
    } else if (held) {
        result.pauseRequested = true;
        result.endReason = "FP32 can no longer divide by the loss scale";
    }
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

Trainer::Trainer(const RunConfig& config, const std::function<void()>& whileBuilding)
    : m_impl(std::make_unique<Impl>(config, whileBuilding))
{
}
Trainer::~Trainer() = default;

const Trainer::StepResult& Trainer::step()
{
    m_impl->runStep();
    return m_impl->result;
}

Event Trainer::apply(const Command& command)
{
    Impl& t = *m_impl;
    if (const auto* c = std::get_if<SetSetting>(&command))
        return t.set(*c);
    if (std::holds_alternative<SwapHead>(command)) {
        if (t.model.config().pretraining)
            return t.set({"pretrain-steps", numberText(t.step)});
        Event e = t.commandEvent("pretrain-steps", "", "");
        e.kind = EventKind::Rejected;
        e.text = "There is no head to swap: only a classifier in pretraining has one.";
        return e;
    }
    if (const auto* c = std::get_if<SetScale>(&command)) {
        const std::string old = settingNumber(t.scaler.scale());
        Event e = t.commandEvent("scale", old, settingNumber(c->scale));
        if (!std::isfinite(c->scale) || c->scale <= 0) {
            e.kind = EventKind::Rejected;
            e.text = "The loss scale must be a finite number greater than 0.";
            return e;
        }
        if (!t.scaler.config().enabled) {
            e.kind = EventKind::Rejected;
            e.text = "The scaler is off, so the scale stays 1; choose a scaler first.";
            return e;
        }
        t.scaler.setScale(c->scale);
        t.moduleScalers.setScale(c->scale);
        return t.commandEvent("scale", old, settingNumber(t.scaler.scale()));
    }
    if (const auto* c = std::get_if<InjectSpike>(&command))
        return t.inject(*c);
    if (std::holds_alternative<InjectBadBatch>(command)) {
        t.badBatchPending = true;
        Event e = t.commandEvent("inject.bad-batch", "", "");
        e.kind = EventKind::Injected;
        e.text = "random targets in step " + std::to_string(e.step);
        return e;
    }
    if (const auto* c = std::get_if<InjectLearningRateJump>(&command)) {
        Event e = t.commandEvent("inject.learning-rate", "", settingNumber(c->factor));
        e.kind = EventKind::Injected;
        if (!std::isfinite(static_cast<float>(c->factor * t.learningRate)) || !(c->factor >= 0)) {
            e.kind = EventKind::Rejected;
            e.text = "The factor of a learning-rate jump must be at least 0 and keep the learning rate finite.";
            return e;
        }
        t.learningRateFactor = c->factor;
        e.text = "learning rate times " + e.newValue + " for one applied step";
        return e;
    }
    Event e = t.commandEvent("", "", "");
    e.kind = EventKind::Rejected;
    e.text = "This command is not for a single step.";
    return e;
}

EvaluationPtr Trainer::answer(const Command& request, std::uint64_t commandId) const
{
    const Evaluator evaluator(*m_impl->backend, *m_impl->data, m_impl->model);
    auto evaluation = std::make_shared<Evaluation>();
    evaluation->step = m_impl->step;
    evaluation->commandId = commandId;
    if (std::holds_alternative<RequestValidation>(request)) {
        if (m_impl->data->validationSize() == 0)
            throw std::runtime_error("Nothing is held out: there is too little data for it.");
        evaluation->validation = evaluator.validate(m_impl->config.validationExamples);
    } else if (const auto* predictions = std::get_if<RequestPredictions>(&request)) {
        evaluation->predictions = evaluator.predict(*predictions);
    } else if (const auto* sample = std::get_if<RequestSample>(&request)) {
        evaluation->sample = evaluator.sample(*sample);
    } else {
        return nullptr;
    }
    return evaluation;
}

const RunInfo& Trainer::info() const { return m_impl->info; }

LiveState Trainer::live() const
{
    LiveState live;
    copyLive(live);
    return live;
}

void Trainer::copyLive(LiveState& live) const
{
    updateNumbers(live);
    live.plan = m_impl->model.plan();
    live.config = m_impl->config;
    live.pretraining = m_impl->model.config().pretraining;
    live.shadowBytes = (m_impl->shadow ? static_cast<double>(m_impl->shadow->bytes()) : 0.0) +
                       (m_impl->shadowRun ? static_cast<double>(m_impl->shadowRun->bytes()) : 0.0);
}

void Trainer::updateNumbers(LiveState& live) const
{
    live.scaler = m_impl->scaler.state();
    live.advice = m_impl->advisor.advice();
    live.moduleScales.clear();
    const std::span<const float> scales = m_impl->moduleScalers.scales();
    for (std::size_t i = 0; i < scales.size(); ++i)
        live.moduleScales.push_back(m_impl->model.canHaveScale(static_cast<int>(i)) ? scales[i]
                                                                                    : m_impl->scaler.scale());
    live.learningRate = m_impl->learningRate;
}

std::int64_t Trainer::stepsDone() const { return m_impl->step; }

Transformer& Trainer::model() { return m_impl->model; }
Backend& Trainer::backend() { return *m_impl->backend; }

} // namespace halfscope
