// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps a run from being lost with the device that computes it.
//
// A step leaves the weights alone until its optimizer begins; so where the device can still be read after a failure,
// what it holds is the state after the last completed step, and costs nothing until then. A device that is lost takes
// its memory along. For that a copy of the master weights and moments is kept on the host, taken as often as it costs
// no more than a hundredth of the time: 12 bytes a parameter are copied, and 24 of host memory taken, because an older
// copy has to outlive a device that fails while it is read. Where the host has no room for that there is none.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "engine/train/optimizer.h"
#include "engine/train/run_state.h"
#include "engine/train/shadow_run.h"

namespace halfscope {

class RunKeeper {
public:
    // All of them must outlive it; `shadow` may come and go.
    RunKeeper(Backend& backend, const Transformer& model, const Optimizer& optimizer,
              const std::unique_ptr<ShadowRun>& shadow);

    // A step begins, or a change between two.
    void begin(const RunPosition& at);
    // After it, before a step: copies the values to the host where that is due. May throw what the backend throws.
    void keepCopy();
    // From here until the next begin() the weights are no longer those it began with.
    void weightsChange() { m_untouched = false; }
    // Between two steps.
    void applied(const Command& command);

    // After a failure: where to go on, without its `failure`, `info` and `data`; null: nowhere. Once.
    std::unique_ptr<RunState> lastGood();

    // The share of the time that copies may take.
    static constexpr double kMostTime = 0.01;

private:
    struct Copy {
        RunMark mark;
        RunValues values;
    };
    void read(RunValues& to) const;
    bool hasRoom() const;

    using Clock = std::chrono::steady_clock;
    Backend& m_backend;
    const Transformer& m_model;
    const Optimizer& m_optimizer;
    const std::unique_ptr<ShadowRun>& m_shadow;
    std::optional<RunMark> m_begun;
    bool m_untouched = false;
    bool m_keepsCopies;
    std::optional<Copy> m_kept;
    RunValues m_spare;
    std::vector<LaterCommand> m_later; // applied since m_kept
    Clock::time_point m_nextCopy;
};

} // namespace halfscope
