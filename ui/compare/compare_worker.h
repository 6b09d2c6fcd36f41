// SPDX-License-Identifier: GPL-3.0-or-later
// A comparison that runs beside the window, in a thread of its own, and is saved after each of its runs.
#pragma once

#include <filesystem>
#include <mutex>

#include "engine/compare/comparison_run.h"
#include "ui/dialogs/background_task.h"

namespace halfscope {

class CompareWorker : public QObject {
    Q_OBJECT
public:
    // `stateFile` is where a comparison is kept; its folder is made.
    explicit CompareWorker(std::filesystem::path stateFile, QObject* parent = nullptr);

    // What is known now; the run under way as far as it is.
    struct View {
        Comparison comparison;
        std::shared_ptr<const ComparedRun> current; // null: none
        ComparisonProgress progress;                // without `current`
    };
    View view() const;
    // Shows one that was saved, if there is one. Returns a problem with it, or nothing.
    QString load();

    void start(Comparison comparison);
    void cancel() { m_task.cancel(); } // the run under way is dropped, those before it are kept
    bool isRunning() const { return m_task.isRunning(); }
    QString saveProblem() const; // why it could not be saved; empty: it was

signals:
    void changed();                        // ten times a second at most
    void finished(const QString& problem); // done, cancelled, or one sentence on why nothing can be done

private:
    QString work(BackgroundTask::Handle& handle, Comparison comparison);
    void save(const Comparison& comparison);

    const std::filesystem::path m_stateFile;
    mutable std::mutex m_mutex;
    View m_view;
    QString m_saveProblem;
    BackgroundTask m_task; // last: its thread uses all of the above
};

} // namespace halfscope
