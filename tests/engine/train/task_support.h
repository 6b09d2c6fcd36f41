// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of tasks share: small runs of each kind.
#pragma once

#include <string>

#include "tests/engine/train/small_run.h"
#include "tests/engine/train/training_state.h"

namespace halfscope {

// A small model for a task that needs no files.
inline RunConfig smallTask(const std::string& task)
{
    RunConfig config = smallRun();
    config.task = task;
    config.model.batch = 8;
    config.precision = "mixed-fp16";
    return config;
}

} // namespace halfscope
