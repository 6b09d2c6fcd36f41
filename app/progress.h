// SPDX-License-Identifier: GPL-3.0-or-later
// How far a headless run is: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "engine/train/telemetry.h"

namespace halfscope {

class Progress {
public:
    enum class Style { Silent, Terminal, Lines };
    Progress(std::int64_t steps, Style style);

    void show(const StepRecord& record);
    // A line that stays.
    void note(const std::string& text);
    // Before anything else is written.
    void clear();
    double seconds() const;

private:
    using Clock = std::chrono::steady_clock;
    bool due(std::int64_t step, Clock::time_point now) const;
    std::string line(const StepRecord& record, Clock::time_point now) const;

    std::int64_t m_steps;
    Style m_style;
    Clock::time_point m_start = Clock::now();
    Clock::time_point m_shown = m_start;
    std::int64_t m_shownTenth = 0;
    bool m_lineOpen = false;
    std::deque<std::pair<Clock::time_point, std::int64_t>> m_recent; // when which step ended, over the last seconds
};

// "9 s", "2 min 5 s", "1 h 20 min"
std::string durationText(double seconds);

} // namespace halfscope
