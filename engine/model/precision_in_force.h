// SPDX-License-Identifier: GPL-3.0-or-later
// The precision that holds at a step, made of what the user set and of what the schedule has set: of the two the later
// one. Each is kept with the step from which it holds, so that a user's change can be taken back from under the
// schedule's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/precision_plan.h"

namespace halfscope {

class PrecisionInForce {
public:
    // What a run begins with: a preset (precisionPresets()) and exceptions by module name.
    PrecisionInForce(std::string preset, const std::map<std::string, FormatId>& modules);

    // The user's: holds from step `since` on, 0 being the start, over what the schedule set before that step. A preset
    // forgets the user's exceptions.
    void set(std::string preset, std::int64_t since);
    void setModule(const std::string& module, FormatId format, std::int64_t since);
    // The schedule's, at the beginning of `step`, after the user's changes of that step. A preset is for all modules.
    void schedule(std::string preset, std::int64_t step);
    void scheduleModule(const std::string& module, FormatId format, std::int64_t step);

    // Whether the schedule has set something at this step or later.
    bool scheduledSince(std::int64_t step) const;
    // The preset of the modules for which nothing of their own holds.
    const std::string& preset() const;
    // By module id. The presets must exist; modules that `all` has not are left out.
    PrecisionPlan plan(const std::vector<ModuleInfo>& all) const;

private:
    struct Preset {
        std::string key;
        std::int64_t since = 0;
    };
    struct Format {
        FormatId format = FormatId::Fp32;
        std::int64_t since = 0;
    };
    struct Layer {
        Preset preset;
        std::map<std::string, Format> modules;
    };

    Layer m_user;
    Layer m_schedule; // its preset's key is empty before it has set one
};

} // namespace halfscope
