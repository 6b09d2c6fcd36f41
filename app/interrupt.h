// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C and requests to terminate end a headless run at the next step boundary instead of in the middle of a file.
#pragma once

namespace halfscope {

// While it lives, the first SIGINT, SIGTERM or SIGHUP is only noted; the second ends the process as usual. A broken
// pipe behind the standard output ends nothing.
class InterruptGuard {
public:
    InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    ~InterruptGuard();

    static bool interrupted();
};

} // namespace halfscope
