// SPDX-License-Identifier: GPL-3.0-or-later
// What the program's exit statuses mean, and the two kinds of error that lead to them.
#pragma once

#include <stdexcept>

namespace halfscope {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1; // something went wrong while doing what was asked
inline constexpr int kExitUsage = 2;  // what was asked makes no sense
inline constexpr int kExitEndedEarly = 3;
inline constexpr int kExitInterrupted = 130; // Ctrl-C, or a request to terminate

// A mistake on the command line or in a configuration; what() is one sentence.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace halfscope
