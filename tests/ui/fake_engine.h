// SPDX-License-Identifier: GPL-3.0-or-later
// An engine that trains nothing: it makes up gradients that are distributed like those of a small transformer and puts
// them through the real scaler, so that growth, skips and commands come about as in a run, at once and repeatably.
// For one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/train/engine.h"

namespace halfscope::test {

class FakeEngine : public Engine {
public:
    // The run begins at once unless `starting`; then begin() does it.
    explicit FakeEngine(RunConfig config = smallConfig(), bool starting = false);

    static RunConfig smallConfig(); // two blocks, growth every 20 steps, scale 2^16
    // The same with the task "digits", of which it makes three classes and twelve held-out examples of 4 x 4 pixels;
    // the third of each class is taken for the next one. They are looked at after every tenth step.
    static RunConfig classifierConfig();

    void begin();
    // Does up to `count` steps (fewer when paused, finished or failed), applying waiting commands before each.
    void run(std::int64_t count);
    void applyCommands(); // those waiting, as at a step boundary
    void fail(const std::string& why);
    void failOfDevice(const std::string& why); // and the CPU can go on
    void fallBack(const std::string& why) { m_info.fallback = why; }
    void useDeviceMemory(MemoryRoom room) { m_deviceMemory = room; }
    void finish();

    // Script, by step number
    void spikeAt(std::int64_t step, const std::string& module, double factor); // that module's gradients, times factor
    void badLossAt(std::int64_t step);                                         // nan
    void compared(const ShadowReport& report) { m_out.shadows.push_back(std::make_shared<ShadowReport>(report)); }
    void rejectNext(const std::string& why); // the next command that is applied is refused instead

    // What drain() does first: applies waiting commands (unless held), then this many steps.
    bool holdCommands = false;
    std::int64_t stepsPerDrain = 0;

    std::vector<Command> posted; // everything, in order, before coalescing
    std::int64_t stepsDone() const { return m_step; }

    std::uint64_t post(Command command) override;
    void drain(Telemetry& out) override;
    RunInfo info() const override { return m_info; }
    LiveState live() const override;

    // Statistics made up for one tap: counts of a normal distribution over log2|g|, every value of a bin in its middle
    // (1.5 times its lower edge), a few exact zeros. Classes are what the real classification says at that scale.
    static TensorStatistics madeUp(std::uint64_t count, double meanLog2, double sigmaLog2, double zeroShare,
                                   FormatId format, double scale);

private:
    void step();
    void apply(std::uint64_t id, const Command& command);
    Evaluation& answer(std::uint64_t id);
    Validation validation() const;
    Prediction prediction(std::size_t index) const;

    RunConfig m_config;
    RunInfo m_info;
    LossScaler m_scaler;
    PrecisionPlan m_plan;
    EngineState m_state = EngineState::Starting;
    std::string m_failure;
    bool m_continuable = false;
    std::optional<MemoryRoom> m_deviceMemory;
    float m_learningRate = 0.0F;
    std::int64_t m_step = 0;
    std::int64_t m_applied = 0;
    std::int64_t m_remaining = -1; // of RunSteps; -1: no end
    std::uint64_t m_nextId = 1;
    std::deque<std::pair<std::uint64_t, Command>> m_waiting;
    std::map<std::int64_t, std::pair<std::string, double>> m_spikes;
    std::vector<std::int64_t> m_badLosses;
    std::string m_rejection;
    std::shared_ptr<Evaluation> m_answer; // to the command that is being applied, if it is a question
    Telemetry m_out;
};

} // namespace halfscope::test
