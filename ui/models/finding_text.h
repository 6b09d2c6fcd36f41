// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor's findings in the window's words.
#pragma once

#include <QString>

#include "engine/amp/finding.h"

namespace halfscope {

QString findingTitle(const Finding& finding);                                             // "Gradients become zero"
QString findingSentences(const Finding& finding, const std::vector<ModuleInfo>& modules); // what is seen, and why
QString findingSteps(const Finding& finding);                                             // "since step 412"
QString remedyLabel(const Remedy& remedy, const std::vector<ModuleInfo>& modules);        // of a button
QString remedyHint(const Remedy& remedy);                                                 // what it sets: its tool tip
QString severityLabel(Severity severity);                                                 // "Warning"

} // namespace halfscope
