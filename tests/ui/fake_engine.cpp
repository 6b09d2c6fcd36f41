// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ui/fake_engine.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "engine/data/patches.h"
#include "engine/train/settings_registry.h"

namespace halfscope::test {

namespace {

// 0..1, the same for the same arguments.
double noise(std::uint64_t a, std::uint64_t b)
{
    std::uint64_t x = a * 0x9E3779B97F4A7C15ULL + b * 0xBF58476D1CE4E5B9ULL + 0x94D049BB133111EBULL;
    x ^= x >> 31;
    x *= 0xD6E8FEB86659FD93ULL;
    x ^= x >> 32;
    return static_cast<double>(x >> 11) * 0x1p-53;
}

constexpr int kClasses = 3;
constexpr std::size_t kHeldOut = 12;

double normalCdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

template <typename... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

std::string number(double value)
{
    std::string text = std::to_string(value);
    while (text.ends_with('0'))
        text.pop_back();
    if (text.ends_with('.'))
        text.pop_back();
    return text;
}

} // namespace

RunConfig FakeEngine::smallConfig()
{
    RunConfig config;
    config.model.vocabulary = 80;
    config.model.depth = 2;
    config.scaler.growthInterval = 20;
    return config;
}

RunConfig FakeEngine::classifierConfig()
{
    RunConfig config = smallConfig();
    config.task = "digits";
    config.validationInterval = 10;
    return config;
}

FakeEngine::FakeEngine(RunConfig config, bool starting) : m_config(std::move(config)), m_scaler(m_config.scaler)
{
    m_learningRate = m_config.optimizer.learningRate;
    if (!starting)
        begin();
}

void FakeEngine::begin()
{
    m_info.generation += 1;
    m_info.config = m_config;
    if (m_config.model.vocabulary == 0 && m_config.task != "digits")
        m_config.model.vocabulary = 80;
    m_info.data = {};
    if (m_config.task == "digits") {
        m_info.data.classes = m_config.model.classes = kClasses;
        m_info.data.classNames = {"cat", "dog, small", "bird"};
        setPatches(m_info.data, 4, 4, 1, kPatchRows, kPatchRows);
        m_config.model.vocabulary = 0;
        m_config.model.patches = m_info.data.patches;
        m_config.model.patchWidth = m_info.data.patchWidth;
        m_info.heldOutExamples = kHeldOut;
    }
    m_info.trainingExamples = 1000;
    m_info.stepsPerEpoch = 50;
    m_info.model = m_config.model;
    m_info.modules = listModules(m_config.model);
    m_info.parameterCount = 0;
    for (const ModuleInfo& module : m_info.modules)
        m_info.parameterCount += module.parameters;
    m_info.backend = "Scripted";
    m_info.data.title = m_info.data.classes > 0 ? "Animals made up for tests" : "A text made up for tests";
    m_info.data.vocabulary = m_config.model.vocabulary;
    m_info.bytes = 16.0 * static_cast<double>(m_info.parameterCount);
    m_plan =
        makePlan(m_config.precision, m_info.modules).value_or(PrecisionPlan(m_info.modules.size(), FormatId::Fp32));
    for (std::size_t i = 0; i < m_info.modules.size(); ++i) {
        const auto exception = m_config.modulePrecision.find(m_info.modules[i].name);
        if (exception != m_config.modulePrecision.end())
            m_plan[i] = exception->second;
    }
    m_scaler = LossScaler(m_config.scaler);
    m_step = m_applied = 0;
    m_state = EngineState::Running;
    m_out = {};
    m_out.restarted = true;
    Event start;
    start.kind = EventKind::Start;
    start.text = "The run began.";
    m_out.events.push_back(start);
}

LiveState FakeEngine::live() const
{
    LiveState state;
    state.state = m_state;
    state.failure = m_failure;
    state.canContinue = m_continuable;
    state.stateAfter = m_continuable ? m_step : 0;
    state.deviceMemory = m_deviceMemory;
    state.scaler = m_scaler.state();
    state.plan = m_plan;
    state.learningRate = m_learningRate;
    state.config = m_config;
    return state;
}

std::uint64_t FakeEngine::post(Command command)
{
    posted.push_back(command);
    const auto sameKey = [&](const std::pair<std::uint64_t, Command>& waiting) {
        if (const auto* now = std::get_if<SetSetting>(&command)) {
            const auto* before = std::get_if<SetSetting>(&waiting.second);
            return before != nullptr && before->key == now->key;
        }
        return std::holds_alternative<SetScale>(command) && std::holds_alternative<SetScale>(waiting.second);
    };
    std::erase_if(m_waiting, sameKey);
    m_waiting.emplace_back(m_nextId, std::move(command));
    return m_nextId++;
}

void FakeEngine::drain(Telemetry& out)
{
    if (!holdCommands)
        applyCommands();
    run(m_remaining > 0 ? std::max(stepsPerDrain, m_remaining) : stepsPerDrain);
    out.restarted = m_out.restarted;
    out.steps.insert(out.steps.end(), m_out.steps.begin(), m_out.steps.end());
    out.events.insert(out.events.end(), m_out.events.begin(), m_out.events.end());
    out.snapshots.insert(out.snapshots.end(), m_out.snapshots.begin(), m_out.snapshots.end());
    out.shadows.insert(out.shadows.end(), m_out.shadows.begin(), m_out.shadows.end());
    out.evaluations.insert(out.evaluations.end(), m_out.evaluations.begin(), m_out.evaluations.end());
    m_out = {};
}

void FakeEngine::run(std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        if (!holdCommands)
            applyCommands();
        if (m_state != EngineState::Running)
            return;
        step();
        if (m_remaining > 0 && --m_remaining == 0) {
            m_remaining = -1;
            m_state = EngineState::Paused;
        }
    }
}

void FakeEngine::applyCommands()
{
    while (!m_waiting.empty()) {
        const auto [id, command] = m_waiting.front();
        m_waiting.pop_front();
        apply(id, command);
    }
}

void FakeEngine::apply(std::uint64_t id, const Command& command)
{
    Event event;
    event.step = m_step;
    event.kind = EventKind::Command;
    event.commandId = id;
    std::optional<std::string> problem;
    if (!m_rejection.empty()) {
        problem = std::exchange(m_rejection, {});
    } else {
        std::visit(Overloaded{
                       [&](const Pause&) {
                           event.key = "pause";
                           if (m_state == EngineState::Running)
                               m_state = EngineState::Paused;
                       },
                       [&](const Resume&) {
                           event.key = "resume";
                           m_remaining = -1;
                           if (m_state == EngineState::Paused)
                               m_state = EngineState::Running;
                       },
                       [&](const RunSteps& steps) {
                           event.key = "run-steps";
                           event.newValue = std::to_string(steps.count);
                           m_remaining = steps.count;
                           if (m_state == EngineState::Paused)
                               m_state = EngineState::Running;
                       },
                       [&](const SetSetting& setting) {
                           event.key = setting.key;
                           event.oldValue = settingValue(m_config, setting.key);
                           problem = applySetting(m_config, setting.key, setting.value);
                           if (problem)
                               return;
                           event.newValue = settingValue(m_config, setting.key);
                           m_scaler.reconfigure(m_config.scaler);
                           m_learningRate = m_config.optimizer.learningRate;
                           if (setting.key == "precision")
                               m_plan = makePlan(m_config.precision, m_info.modules).value_or(m_plan);
                           for (std::size_t i = 0; i < m_info.modules.size(); ++i) {
                               const auto exception = m_config.modulePrecision.find(m_info.modules[i].name);
                               if (exception != m_config.modulePrecision.end())
                                   m_plan[i] = exception->second;
                           }
                       },
                       [&](const SetScale& scale) {
                           event.key = "scale";
                           event.oldValue = number(m_scaler.scale());
                           m_scaler.setScale(scale.scale);
                           event.newValue = number(m_scaler.scale());
                       },
                       [&](const InjectSpike& spike) {
                           event.kind = EventKind::Injected;
                           event.key = "inject." + spike.module;
                           event.newValue = number(spike.factor);
                           event.step = m_step + 1;
                           event.tap =
                               static_cast<std::int8_t>(spike.weightGrad ? Tap::WeightGrad : Tap::ActivationGrad);
                           for (std::size_t i = 0; i < m_info.modules.size(); ++i) {
                               if (m_info.modules[i].name == spike.module)
                                   event.module = static_cast<std::int16_t>(i);
                           }
                           spikeAt(m_step + 1, spike.module, spike.factor);
                       },
                       [&](const InjectBadBatch&) {
                           event.kind = EventKind::Injected;
                           event.key = "inject.bad-batch";
                           event.step = m_step + 1;
                       },
                       [&](const InjectLearningRateJump& jump) {
                           event.kind = EventKind::Injected;
                           event.key = "inject.learning-rate";
                           event.newValue = number(jump.factor);
                       },
                       [&](const Continue&) {
                           m_continuable = false;
                           m_state = EngineState::Running;
                           m_failure.clear();
                           m_info.continuations.push_back({m_step + 1, m_step, m_info.backend, "CPU", "it failed"});
                           m_info.backend = "CPU";
                           m_info.backendKey = "cpu";
                           event.kind = EventKind::Continued;
                           event.step = m_step + 1;
                           event.since = m_step;
                       },
                       [&](const SwapHead&) {
                           event.key = "pretrain-steps";
                           event.newValue = std::to_string(m_step);
                       },
                       [&](const RequestValidation&) { answer(id).validation = validation(); },
                       [&](const RequestPredictions& request) {
                           Evaluation& made = answer(id);
                           for (std::size_t i = request.first; i < kHeldOut && i < request.first + request.count; ++i)
                               made.predictions.push_back(prediction(i));
                       },
                       [&](const RequestSample& request) {
                           answer(id).sample = {request.prompt, " and so on", request.temperature, request.seed};
                       },
                       [&](const Restart& again) {
                           if (again.newSeed)
                               m_config.seed = again.seed;
                           event.key = "restart";
                           event.step = 0;
                           begin();
                       },
                   },
                   command);
    }
    if (m_answer) { // in the place of an event
        m_out.evaluations.push_back(std::exchange(m_answer, nullptr));
        return;
    }
    if (problem) {
        event.kind = EventKind::Rejected;
        event.text = *problem;
    } else if (event.text.empty()) {
        event.text = "Command applied: " + event.key + ".";
    }
    m_out.events.push_back(event);
}

// Twelve examples, four a class; of each class the third is taken for the next.
Prediction FakeEngine::prediction(std::size_t index) const
{
    Prediction made;
    made.index = index;
    made.target = static_cast<int>(index % kClasses);
    made.predicted = index / kClasses == 2 ? (made.target + 1) % kClasses : made.target;
    made.probabilities.assign(kClasses, 0.1F);
    made.probabilities[static_cast<std::size_t>(made.predicted)] = 0.8F;
    made.patches.assign(16, -1.0F);
    made.patches[index] = 1.0F; // a white pixel that says which it is
    return made;
}

Validation FakeEngine::validation() const
{
    Validation made;
    made.examples = kHeldOut;
    made.loss = 0.5 + 1.0 / static_cast<double>(1 + m_step);
    made.confusion.assign(kClasses * kClasses, 0);
    for (std::size_t i = 0; i < kHeldOut; ++i) {
        const Prediction one = prediction(i);
        ++made.confusion[static_cast<std::size_t>(one.target * kClasses + one.predicted)];
        made.accuracy += one.target == one.predicted ? 1.0 / kHeldOut : 0.0;
    }
    return made;
}

Evaluation& FakeEngine::answer(std::uint64_t id)
{
    m_answer = std::make_shared<Evaluation>();
    m_answer->step = m_step;
    m_answer->commandId = id;
    return *m_answer;
}

void FakeEngine::fail(const std::string& why)
{
    m_state = EngineState::Failed;
    m_failure = "failed at step " + std::to_string(m_step + 1) + ": " + why;
    Event event;
    event.step = m_step;
    event.kind = EventKind::Failed;
    event.text = m_failure;
    m_out.events.push_back(event);
}

void FakeEngine::failOfDevice(const std::string& why)
{
    fail(why);
    m_continuable = true;
}

void FakeEngine::finish()
{
    m_state = EngineState::Finished;
    Event event;
    event.step = m_step;
    event.kind = EventKind::Finished;
    event.text = "The run ended.";
    m_out.events.push_back(event);
}

void FakeEngine::spikeAt(std::int64_t step, const std::string& module, double factor)
{
    m_spikes[step] = {module, factor};
}

void FakeEngine::badLossAt(std::int64_t step) { m_badLosses.push_back(step); }

void FakeEngine::rejectNext(const std::string& why) { m_rejection = why; }

TensorStatistics FakeEngine::madeUp(std::uint64_t count, double meanLog2, double sigmaLog2, double zeroShare,
                                    FormatId format, double scale)
{
    TensorStatistics s;
    const auto zeros = static_cast<std::uint64_t>(std::llround(zeroShare * static_cast<double>(count)));
    s.classes[ValueClass::Zero] = zeros;
    const auto rest = static_cast<double>(count - zeros);
    // Differences of the rounded cumulative count: they add up to exactly `rest`.
    std::uint64_t before = 0;
    for (int e = -126; e <= 126; ++e) {
        const double cumulative =
            e == 126 ? rest : std::floor(rest * normalCdf((e + 1.0 - meanLog2) / sigmaLog2) + 0.5);
        const auto upTo = static_cast<std::uint64_t>(cumulative);
        const std::uint64_t n = upTo - before;
        before = upTo;
        if (n == 0)
            continue;
        const float value = std::ldexp(1.5F, e);
        s.histogram.at(e) += n;
        s.classes[classify(format, static_cast<float>(static_cast<double>(value) * scale))] += n;
        s.absMin = s.absMin == 0.0F ? value : s.absMin;
        s.absMax = value;
        s.sumSquares += static_cast<double>(n) * static_cast<double>(value) * static_cast<double>(value);
    }
    return s;
}

void FakeEngine::step()
{
    ++m_step;
    const float scale = m_scaler.scale();
    const auto seed = m_config.seed;
    const auto at = static_cast<std::uint64_t>(m_step);
    const bool measured = m_config.statisticsInterval <= 1 || (m_step - 1) % m_config.statisticsInterval == 0;

    auto snapshot = std::make_shared<Snapshot>();
    snapshot->step = snapshot->firstStep = m_step;
    snapshot->scale = snapshot->minScale = snapshot->maxScale = scale;
    StepRecord record;
    record.step = m_step;
    record.scale = scale;
    record.learningRate = m_learningRate;
    const auto spike = m_spikes.find(m_step);
    const TapStatistics* culprit = nullptr;
    const double drift = -1.5 * (1.0 - std::exp(-static_cast<double>(m_step) / 400.0)) + 0.5 * noise(seed, at);
    TensorStatistics weights;
    snapshot->taps.reserve(2 * m_info.modules.size());
    for (std::size_t i = m_info.modules.size(); i-- > 0;) {
        const ModuleInfo& module = m_info.modules[i];
        const bool spiked = spike != m_spikes.end() && spike->second.first == module.name;
        const double lift = drift + (spiked ? std::log2(spike->second.second) : 0.0) + 0.4 * noise(at, i);
        for (const Tap tap : {Tap::ActivationGrad, Tap::WeightGrad}) {
            if (tap == Tap::WeightGrad ? module.parameters == 0 : !m_config.measureActivationGrads)
                continue;
            const bool weight = tap == Tap::WeightGrad;
            const auto count = weight ? static_cast<std::uint64_t>(module.parameters)
                                      : static_cast<std::uint64_t>(m_config.model.tokens()) *
                                            static_cast<std::uint64_t>(m_config.model.width);
            const double mean = (weight ? -15.0 : -22.0) + 2.0 * noise(i, weight ? 1 : 2) + lift;
            TapStatistics entry;
            entry.module = static_cast<std::int16_t>(i);
            entry.tap = tap;
            // What comes back through a norm has the format of the module that reads the norm's output.
            entry.format =
                !weight && module.kind == ModuleKind::Norm && i + 1 < m_plan.size() ? m_plan[i + 1] : m_plan[i];
            entry.statistics = madeUp(count, mean, weight ? 2.6 : 2.2, weight ? 0.01 : 0.002, entry.format,
                                      static_cast<double>(scale));
            if (weight) {
                weights.merge(entry.statistics);
                record.foundInf = record.foundInf || entry.statistics.saturated() || entry.statistics.nonfinite();
            }
            snapshot->taps.push_back(entry);
        }
    }
    for (std::size_t i = 0; m_config.measureActivations && i < m_info.modules.size(); ++i) {
        TapStatistics entry;
        entry.module = static_cast<std::int16_t>(i);
        entry.tap = Tap::Activation;
        entry.format = m_plan[i];
        const auto count =
            static_cast<std::uint64_t>(m_config.model.tokens()) * static_cast<std::uint64_t>(m_config.model.width);
        entry.statistics = madeUp(count, -3.0, 3.0, 0.002, m_plan[i], 1.0); // cast as they are
        snapshot->taps.push_back(entry);
    }
    for (const TapStatistics& tap : snapshot->taps) {
        if (culprit == nullptr && (tap.statistics.saturated() || tap.statistics.nonfinite()))
            culprit = &tap;
    }

    const auto progress = static_cast<double>(m_applied);
    record.loss = 1.6 + 3.0 * std::exp(-progress / 250.0) + 0.25 * (noise(at, seed + 7) - 0.5);
    if (std::ranges::find(m_badLosses, m_step) != m_badLosses.end()) {
        record.loss = std::numeric_limits<double>::quiet_NaN();
        record.outcome = StepOutcome::SkippedNonfiniteLoss;
        record.foundInf = true;
    } else if (record.foundInf) {
        record.outcome = StepOutcome::SkippedOverflow;
    }
    if (record.outcome == StepOutcome::Applied)
        ++m_applied;
    record.gradNorm = record.foundInf ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(weights.sumSquares);
    record.scaleEvent = m_scaler.update(record.foundInf);
    record.scaleNext = m_scaler.scale();
    record.growthTracker = m_scaler.growthTracker();
    record.hysteresisLeft = m_scaler.hysteresisLeft();
    record.appliedSteps = m_applied;
    record.skippedSteps = m_step - m_applied;
    record.stepMs = 12.5F;
    record.forwardMs = 4.0F;
    record.backwardMs = 7.0F;
    record.optimizerMs = 1.0F;
    record.statisticsMs = 0.5F;
    if (measured) {
        record.gradAbsMin = weights.absMin;
        record.gradAbsMax = weights.absMax;
        record.gradLowQuantile = static_cast<float>(weights.histogram.quantile(m_config.lowQuantile));
        TensorStatistics scaled;
        for (const TapStatistics& tap : snapshot->taps) {
            if (tap.tap == Tap::WeightGrad && tap.format == FormatId::Fp16)
                scaled.merge(tap.statistics);
        }
        if (scaled.absMax == 0)
            scaled = weights;
        record.bandAbsMin = scaled.absMin;
        record.bandAbsMax = scaled.absMax;
        record.bandLowQuantile = static_cast<float>(scaled.histogram.quantile(m_config.lowQuantile));
    }
    snapshot->outcome = record.outcome;
    snapshot->skippedSteps = record.outcome == StepOutcome::Applied ? 0 : 1;

    Event event;
    event.step = m_step;
    event.scale = scale;
    event.scaleNext = record.scaleNext;
    if (record.outcome == StepOutcome::SkippedOverflow && culprit != nullptr) {
        record.overflowModule = culprit->module;
        record.overflowTap = static_cast<std::int8_t>(culprit->tap);
        event.kind = EventKind::Overflow;
        event.module = culprit->module;
        event.tap = record.overflowTap;
        event.key =
            m_info.modules[static_cast<std::size_t>(culprit->module)].name + "/" + std::string(tapKey(culprit->tap));
        event.count = culprit->statistics.classes[ValueClass::Saturating];
        event.largest = culprit->statistics.absMax * scale;
        event.text = "Overflow in " + event.key + ".";
        m_out.events.push_back(event);
    } else if (record.outcome == StepOutcome::SkippedNonfiniteLoss) {
        event.kind = EventKind::NonfiniteLoss;
        event.text = "The loss was not finite.";
        m_out.events.push_back(event);
    }
    if (record.scaleEvent == ScaleEvent::Grew) {
        event.kind = EventKind::Growth;
        event.text = "The scale grew.";
        m_out.events.push_back(event);
    }
    if (m_info.data.classes > 0) {
        record.accuracy = 1.0 - 0.7 * std::exp(-static_cast<double>(m_applied) / 60.0);
        if (m_config.validationInterval > 0 && m_step % m_config.validationInterval == 0) {
            auto evaluation = std::make_shared<Evaluation>();
            evaluation->step = m_step;
            evaluation->validation = validation();
            record.validationLoss = evaluation->validation->loss;
            record.validationAccuracy = evaluation->validation->accuracy;
            m_out.evaluations.push_back(evaluation);
        }
    }
    m_out.steps.push_back(record);
    if (measured)
        m_out.snapshots.push_back(snapshot);
}

} // namespace halfscope::test
