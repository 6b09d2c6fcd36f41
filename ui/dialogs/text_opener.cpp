// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/text_opener.h"

#include <utility>

#include "engine/data/text_dataset.h"

namespace halfscope {

TextOpener::TextOpener(QObject* parent) : QObject(parent)
{
    connect(&m_task, &BackgroundTask::finished, this, [this](const QString& problem) {
        const std::shared_ptr<FileTask> found = m_found;
        if (m_waiting != nullptr) {
            next();
        } else if (problem.isEmpty()) {
            emit accepted(QString::fromStdString(found->task), QString::fromStdString(found->path));
        } else {
            emit refused(problem);
        }
    });
}

void TextOpener::open(const QString& path) { ask({path.toStdString(), false, {}}); }

void TextOpener::openAny(const QString& path, const DatasetRequest& as) { ask({path.toStdString(), true, as}); }

void TextOpener::ask(Request request)
{
    m_waiting = std::make_unique<Request>(std::move(request));
    if (!m_task.isRunning()) {
        next();
    }
}

void TextOpener::next()
{
    m_found = std::make_shared<FileTask>();
    m_task.start([request = *std::exchange(m_waiting, nullptr), found = m_found](BackgroundTask::Handle&) {
        if (request.anything) {
            *found = usableFileTask(request.path, request.as); // throws the sentence
        } else {
            loadTextFile(request.path);
            *found = {std::string(tasks().front().key), request.path};
        }
        return QString();
    });
}

} // namespace halfscope
