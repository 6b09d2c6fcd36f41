// SPDX-License-Identifier: GPL-3.0-or-later
// Icons drawn in the theme's text colour, sharp at every size; they follow a change of theme by themselves.
#pragma once

#include <QIcon>

namespace halfscope {

enum class Glyph {
    Play,
    Pause,
    Step,
    RunSteps,
    Restart,
    NewSeed,
    NewRun,
    Open,
    Export,
    Halve,
    Double,
    Close,
    Clear,
    Sort,
    Copy,
    Follow
};

QIcon glyphIcon(Glyph glyph);

} // namespace halfscope
