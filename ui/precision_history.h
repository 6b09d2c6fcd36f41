// SPDX-License-Identifier: GPL-3.0-or-later
// Which precision a run had at which step, from its events, and what its schedule has for the steps to come.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "ui/run_model.h"

namespace halfscope {

struct PrecisionSpan {
    std::int64_t first = 1;           // the first step it holds for
    std::int64_t last = 0;            // the last; 0: it goes on
    FormatId format = FormatId::Fp32; // what most parameters are computed in
    QString name;                     // "Mixed FP16", "Mixed FP16, lm_head FP32", "7 formats of their own"
    bool planned = false;             // of the schedule, not reached yet
    bool operator==(const PrecisionSpan&) const = default;
};

// In order, without gaps, from step 1 on; one that goes on where nothing changes.
std::vector<PrecisionSpan> precisionHistory(const RunModel& run);
const PrecisionSpan* spanAt(const std::vector<PrecisionSpan>& spans, std::int64_t step);

} // namespace halfscope
