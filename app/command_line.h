// SPDX-License-Identifier: GPL-3.0-or-later
// What was asked for on the command line.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "app/compare_verb.h"
#include "app/info_verb.h"
#include "app/number_verb.h"
#include "app/simulate_verb.h"
#include "app/train_verb.h"
#include "app/window_main.h"

namespace halfscope {

// A text to print instead of doing anything: help, or the version.
struct PrintText {
    std::string text;
};

using CommandLine =
    std::variant<WindowOptions, TrainOptions, CompareOptions, SimulateOptions, NumberOptions, InfoOptions, PrintText>;

// `arguments` without the program's name. Throws UsageError. `verb` is set as soon as it is known, for the message.
CommandLine parseCommandLine(const std::vector<std::string>& arguments, std::string& verb);

} // namespace halfscope
