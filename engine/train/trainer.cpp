// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/trainer_impl.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "engine/backend/backend_registry.h"
#include "engine/core/number_text.h"
#include "engine/model/memory_estimate.h"
#include "engine/train/learning_rate.h"
#include "engine/train/settings_registry.h"
#include "engine/train/task.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;

float millisecondsSince(Clock::time_point start)
{
    return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
}

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

PrecisionPlan planThatFits(const Backend& backend, const RunPosition& at, const TransformerConfig& model, RunInfo& info)
{
    const RunConfig& config = at.config;
    PrecisionPlan plan = at.precision.plan(listModules(model));
    info.roomAtStart = backend.memoryRoom();
    info.bytesNeeded = 0.0;
    TransformerConfig later = model; // after pretraining
    later.pretraining = false;
    for (const TransformerConfig& each : {model, later}) {
        const double shadows = (config.shadowInterval > 0 ? gradientShadowBytes(each) : 0.0) +
                               (config.shadowRun ? shadowRunBytes(each) : 0.0);
        const double wanted = modelBytes(each, plan, config.weightStorage);
        info.bytesNeeded = std::max(info.bytesNeeded, wanted + shadows);
        requireMemory(backend, wanted, "This model", "choose a smaller model or batch");
        requireMemory(backend, wanted + shadows, "This model with its FP32 shadow",
                      "choose a smaller model or batch, or turn shadow-interval and shadow-run off");
    }
    return plan;
}

} // namespace

void requireMemory(const Backend& backend, double wanted, const std::string& what, const std::string& remedy)
{
    const std::optional<double> available = backend.availableMemory();
    if (available && wanted > *available) {
        const auto gigabytes = [](double bytes) { return fixedText(bytes / 1e9, 1) + " GB"; };
        throw BackendError(what + " needs " + gigabytes(wanted) +
                           (backend.hasOwnMemory() ? " of GPU memory and " : " of memory and ") +
                           gigabytes(*available) + " are free; " + remedy + ".");
    }
}

RunPosition::RunPosition(const RunConfig& c)
    : config(checked(c)),
      scaler(config.scaler),
      precision(config.precision, config.modulePrecision),
      batchRng(hash64(config.seed, BatchStream)),
      badBatchRng(hash64(config.seed, BadBatchStream)),
      learningRate(learningRateAt(config.optimizer, 0))
{
}

Trainer::Impl::Impl(const RunConfig& c, const std::string& backendKey, const std::function<void()>& whileBuilding)
    : RunPosition(c),
      backend(makeBackend(backendKey, config.threads, config.device)),
      data(makeDataset(datasetRequest(config))),
      model(*backend, checkedModel(config, data->info()),
            planThatFits(*backend, *this, checkedModel(config, data->info()), info), hash64(config.seed, InitStream),
            whileBuilding),
      optimizer(*backend, model)
{
    info.config = config;
    info.backendKey = backendKey;
    info.data = data->info();
    const auto batch = static_cast<std::size_t>(model.config().batch);
    info.trainingExamples = static_cast<std::int64_t>(data->trainingSize());
    info.heldOutExamples = static_cast<std::int64_t>(data->validationSize());
    info.stepsPerEpoch =
        static_cast<std::int64_t>(std::max<std::size_t>(1, (data->trainingSize() + batch - 1) / batch));
    setUp();
    if (config.scalePerModule)
        moduleScalers.start(config.scaler, model.modules().size(), scaler.exactScale());
    if (backendKey != kFallbackBackend)
        keeper.emplace(*backend, model, optimizer, shadowRun);
}

Trainer::Impl::Impl(const RunState& state, const std::string& backendKey, const std::function<void()>& whileBuilding)
    : RunPosition(state.mark.at),
      backend(makeBackend(backendKey, config.threads)),
      data(state.data),
      info(state.info),
      model(*backend, state.mark.model, planThatFits(*backend, *this, state.mark.model, info),
            hash64(state.info.config.seed, InitStream), whileBuilding),
      optimizer(*backend, model),
      later(state.later),
      catchUpTo(state.lastStep)
{
    config.backend = backendKey; // what a restart begins with
    config.device.clear();
    info.backendKey = backendKey;
    setUp();
    model.restore(state.mark.host);
    model.restore(state.values.model);
    optimizer.resume(state.mark.updates);
    if (shadowRun)
        shadowRun->resume(state.values.shadow, state.mark.shadowUpdates, state.mark.shadowApplied);
    info.continuations.push_back({state.lastStep + 1, step, state.info.backend, info.backend, state.failure});
    applyLater();
}

void Trainer::Impl::setUp()
{
    model.setWeightStorage(config.weightStorage);
    model.setFp8Scaling(config.fp8);
    info.backend = backend->description();
    describeModel();
    if (config.shadowInterval > 0)
        shadow = std::make_unique<GradientShadow>(*backend, model);
    if (config.shadowRun)
        shadowRun = std::make_unique<ShadowRun>(*backend, model, hash64(info.config.seed, InitStream));
}

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
    model.swapHead(hash64(info.config.seed, HeadStream));
    optimizer.restart();
    if (shadow)
        shadow = std::make_unique<GradientShadow>(*backend, model);
    if (shadowRun)
        shadowRun->swapHead(hash64(info.config.seed, HeadStream));
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
        weightsChange();
        const bool jump = record.outcome == StepOutcome::Applied; // of the learning rate: for one applied step
        record.shadowLoss =
            shadowRun->step(batch, config.optimizer, options(false).dropoutSeed, jump ? learningRateFactor : 1.0);
    }
    record.shadowMs = millisecondsSince(start);
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
        if (!keepsMasters(config))
            weightsChange();
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
    if (keeper) {
        keeper->begin(*this);
        keeper->keepCopy();
    }
    ++step;
    if (model.config().pretraining && step > config.pretrainSteps) {
        weightsChange();
        swapHead();
    }
    followSchedule();
    if (const std::string warning = lostEpsilon(); step == 1 && !warning.empty()) {
        Event e = commandEvent("epsilon", "", "");
        e.step = step;
        e.kind = EventKind::Note;
        e.text = warning.substr(2);
        result.events.push_back(std::move(e));
    }
    const Transformer::Batch batch = nextBatch();
    backend->lap(nullptr);

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
    backend->lap(&record.forwardMs);
    model.backward(batch);
    backend->lap(&record.backwardMs);
    Optimizer::Gradients gradients =
        optimizer.unscale(scaler.inverseScale(), moduleScalers.scales(), &record.statisticsMs);
    record.foundInf = gradients.foundInf;

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

    backend->lap(nullptr);
    updates.clear();
    record.gradNorm = gradients.norm;
    record.learningRate = static_cast<float>(learningRateAt(config.optimizer, applied) * learningRateFactor);
    weightsChange();
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
    backend->lap(&optimizerMs);
    record.optimizerMs = optimizerMs;

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

Trainer::Trainer(const RunConfig& config, const std::function<void()>& whileBuilding)
{
    std::string fallback;
    if (config.backend == kAutomaticBackend) {
        try {
            m_impl = std::make_unique<Impl>(config, kGpuBackend, whileBuilding);
            return;
        } catch (const std::runtime_error& e) { // what is not the GPU's fault comes again
            fallback = e.what();
        }
    }
    m_impl = std::make_unique<Impl>(config, fallback.empty() ? config.backend : kFallbackBackend, whileBuilding);
    m_impl->info.fallback = fallback;
}
Trainer::Trainer(const RunState& state, const std::string& backend, const std::function<void()>& whileBuilding)
    : m_impl(std::make_unique<Impl>(state, backend, whileBuilding))
{
}
Trainer::~Trainer() = default;

const Trainer::StepResult& Trainer::step()
{
    m_impl->runStep();
    return m_impl->result;
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

std::int64_t Trainer::stepsToCatchUp() const { return std::max<std::int64_t>(m_impl->catchUpTo - m_impl->step, 0); }

void Trainer::catchUp()
{
    m_impl->runStep();
    m_impl->applyLater();
}

void Trainer::noteFallback(const std::string& why) { m_impl->info.fallback = why; }

std::unique_ptr<RunState> Trainer::lastGoodState(const std::string& failure)
{
    Impl& t = *m_impl;
    t.backend->forgetResults();
    std::unique_ptr<RunState> state = t.keeper ? t.keeper->lastGood() : nullptr;
    if (state) {
        state->failure = failure;
        state->info = t.info;
        state->data = t.data;
    }
    return state;
}

Transformer& Trainer::model() { return m_impl->model; }
Backend& Trainer::backend() { return *m_impl->backend; }

} // namespace halfscope
