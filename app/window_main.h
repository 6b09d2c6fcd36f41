// SPDX-License-Identifier: GPL-3.0-or-later
// The program without a verb: the window, or a picture of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/train/run_config.h"

namespace halfscope {

enum class WindowTheme : std::uint8_t { System, Dark, Light };

struct WindowOptions {
    RunConfig config; // to start with: the default experiment with --config, --set, --text and --seed applied; valid
    bool deviceGiven = false; // in it: not the one that is remembered
    WindowTheme theme = WindowTheme::System;
    int width = 0; // of the window, in device-independent pixels; 0: as it was last, or the default
    int height = 0;
    // Not empty: run `steps` steps, save a picture of the whole window there, and end. Needs no display.
    std::filesystem::path screenshot;
    std::int64_t steps = 300;
};

// Makes the QApplication and runs until the window is closed or the picture is saved. Returns the exit status; an error
// is one line on the standard error stream. argc and argv as main() got them.
int runWindow(const WindowOptions& options, int& argc, char** argv);

} // namespace halfscope
