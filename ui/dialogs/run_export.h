// SPDX-License-Identifier: GPL-3.0-or-later
// The CSV set of a run, from a copy of what the window has, so that training and window go on meanwhile.
#pragma once

#include <QStringList>
#include <memory>

#include "ui/dialogs/background_task.h"
#include "ui/plots/plot_export.h"
#include "ui/run_model.h"

namespace halfscope {

struct RunCopy {
    RunInfo info;
    StepHistory steps;
    std::vector<Event> events;
    HistogramHistory history;
    UpdateHistory updates;
    std::vector<ShadowPtr> shadows;

    explicit RunCopy(const RunModel& run);
};

// The files an export writes, without folder.
QStringList exportedFileNames();
// A folder for the next export inside `parent`: "halfscope-run", numbered when that is taken.
QString newExportFolder(const QString& parent);
// Those of them that are already in `folder`.
QStringList existingFiles(const QString& folder);
// Writes `pictures` and, where there is a `run`, its files; all of them or, when cancelled or failed, none. Returns the
// problem, one sentence.
QString writeExport(const RunCopy* run, const std::vector<PaintedPlot>& pictures, const QString& folder,
                    BackgroundTask::Handle& handle);
// Those of the run alone.
QString writeRun(const RunCopy& run, const QString& folder, BackgroundTask::Handle& handle);

} // namespace halfscope
