// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_worker.h"

#include <chrono>

#include "engine/io/atomic_file.h"
#include "engine/io/comparison_json.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenViews(100);

} // namespace

CompareWorker::CompareWorker(std::filesystem::path stateFile, QObject* parent)
    : QObject(parent), m_stateFile(std::move(stateFile))
{
    connect(&m_task, &BackgroundTask::finished, this, &CompareWorker::finished);
}

CompareWorker::View CompareWorker::view() const
{
    const std::scoped_lock lock(m_mutex);
    return m_view;
}

QString CompareWorker::saveProblem() const
{
    const std::scoped_lock lock(m_mutex);
    return m_saveProblem;
}

QString CompareWorker::load()
{
    std::error_code ignored;
    if (m_task.isRunning() || !std::filesystem::exists(m_stateFile, ignored)) {
        return {};
    }
    try {
        Comparison saved = loadComparison(m_stateFile);
        const std::scoped_lock lock(m_mutex);
        m_view = {std::move(saved), nullptr, {}};
    } catch (const std::runtime_error& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

void CompareWorker::start(Comparison comparison)
{
    if (m_task.isRunning()) {
        return;
    }
    {
        const std::scoped_lock lock(m_mutex);
        m_view = {comparison, nullptr, {}};
        m_view.progress.secondsLeft = ComparedRun::kNone;
        m_saveProblem.clear();
    }
    m_task.start([this, comparison = std::move(comparison)](BackgroundTask::Handle& handle) {
        return work(handle, comparison);
    });
}

// In the task's thread.
QString CompareWorker::work(BackgroundTask::Handle& handle, Comparison comparison)
{
    Clock::time_point shown;
    ComparisonHooks hooks;
    hooks.goOn = [&](const ComparisonProgress& progress) {
        if (const Clock::time_point now = Clock::now(); now - shown >= kBetweenViews) {
            shown = now;
            auto current = progress.current != nullptr ? std::make_shared<const ComparedRun>(*progress.current)
                                                       : std::shared_ptr<const ComparedRun>();
            {
                const std::scoped_lock lock(m_mutex);
                m_view.current = std::move(current);
                m_view.progress = progress;
                m_view.progress.current = nullptr;
            }
            emit changed(); // arrives in the window's thread by itself
        }
        return !handle.cancelled();
    };
    hooks.changed = [&](const Comparison& now) {
        {
            const std::scoped_lock lock(m_mutex);
            m_view.comparison = now;
            m_view.current.reset();
        }
        save(now);
        emit changed();
    };
    if (!runComparison(comparison, hooks)) {
        handle.giveUp();
    }
    const std::scoped_lock lock(m_mutex);
    m_view.comparison = std::move(comparison);
    m_view.current.reset();
    return {};
}

void CompareWorker::save(const Comparison& comparison)
{
    QString problem;
    try {
        createFolder(m_stateFile.parent_path());
        saveComparison(m_stateFile, comparison);
    } catch (const std::exception& error) {
        problem = QString::fromStdString(error.what());
    }
    const std::scoped_lock lock(m_mutex);
    m_saveProblem = problem;
}

} // namespace halfscope
