// SPDX-License-Identifier: GPL-3.0-or-later
// The standard output stream, with nothing lost in silence.
#pragma once

#include <string_view>

namespace halfscope {

// Throws std::runtime_error when it cannot be written (a full disk behind a redirection, say).
void writeOutput(std::string_view text);
void flushOutput();
// Writes and flushes; false when that is not possible. For what a run reports on its way: a reader that went away must
// not end the run.
bool tryOutput(std::string_view text);

} // namespace halfscope
