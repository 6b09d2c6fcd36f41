// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include "ui/dialogs/background_task.h"

namespace halfscope {

// Reads a text beside the window to see whether it can be trained on.
class TextOpener : public QObject {
    Q_OBJECT
public:
    explicit TextOpener(QObject* parent = nullptr);
    void open(const QString& path); // a newer request replaces one that is still being read

signals:
    void accepted(const QString& path);
    void refused(const QString& why); // one sentence

private:
    void next();

    BackgroundTask m_task;
    QString m_reading;
    QString m_waiting;
};

} // namespace halfscope
