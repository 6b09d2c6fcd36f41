// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/train/telemetry.h"

namespace halfscope {

Snapshot merged(const Snapshot& earlier, const Snapshot& later)
{
    Snapshot sum = later;
    sum.firstStep = earlier.firstStep;
    sum.measuredSteps += earlier.measuredSteps;
    sum.skippedSteps += earlier.skippedSteps;
    sum.minScale = std::min(earlier.minScale, later.minScale);
    sum.maxScale = std::max(earlier.maxScale, later.maxScale);
    sum.taps = earlier.taps;
    for (const TapStatistics& tap : later.taps) {
        const auto same = std::find_if(sum.taps.begin(), sum.taps.end(), [&](const TapStatistics& t) {
            return t.module == tap.module && t.tap == tap.tap;
        });
        if (same == sum.taps.end()) {
            sum.taps.push_back(tap);
        } else {
            same->statistics.merge(tap.statistics);
            same->format = tap.format;
            same->ownScale = tap.ownScale;
        }
    }
    sum.updates = earlier.updates;
    for (const ModuleUpdates& update : later.updates) {
        const auto same = std::find_if(sum.updates.begin(), sum.updates.end(),
                                       [&](const ModuleUpdates& u) { return u.module == update.module; });
        if (same == sum.updates.end()) {
            sum.updates.push_back(update);
        } else {
            same->statistics.merge(update.statistics);
            same->format = update.format;
        }
    }
    return sum;
}

} // namespace halfscope
