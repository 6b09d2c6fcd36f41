// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/advice_text.h"

#include "engine/core/number_text.h"

namespace halfscope {

namespace {

constexpr std::size_t kMostEnded = 5;

std::string paragraph(const Finding& f, const std::vector<ModuleInfo>& modules)
{
    const std::string steps = !f.ended ? "since step " + numberText(f.firstStep)
                              : f.firstStep == f.lastStep
                                  ? "step " + numberText(f.firstStep)
                                  : "steps " + numberText(f.firstStep) + " to " + numberText(f.lastStep);
    std::string text =
        "  " + std::string(severityKey(f.severity)) + ", " + steps + ": " + findingText(f, modules) + "\n";
    if (!f.ended && !f.remedies.empty()) {
        text += "    try: ";
        for (std::size_t i = 0; i < f.remedies.size(); ++i)
            text += (i == 0 ? "" : "; or ") + remedyText(f.remedies[i], modules);
        text += "\n";
    }
    return text;
}

} // namespace

std::string adviceText(const Advisor& advisor, const std::vector<ModuleInfo>& modules)
{
    std::string text;
    for (const Finding& f : advisor.findings())
        text += paragraph(f, modules);
    std::size_t said = 0;
    for (auto it = advisor.ended().rbegin(); it != advisor.ended().rend() && said < kMostEnded; ++it) {
        if (it->severity >= Severity::Warning) {
            text += paragraph(*it, modules);
            ++said;
        }
    }
    return text.empty() ? text : "The advisor:\n" + text;
}

} // namespace halfscope
