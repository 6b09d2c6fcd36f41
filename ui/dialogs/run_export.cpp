// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/run_export.h"

#include <QDir>
#include <QFileInfo>
#include <filesystem>

#include "engine/io/atomic_file.h"
#include "engine/io/csv_export.h"

namespace halfscope {

RunCopy::RunCopy(const RunModel& run)
    : info(run.info),
      steps(run.steps),
      events(run.events),
      history(run.history),
      updates(run.updates),
      shadows(run.shadows)
{
}

QStringList exportedFileNames()
{
    return {QStringLiteral("steps.csv"),   QStringLiteral("layers.csv"), QStringLiteral("histograms.csv"),
            QStringLiteral("events.csv"),  QStringLiteral("timing.csv"), QStringLiteral("shadow.csv"),
            QStringLiteral("updates.csv"), QStringLiteral("run.json")};
}

QString newExportFolder(const QString& parent)
{
    const QDir folder(parent);
    const QString name = QStringLiteral("halfscope-run");
    QString free = name;
    for (int number = 2; folder.exists(free); ++number) {
        free = name + QLatin1Char('-') + QString::number(number);
    }
    return folder.filePath(free);
}

QStringList existingFiles(const QString& folder)
{
    QStringList found;
    for (const QString& name : exportedFileNames()) {
        if (QFileInfo::exists(QDir(folder).filePath(name))) {
            found << name;
        }
    }
    return found;
}

QString writeRun(const RunCopy& run, const QString& folder, BackgroundTask::Handle& handle)
{
    // A row of the history holds every tensor; a step is one line. Weighted so that progress is even.
    constexpr double kRowWeight = 50.0;
    const auto rows = static_cast<double>(run.history.rowCount());
    const double total =
        static_cast<double>(run.steps.size()) + static_cast<double>(run.events.size()) + rows * kRowWeight + 1.0;
    double done = 0.0;
    const auto advance = [&](double by) {
        done += by;
        handle.progress(done / total);
        if (handle.cancelled()) {
            handle.giveUp();
        }
        return !handle.cancelled();
    };

    RunCsvWriter writer(std::filesystem::path(folder.toStdString()), run.info);
    for (const StepRecord& record : run.steps) {
        writer.add(record);
        if (!advance(1.0)) {
            return {};
        }
    }
    for (const Event& event : run.events) {
        writer.add(event);
        if (!advance(1.0)) {
            return {};
        }
    }
    for (const ShadowPtr& report : run.shadows) {
        writer.add(*report);
    }
    std::size_t update = 0;
    for (std::size_t row = 0; row < run.history.rowCount(); ++row) {
        writer.add(run.history.row(row), run.history);
        // After the gradients of their step, as a run without a window writes them.
        for (; update < run.updates.rowCount() && run.updates.row(update).lastStep <= run.history.span(row).lastStep;
             ++update) {
            writer.add(run.updates.row(update));
        }
        if (!advance(kRowWeight)) {
            return {};
        }
    }
    writer.finish(); // from here on a cancellation comes too late
    handle.progress(1.0);
    return {};
}

QString writeExport(const RunCopy* run, const std::vector<PaintedPlot>& pictures, const QString& folder,
                    BackgroundTask::Handle& handle)
{
    createFolder(folder.toStdString());
    std::vector<std::unique_ptr<AtomicFile>> files; // beside their places until all is done
    for (const PaintedPlot& picture : pictures) {
        if (handle.cancelled()) {
            handle.giveUp();
            return {};
        }
        const QByteArray data = PlotExport::encode(picture);
        files.push_back(std::make_unique<AtomicFile>(picture.path.toStdString()));
        files.back()->write(std::string_view(data.constData(), static_cast<std::size_t>(data.size())));
        files.back()->complete();
        if (run == nullptr) {
            handle.progress(static_cast<double>(files.size()) / static_cast<double>(pictures.size()));
        }
    }
    if (run != nullptr) {
        const QString problem = writeRun(*run, folder, handle);
        if (!problem.isEmpty() || handle.gaveUp()) {
            return problem;
        }
    }
    for (const std::unique_ptr<AtomicFile>& file : files) {
        file->publish();
    }
    return {};
}

} // namespace halfscope
