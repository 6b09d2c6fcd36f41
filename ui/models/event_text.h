// SPDX-License-Identifier: GPL-3.0-or-later
// An event in the reader's language, composed from its fields.
#pragma once

#include <QString>

#include "ui/run_model.h"

namespace halfscope {

// What the event log can be narrowed to.
enum class EventGroup { Skips, Scale, You, Notes };
EventGroup eventGroup(const Event& event);
QString eventGroupLabel(EventGroup group);

QString changeText(const Event& command);                     // "Growth interval 2000 → 100"
QString eventText(const Event& event, const RunModel& run);   // one line
QString eventDetail(const Event& event, const RunModel& run); // exact numbers, a few lines, for tooltips and copies

} // namespace halfscope
