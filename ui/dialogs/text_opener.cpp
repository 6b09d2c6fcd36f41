// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/text_opener.h"

#include "engine/data/text_dataset.h"

namespace halfscope {

TextOpener::TextOpener(QObject* parent) : QObject(parent)
{
    connect(&m_task, &BackgroundTask::finished, this, [this](const QString& problem) {
        const QString path = m_reading;
        if (!m_waiting.isEmpty()) {
            next();
        } else if (problem.isEmpty()) {
            emit accepted(path);
        } else {
            emit refused(problem);
        }
    });
}

void TextOpener::open(const QString& path)
{
    m_waiting = path;
    if (!m_task.isRunning()) {
        next();
    }
}

void TextOpener::next()
{
    m_reading = m_waiting;
    m_waiting.clear();
    m_task.start([path = m_reading.toStdString()](BackgroundTask::Handle&) {
        loadTextFile(path); // throws the sentence
        return QString();
    });
}

} // namespace halfscope
