// SPDX-License-Identifier: GPL-3.0-or-later
// Work beside the window: one thread, progress, a way to stop it, and the result back in the window's thread.
#pragma once

#include <QObject>
#include <atomic>
#include <functional>
#include <thread>

namespace halfscope {

class BackgroundTask : public QObject {
    Q_OBJECT
public:
    // What the work may ask and tell; used from its thread.
    class Handle {
    public:
        bool cancelled() const { return m_task.m_cancelled; }
        void progress(double share);              // 0 to 1
        void giveUp() { m_task.m_gaveUp = true; } // the work obeys a cancellation, and has undone what it did
        bool gaveUp() const { return m_task.m_gaveUp; }

    private:
        friend class BackgroundTask;
        explicit Handle(BackgroundTask& task) : m_task(task) {}
        BackgroundTask& m_task;
    };
    // Returns nothing when all went well, or one sentence; an exception's text counts as such.
    using Work = std::function<QString(Handle&)>;

    explicit BackgroundTask(QObject* parent = nullptr);
    ~BackgroundTask() override; // cancels and waits

    void start(Work work); // not while one is running
    void cancel() { m_cancelled = true; }
    bool isRunning() const { return m_running; }
    bool wasCancelled() const { return m_gaveUp; } // a cancellation that came too late does not count

signals:
    void progressed(double share);
    void finished(const QString& problem);

private:
    std::thread m_thread;
    std::atomic<bool> m_cancelled = false;
    std::atomic<bool> m_gaveUp = false;
    std::atomic<int> m_permille = -1;
    bool m_running = false; // of the window's thread
};

} // namespace halfscope
