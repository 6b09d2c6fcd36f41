// SPDX-License-Identifier: GPL-3.0-or-later
// Watches a run's telemetry, names what is wrong and offers remedies. It needs nothing but the stream: the window and
// headless runs use it alike. Memory is bounded whatever the length of the run, and the same stream gives the same
// findings. For one thread.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/amp/finding.h"

namespace halfscope {

class AdvisorRule;
struct RunFacts;

class Advisor {
public:
    Advisor();
    ~Advisor();
    Advisor(Advisor&&) noexcept;
    Advisor& operator=(Advisor&&) noexcept;

    void restart(const RunInfo& info); // forgets everything
    // One step or many, in order. `live`: after the last of them.
    void observe(const Telemetry& telemetry, const LiveState& live);

    // What stands now: the gravest first, then the oldest.
    const std::vector<Finding>& findings() const { return m_findings; }
    // What no longer does, newest last; of very many only the newest are kept.
    const std::deque<Finding>& ended() const { return m_ended; }
    std::uint64_t version() const { return m_version; } // changes with anything in the two above

private:
    static constexpr std::size_t kMostEnded = 64;

    void makeRules();
    void hear(const Event& event);
    void gather();

    std::unique_ptr<RunFacts> m_facts;
    std::vector<std::unique_ptr<AdvisorRule>> m_rules;
    std::vector<Finding> m_findings;
    std::deque<Finding> m_ended;
    std::uint64_t m_version = 0;
    std::uint64_t m_watchVersion = 0; // of all watches together
};

} // namespace halfscope
