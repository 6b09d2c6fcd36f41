// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope train --list-settings`
#pragma once

#include <string>

namespace halfscope {

// Every key with default, range and meaning, by group.
std::string settingsList();

} // namespace halfscope
