// SPDX-License-Identifier: GPL-3.0-or-later
// The examples and notes under each verb's options in --help.
#pragma once

namespace halfscope::help {

extern const char* const kMain;
extern const char* const kTrain;
extern const char* const kCompare;
extern const char* const kSimulate;
extern const char* const kNumber;
extern const char* const kInfo;

} // namespace halfscope::help
