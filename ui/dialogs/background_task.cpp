// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/background_task.h"

#include <exception>

#include "engine/core/error_text.h"

namespace halfscope {

BackgroundTask::BackgroundTask(QObject* parent) : QObject(parent) {}

BackgroundTask::~BackgroundTask()
{
    m_cancelled = true;
    if (m_thread.joinable()) {
        m_thread.join();
    }
}

void BackgroundTask::Handle::progress(double share)
{
    // At most a thousand messages, however often the work reports.
    const int permille = static_cast<int>(share * 1000.0);
    if (m_task.m_permille.exchange(permille) != permille) {
        QMetaObject::invokeMethod(
            &m_task, [task = &m_task, share] { emit task->progressed(share); }, Qt::QueuedConnection);
    }
}

void BackgroundTask::start(Work work)
{
    if (m_running) {
        return;
    }
    if (m_thread.joinable()) {
        m_thread.join();
    }
    m_cancelled = false;
    m_gaveUp = false;
    m_permille = -1;
    m_running = true;
    m_thread = std::thread([this, work = std::move(work)] {
        QString problem;
        try {
            Handle handle(*this);
            problem = work(handle);
        } catch (const std::exception& error) {
            problem = QString::fromStdString(errorText(error));
        }
        // The task cannot be gone: its destructor waits for this thread.
        QMetaObject::invokeMethod(
            this,
            [this, problem] {
                m_running = false;
                emit finished(problem);
            },
            Qt::QueuedConnection);
    });
}

} // namespace halfscope
