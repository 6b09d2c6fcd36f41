// SPDX-License-Identifier: GPL-3.0-or-later
// The standard output stream, with nothing lost in silence.
#pragma once

#include <string_view>

namespace halfscope {

// Throws std::runtime_error when it cannot be written (a full disk behind a redirection, say).
void writeOutput(std::string_view text);
void flushOutput();

} // namespace halfscope
