// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope info`: what this program is and what this machine offers it.
#pragma once

namespace halfscope {

int runInfo();

} // namespace halfscope
