// SPDX-License-Identifier: GPL-3.0-or-later
// Exports the run's CSV set, and its plots as pictures, into a folder. Writing goes on beside the window.
#pragma once

#include <QDialog>
#include <vector>

#include "ui/dialogs/background_task.h"
#include "ui/plots/plot_export.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace halfscope {

class SessionController;

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(const SessionController& controller, const QList<Plot*>& plots, const QString& folder,
                 QWidget* parent = nullptr);

    QString folder() const;
    bool isWriting() const { return m_painting || m_task.isRunning(); }
    QString message() const; // what the dialog says below its fields

signals:
    void exported(const QString& folder);
    void failed(const QString& problem);

protected:
    void reject() override; // cancels a running export first

private:
    void chooseFolder();
    void folderChanged();
    void start();
    void paintNext();
    void write();
    static QString cancelledText();
    void finish(const QString& problem, bool cancelled = false);
    QStringList plotFiles() const;

    const SessionController& m_controller;
    QList<Plot*> m_plots;
    std::vector<PaintedPlot> m_painted; // so far
    bool m_painting = false;
    BackgroundTask m_task;
    QWidget* m_fields;
    QLineEdit* m_folder;
    QPushButton* m_browse;
    QCheckBox* m_csv;
    QCheckBox* m_withPlots;
    QComboBox* m_format;
    QCheckBox* m_white;
    QLabel* m_message;
    QProgressBar* m_progress;
    QPushButton* m_export;
    QPushButton* m_close;
    QString m_confirmedFolder; // the reader has agreed to replace what is there
};

} // namespace halfscope
