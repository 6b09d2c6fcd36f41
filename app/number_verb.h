// SPDX-License-Identifier: GPL-3.0-or-later
// `halfscope number`: each value in every format.
#pragma once

#include <string>
#include <vector>

namespace halfscope {

struct NumberOptions {
    std::vector<std::string> values;
    bool csv = false;
    std::string scale; // --scale as given; empty: none
};

int runNumber(const NumberOptions& options);

} // namespace halfscope
