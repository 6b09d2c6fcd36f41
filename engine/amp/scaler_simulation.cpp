// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/scaler_simulation.h"

#include <charconv>
#include <stdexcept>

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

void simulate(const ScalerConfig& config, const std::vector<bool>& overflows, const BeforeSimulatedStep& before,
              const AfterSimulatedStep& after)
{
    LossScaler scaler(config);
    for (std::size_t i = 0; i < overflows.size(); ++i) {
        SimulatedStep s;
        s.step = static_cast<std::int64_t>(i) + 1;
        if (before)
            before(s.step, scaler);
        s.foundInf = overflows[i];
        s.scaleBefore = scaler.scale();
        s.event = scaler.update(s.foundInf);
        s.skipped =
            s.foundInf && !(s.event == ScaleEvent::AtMinimum && scaler.config().atMinimum == AtMinimum::Sanitise);
        s.scaleAfter = scaler.scale();
        s.growthTracker = scaler.growthTracker();
        s.hysteresisLeft = scaler.hysteresisLeft();
        if (!after(s))
            return;
    }
}

std::vector<SimulatedStep> simulate(const ScalerConfig& config, const std::vector<bool>& overflows)
{
    std::vector<SimulatedStep> steps;
    steps.reserve(overflows.size());
    simulate(config, overflows, nullptr, [&](const SimulatedStep& step) {
        steps.push_back(step);
        return true;
    });
    return steps;
}

} // namespace halfscope
