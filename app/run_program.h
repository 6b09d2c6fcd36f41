// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace halfscope {

// The whole program: reads the command line, does what it says, and reports an error as one line. Returns the exit
// status.
int runProgram(int& argc, char** argv);

} // namespace halfscope
