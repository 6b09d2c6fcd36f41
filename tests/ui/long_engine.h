// SPDX-License-Identifier: GPL-3.0-or-later
// An engine for runs of a million steps: everything it tells is made up beforehand and handed out again and again with
// other step numbers, so that what is measured is the reader. For one thread.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <string>

#include "engine/train/engine.h"
#include "tests/ui/fake_engine.h"

namespace halfscope::test {

class LongEngine : public Engine {
public:
    // `stepsPerSnapshot`: so many measured steps are summed into each, as when the window is behind.
    LongEngine(int modules, int stepsPerSnapshot) : m_stepsPerSnapshot(stepsPerSnapshot)
    {
        m_info.generation = 1;
        m_info.backend = "Scripted";
        m_info.data.title = "A text made up for tests";
        m_info.config.measureActivations = m_info.config.measureActivationGrads = true;
        for (int i = 0; i < modules; ++i) {
            ModuleInfo module;
            module.name = "h" + std::to_string(i / 6) + ".part" + std::to_string(i % 6);
            module.parameters = 65536;
            m_info.modules.push_back(module);
        }
        m_live.state = EngineState::Running;
        m_live.config = m_info.config;
        m_live.plan.assign(static_cast<std::size_t>(modules), FormatId::Fp16);
        m_live.scaler.scale = 65536;
        for (std::size_t i = 0; i < m_pool.size(); ++i) {
            m_pool[i] = std::make_shared<Snapshot>();
            for (int module = modules; module-- > 0;) {
                for (int tap = 0; tap < kTapCount; ++tap) {
                    TapStatistics one;
                    one.module = static_cast<std::int16_t>(module);
                    one.tap = static_cast<Tap>(tap);
                    one.format = FormatId::Fp16;
                    one.statistics = FakeEngine::madeUp(65536, -15.0 - module % 7 - 0.2 * static_cast<double>(i), 2.6,
                                                        0.01, FormatId::Fp16, 65536.0);
                    m_pool[i]->taps.push_back(one);
                }
            }
        }
    }

    // A step's record: noise, a growth every 2000 steps and a skip after it, and at `spike` a loss like no other.
    StepRecord record(std::int64_t step) const
    {
        const auto noise = [step](std::uint64_t salt) {
            const std::uint64_t x = (static_cast<std::uint64_t>(step) + salt * 7919) * 0x9E3779B97F4A7C15ULL;
            return static_cast<double>((x ^ (x >> 29)) >> 40) * 0x1p-24;
        };
        StepRecord r;
        r.step = step;
        r.outcome = isSkipped(step) ? StepOutcome::SkippedOverflow : StepOutcome::Applied;
        r.foundInf = isSkipped(step);
        r.overflowModule = isSkipped(step) ? std::int16_t{1} : std::int16_t{-1};
        r.scaleEvent = step % 2000 == 0 ? ScaleEvent::Grew : ScaleEvent::None;
        r.loss = static_cast<double>(static_cast<float>(step == spike ? 50.0 : 2.0 + 0.5 * noise(1)));
        r.scale = isSkipped(step) && step % 2000 == 1 ? 131072.0F : 65536.0F;
        r.scaleNext = step % 2000 == 0 ? 131072.0F : 65536.0F;
        r.growthTracker = step % 2000;
        r.gradNorm = 0.5 + noise(2);
        r.learningRate = 1e-3F;
        r.skippedSteps = step / 2000;
        r.appliedSteps = step - r.skippedSteps;
        r.accuracy = noise(3);
        r.gradAbsMin = static_cast<float>(0x1p-40 * (1.0 + noise(4)));
        r.gradAbsMax = static_cast<float>(0x1p-6 * (1.0 + noise(5)));
        r.gradLowQuantile = 0x1p-28F;
        r.bandAbsMin = r.gradAbsMin;
        r.bandAbsMax = r.gradAbsMax;
        r.bandLowQuantile = r.gradLowQuantile;
        r.stepMs = static_cast<float>(1.0 + noise(6));
        r.forwardMs = static_cast<float>(0.3 + noise(7));
        r.backwardMs = static_cast<float>(0.5 + noise(8));
        r.optimizerMs = static_cast<float>(0.1 + noise(9));
        r.statisticsMs = static_cast<float>(0.01 + noise(10));
        return r;
    }
    bool isSkipped(std::int64_t step) const { return step == skip || (step > 1 && step % 2000 == 1); }

    std::int64_t spike = 0; // a step with a loss of 50; 0: none
    std::int64_t skip = 0;  // a step skipped besides the regular ones

    std::int64_t stepsPerDrain = 0;
    std::int64_t stepsDone() const { return m_step; }

    std::uint64_t post(Command) override { return ++m_lastId; }
    void drain(Telemetry& out) override
    {
        const std::int64_t most = static_cast<std::int64_t>(m_pool.size()) * m_stepsPerSnapshot;
        for (const std::int64_t end = m_step + std::min(stepsPerDrain, most); m_step < end;) {
            const StepRecord r = record(++m_step);
            out.steps.push_back(r);
            if (r.outcome != StepOutcome::Applied) {
                Event event;
                event.step = m_step;
                event.kind = EventKind::Overflow;
                event.module = 1;
                event.tap = 0;
                event.scale = r.scale;
                event.scaleNext = r.scaleNext;
                event.text = "Overflow in h0.part1/weight_grad, which is a sentence of some length.";
                out.events.push_back(event);
            }
            if (m_step % m_stepsPerSnapshot == 0) {
                const auto& snapshot = m_pool[static_cast<std::size_t>(m_step / m_stepsPerSnapshot) % m_pool.size()];
                snapshot->step = m_step;
                snapshot->firstStep = m_step - m_stepsPerSnapshot + 1;
                snapshot->measuredSteps = m_stepsPerSnapshot;
                snapshot->scale = snapshot->minScale = snapshot->maxScale = 65536;
                out.snapshots.push_back(snapshot);
            }
        }
    }
    RunInfo info() const override { return m_info; }
    LiveState live() const override { return m_live; }

private:
    int m_stepsPerSnapshot;
    RunInfo m_info;
    LiveState m_live;
    std::int64_t m_step = 0;
    std::uint64_t m_lastId = 0;
    std::array<std::shared_ptr<Snapshot>, 8> m_pool; // used in turn; the reader keeps the newest at most
};

} // namespace halfscope::test
