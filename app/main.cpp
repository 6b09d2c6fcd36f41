// SPDX-License-Identifier: GPL-3.0-or-later
#include <csignal>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

#include "app/run_program.h"

namespace {

// A caller may have closed the standard streams. The first files opened would then take their numbers, and what is
// meant for the terminal would go into them.
void holdStandardStreams()
{
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        while (fcntl(stream, F_GETFD) == -1) {
            if (open("/dev/null", O_RDWR) < 0)
                return;
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    holdStandardStreams();
    // A limit on the size of files then fails the write, which is reported like a full disk, instead of the process.
    std::signal(SIGXFSZ, SIG_IGN);
    return halfscope::runProgram(argc, argv);
}
