// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that is to be known of the CUDA backend on a device: every operation's cases against the double-precision
// references, whole steps against the CPU backend, determinism, memory, speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training.h"

namespace halfscope::gpu {

// How much work there is for the device: a real one gets enough to show its speed, the tests' stand-in next to nothing.
struct Workload {
    std::string title;       // of the report
    std::string cases;       // with which the names of those begin that run; empty: all
    std::vector<Size> sizes; // of the steps that are timed; parity is of the first, determinism of the second
    int determinismSteps = 10;
    int modelsDropped = 20;            // of the third size
    std::int64_t elements = 1LL << 28; // of the tensors that are copied
    std::int64_t productWidth = 8192;  // m = n = k
    int turns = 5;                     // of what is timed, a round; and rounds
    int timedSteps = 20;
};

// How a check ends, for the shell.
enum ExitStatus { kAllPassed = 0, kFailures = 1, kWrongUsage = 2, kNoDevice = 3 };

// Checks test::cpu() and writes the report, in Markdown, to `file`. With a `problem`, which is why there is no device,
// it only says so, and the file stays what it was.
ExitStatus checkDevice(const Workload& workload, const std::string& problem, const std::string& file);

} // namespace halfscope::gpu
