// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/scaler_simulation.h"

#include <charconv>
#include <stdexcept>
#include <utility>

#include "engine/core/number_text.h"

namespace halfscope {

std::vector<bool> parseOverflows(std::string_view text)
{
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    const auto tooLong = [] {
        return std::invalid_argument("The sequence of overflows is longer than " +
                                     numberText(static_cast<std::uint64_t>(kMaxSimulatedSteps)) + " steps.");
    };
    std::vector<bool> overflows;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
            ++i;
            continue;
        }
        std::size_t count = 1;
        const std::size_t start = i;
        if (isDigit(text[i])) {
            const auto [stop, error] = std::from_chars(text.data() + i, text.data() + text.size(), count);
            if (error != std::errc() || count > kMaxSimulatedSteps)
                throw tooLong();
            i = static_cast<std::size_t>(stop - text.data());
        }
        if (i == text.size() || (text[i] != '.' && text[i] != 'x' && text[i] != 'X'))
            throw std::invalid_argument("The sequence of overflows may hold '.' (clean) and 'x' (overflow), each after "
                                        "an optional count; at character " +
                                        numberText(static_cast<std::uint64_t>(start + 1)) + " it has '" +
                                        std::string(text.substr(start, i - start + 1)) + "'.");
        if (overflows.size() + count > kMaxSimulatedSteps)
            throw tooLong();
        overflows.insert(overflows.end(), count, text[i] != '.');
        ++i;
    }
    if (overflows.empty())
        throw std::invalid_argument("The sequence of overflows is empty; give for example \"..x.....\".");
    return overflows;
}

std::string_view simulatedEventKey(const SimulatedStep& step)
{
    return step.raised ? scaleEventKey(ScaleEvent::TooManyOverflows) : scaleEventKey(step.event);
}

OverflowRule overflowsOf(std::vector<bool> sequence)
{
    return [sequence = std::move(sequence)](std::int64_t step, const LossScaler&) {
        return static_cast<bool>(sequence.at(static_cast<std::size_t>(step - 1)));
    };
}

OverflowRule overflowsAbove(double limit)
{
    return [limit](std::int64_t, const LossScaler& scaler) { return scaler.exactScale() > limit; };
}

void simulate(LossScaler& scaler, std::int64_t steps, const OverflowRule& overflows, const BeforeSimulatedStep& before,
              const AfterSimulatedStep& after)
{
    for (std::int64_t step = 1; step <= steps; ++step) {
        SimulatedStep s;
        s.step = step;
        if (before)
            before(step, scaler);
        s.foundInf = overflows(step, scaler);
        s.scaleBefore = scaler.exactScale();
        s.event = scaler.update(s.foundInf);
        const ScalerConfig& config = scaler.config();
        const bool atMinimum = s.event == ScaleEvent::AtMinimum;
        s.skipped = s.foundInf && config.skipNonfinite && !(atMinimum && config.atMinimum == AtMinimum::Sanitise);
        s.scaleAfter = scaler.exactScale();
        s.growthTracker = scaler.growthTracker();
        s.hysteresisLeft = scaler.hysteresisLeft();
        s.raised = s.event == ScaleEvent::TooManyOverflows || (atMinimum && config.atMinimum == AtMinimum::Stop);
        if (!after(s) || s.raised)
            return;
    }
}

std::vector<SimulatedStep> simulate(const ScalerConfig& config, const std::vector<bool>& overflows)
{
    std::vector<SimulatedStep> steps;
    steps.reserve(overflows.size());
    LossScaler scaler(config);
    simulate(scaler, static_cast<std::int64_t>(overflows.size()), overflowsOf(overflows), nullptr,
             [&](const SimulatedStep& step) {
                 steps.push_back(step);
                 return true;
             });
    return steps;
}

} // namespace halfscope
