// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <exception>
#include <string>

namespace halfscope {

// What an exception says to the user: what(), or a sentence of ours where that says nothing.
std::string errorText(const std::exception& error);

} // namespace halfscope
