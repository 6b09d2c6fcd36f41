// SPDX-License-Identifier: GPL-3.0-or-later
// The real trainer as an engine that does nothing by itself: a step when the test says so, in the test's own thread.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "engine/train/engine.h"
#include "engine/train/trainer.h"

namespace halfscope::test {

class SteppedEngine : public Engine {
public:
    explicit SteppedEngine(const RunConfig& config) : m_trainer(config) { m_out.restarted = true; }

    void step()
    {
        obey();
        const Trainer::StepResult& result = m_trainer.step();
        m_out.steps.push_back(result.record);
        if (result.snapshot) {
            m_out.snapshots.push_back(result.snapshot);
        }
        if (result.shadow) {
            m_out.shadows.push_back(result.shadow);
        }
        m_out.events.insert(m_out.events.end(), result.events.begin(), result.events.end());
    }
    void obey()
    {
        for (; !m_waiting.empty(); m_waiting.pop_front()) {
            Event event = m_trainer.apply(m_waiting.front().second);
            event.commandId = m_waiting.front().first;
            m_out.events.push_back(event);
        }
    }
    std::uint64_t post(Command command) override
    {
        m_waiting.emplace_back(++m_id, std::move(command));
        return m_id;
    }
    void drain(Telemetry& out) override { out = std::exchange(m_out, {}); }
    RunInfo info() const override
    {
        RunInfo info = m_trainer.info();
        info.generation = 1;
        return info;
    }
    LiveState live() const override
    {
        LiveState live = m_trainer.live();
        live.state = EngineState::Running;
        return live;
    }

private:
    Trainer m_trainer;
    Telemetry m_out;
    std::deque<std::pair<std::uint64_t, Command>> m_waiting;
    std::uint64_t m_id = 0;
};

} // namespace halfscope::test
