// SPDX-License-Identifier: GPL-3.0-or-later
// What this program is, for files that must say what made them.
#pragma once

#include <string>
#include <string_view>

namespace halfscope {

std::string_view programVersion(); // "0.1.0"
std::string compilerDescription(); // "GCC 12.2.0", "Clang 14.0.6"

} // namespace halfscope
