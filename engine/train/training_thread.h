// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a Trainer in a thread of its own, behind the Engine interface.
#pragma once

#include <functional>
#include <memory>

#include "engine/train/engine.h"

namespace halfscope {

class TrainingThread : public Engine {
public:
    // Returns at once; everything, loading the text included, happens in the thread. startPaused: wait for Resume.
    explicit TrainingThread(RunConfig config, bool startPaused = false);
    ~TrainingThread() override; // stops at the next operation boundary and joins

    std::uint64_t post(Command command) override;
    void drain(Telemetry& out) override;
    RunInfo info() const override;
    LiveState live() const override;
    bool setWake(std::function<void()> wake) override;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace halfscope
