// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/interrupt.h"

#include <array>
#include <csignal>

namespace halfscope {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
std::array<struct sigaction, kSignals.size()> g_before;

extern "C" void noteInterrupt(int /*signal*/) { g_interrupted = 1; }

} // namespace

InterruptGuard::InterruptGuard()
{
    g_interrupted = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        struct sigaction action = {};
        sigemptyset(&action.sa_mask);
        if (kSignals[i] == SIGPIPE) {
            action.sa_handler = SIG_IGN;
        } else {
            action.sa_handler = noteInterrupt;
            action.sa_flags = SA_RESETHAND | SA_RESTART;
        }
        sigaction(kSignals[i], &action, &g_before[i]);
        // nohup: the user asked to go on after the terminal is closed.
        if (kSignals[i] == SIGHUP && g_before[i].sa_handler == SIG_IGN)
            sigaction(SIGHUP, &g_before[i], nullptr);
    }
}

InterruptGuard::~InterruptGuard()
{
    for (std::size_t i = 0; i < kSignals.size(); ++i)
        sigaction(kSignals[i], &g_before[i], nullptr);
}

bool InterruptGuard::interrupted() { return g_interrupted != 0; }

} // namespace halfscope
