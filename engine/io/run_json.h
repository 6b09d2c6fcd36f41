// SPDX-License-Identifier: GPL-3.0-or-later
// run.json: what a run was, so that it can be done again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/engine.h"

namespace halfscope {

// A command that changed the run, as it took effect.
struct RecordedCommand {
    std::int64_t step = 0; // the first step it counted for
    std::string key;       // of the setting; "scale"; "inject.MODULE", ...
    std::string value;
    std::string tap;         // of an injected spike
    std::int64_t since = -1; // Event::since
};

struct RunTotals {
    std::int64_t steps = 0;
    std::int64_t applied = 0;
    std::int64_t skipped = 0;
};

std::string textHashText(std::uint64_t hash); // 16 hexadecimal digits

// The whole text of the file. There is no date in it: the same run gives the same bytes.
std::string runJson(const RunInfo& info, const std::vector<RecordedCommand>& commands, const RunTotals& totals);

} // namespace halfscope
