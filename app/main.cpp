// SPDX-License-Identifier: GPL-3.0-or-later
#include <csignal>

#include "app/run_program.h"

int main(int argc, char** argv)
{
    // A limit on the size of files then fails the write, which is reported like a full disk, instead of the process.
    std::signal(SIGXFSZ, SIG_IGN);
    return halfscope::runProgram(argc, argv);
}
