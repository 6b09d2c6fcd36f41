// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/shown_precision.h"

#include "engine/model/precision_plan.h"

namespace halfscope {

ShownPrecision shownPrecision(const RunModel& run)
{
    const PrecisionPlan& plan = run.live.plan;
    const auto differing = [&](std::string_view preset) {
        const std::optional<PrecisionPlan> whole = makePlan(preset, run.info.modules);
        std::size_t count = 0;
        for (std::size_t i = 0; whole && i < plan.size(); ++i)
            count += plan[i] != whole->at(i) ? 1U : 0U;
        return count;
    };
    std::string nearest = run.live.config.precision;
    if (plan.size() != run.info.modules.size()) // before the first step of a run
        return {nearest, false};
    std::size_t fewest = differing(nearest);
    for (const PrecisionPreset& preset : precisionPresets()) {
        if (const std::size_t count = differing(preset.key); count < fewest) {
            nearest = preset.key;
            fewest = count;
        }
    }
    return {nearest, fewest > 0};
}

} // namespace halfscope
