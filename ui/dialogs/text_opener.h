// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <memory>
#include <string>

#include "engine/data/file_task.h"
#include "ui/dialogs/background_task.h"

namespace halfscope {

// Reads a text, or whatever it is that somebody brings, beside the window to see whether it can be trained on.
class TextOpener : public QObject {
    Q_OBJECT
public:
    explicit TextOpener(QObject* parent = nullptr);
    // A newer request replaces one that is still being read.
    void open(const QString& path);                              // as a text
    void openAny(const QString& path, const DatasetRequest& as); // for the task that fits it

signals:
    void accepted(const QString& task, const QString& path); // a TaskInfo::key
    void refused(const QString& why);                        // one sentence

private:
    struct Request {
        std::string path;
        bool anything = false;
        DatasetRequest as;
    };
    void ask(Request request);
    void next();

    BackgroundTask m_task;
    std::shared_ptr<FileTask> m_found; // by the task that runs
    std::unique_ptr<Request> m_waiting;
};

} // namespace halfscope
