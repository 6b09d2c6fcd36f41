// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope info`: what this program is and what this machine offers it.
#pragma once

namespace halfscope {

struct InfoOptions {
    bool measure = false; // how fast matrix products are here
    bool csv = false;     // what the machine can do, as CSV, and nothing else
};

int runInfo(const InfoOptions& options);

} // namespace halfscope
