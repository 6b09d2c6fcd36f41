// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/export_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/dialogs/dialog_buttons.h"
#include "ui/dialogs/picture_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/number_text.h"
#include "ui/plots/plot_export.h"
#include "ui/session_controller.h"

namespace halfscope {

ExportDialog::ExportDialog(const SessionController& controller, const QList<Plot*>& plots, const QString& folder,
                           QWidget* parent)
    : QDialog(parent),
      m_controller(controller),
      m_plots(plots),
      m_folder(new QLineEdit(folder)),
      m_browse(new QPushButton(tr("Choose…"))),
      m_csv(
          new QCheckBox(tr("Tables: steps, layers, histograms, events, timing, comparison with FP32 and updates of the "
                           "weights\n(CSV), and the run itself (JSON)"))),
      m_withPlots(new QCheckBox(tr("Plots as pictures:"))),
      m_format(new QComboBox),
      m_white(new QCheckBox(tr("White background"))),
      m_message(new QLabel),
      m_progress(new QProgressBar)
{
    setWindowTitle(tr("Export run"));
    m_folder->setAccessibleName(tr("Folder"));
    m_folder->setObjectName(QStringLiteral("folder"));
    m_folder->setMinimumWidth(320);
    m_browse->setAccessibleName(tr("Choose a folder"));
    m_csv->setChecked(true);
    m_csv->setAccessibleName(m_csv->text().replace(QLatin1Char('\n'), QLatin1Char(' ')));
    m_withPlots->setAccessibleName(m_withPlots->text());
    m_withPlots->setObjectName(QStringLiteral("with-plots"));
    m_format->setAccessibleName(tr("Format of the pictures"));
    m_format->addItem(QStringLiteral("PNG"), static_cast<int>(ExportFormat::Png));
    m_format->addItem(QStringLiteral("SVG"), static_cast<int>(ExportFormat::Svg));
    m_format->addItem(QStringLiteral("PDF"), static_cast<int>(ExportFormat::Pdf));
    m_format->setEnabled(false);
    m_white->setAccessibleName(m_white->text());
    m_white->setChecked(true);
    m_white->setEnabled(false);
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    m_message->setMinimumHeight(m_message->fontMetrics().height() * 2);
    m_message->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_progress->setRange(0, 1000);
    m_progress->setVisible(false);
    m_progress->setAccessibleName(tr("Progress of the export"));

    auto* label = new QLabel(tr("Into the folder"));
    label->setBuddy(m_folder);
    auto* folderRow = new QHBoxLayout;
    folderRow->addWidget(label);
    folderRow->addWidget(m_folder, 1);
    folderRow->addWidget(m_browse);
    auto* plotRow = new QHBoxLayout;
    plotRow->addWidget(m_withPlots);
    plotRow->addWidget(m_format);
    plotRow->addWidget(m_white);
    plotRow->addStretch(1);
    auto* buttons = new QDialogButtonBox;
    m_export = buttons->addButton(tr("Export"), QDialogButtonBox::ActionRole);
    m_close = buttons->addButton(tr("Close"), QDialogButtonBox::RejectRole);
    m_export->setObjectName(QStringLiteral("export"));
    auto* column = new QVBoxLayout(this);
    column->setSpacing(10);
    column->addLayout(folderRow);
    column->addWidget(m_csv);
    column->addLayout(plotRow);
    column->addWidget(m_message);
    column->addWidget(m_progress);
    column->addWidget(buttons);
    settleButtons(*this, m_export);

    connect(m_browse, &QPushButton::clicked, this, &ExportDialog::chooseFolder);
    connect(m_folder, &QLineEdit::textChanged, this, &ExportDialog::folderChanged);
    connect(m_csv, &QCheckBox::toggled, this, &ExportDialog::folderChanged);
    connect(m_withPlots, &QCheckBox::toggled, this, [this](bool on) {
        m_format->setEnabled(on);
        m_white->setEnabled(on);
        folderChanged();
    });
    connect(m_format, &QComboBox::currentIndexChanged, this, &ExportDialog::folderChanged);
    connect(m_export, &QPushButton::clicked, this, &ExportDialog::start);
    connect(m_close, &QPushButton::clicked, this, &ExportDialog::reject);
    connect(&m_task, &BackgroundTask::progressed, this,
            [this](double share) { m_progress->setValue(static_cast<int>(share * 1000.0)); });
    connect(&m_task, &BackgroundTask::finished, this, [this](const QString& problem) {
        if (m_task.wasCancelled()) {
            finish(tr("Cancelled. Nothing was written; files that were there are as they were."), true);
        } else {
            finish(problem.isEmpty() ? writePictures() : problem);
        }
    });
    folderChanged();
}

QString ExportDialog::folder() const { return QDir::cleanPath(QDir::fromNativeSeparators(m_folder->text().trimmed())); }
QString ExportDialog::message() const { return m_message->text(); }

void ExportDialog::chooseFolder()
{
    auto* chooser = new QFileDialog(this, tr("Folder for the export"), m_folder->text());
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setFileMode(QFileDialog::Directory);
    chooser->setOption(QFileDialog::ShowDirsOnly);
    connect(chooser, &QFileDialog::fileSelected, m_folder, &QLineEdit::setText);
    chooser->open();
}

QStringList ExportDialog::plotFiles() const
{
    QStringList names;
    const auto format = static_cast<ExportFormat>(m_format->currentData().toInt());
    for (const Plot* plot : m_plots) {
        names << PlotExport::suggestedName(*plot, format);
    }
    return names;
}

void ExportDialog::folderChanged()
{
    m_confirmedFolder.clear();
    m_export->setText(tr("Export"));
    m_export->setEnabled(!m_folder->text().trimmed().isEmpty() && (m_csv->isChecked() || m_withPlots->isChecked()));
    m_message->setText(tr("The run so far: %1 steps. Training goes on while the files are written.")
                           .arg(stepText(static_cast<qint64>(m_controller.run().steps.size()))));
}

void ExportDialog::start()
{
    if (m_task.isRunning()) {
        return;
    }
    QStringList there = m_csv->isChecked() ? existingFiles(folder()) : QStringList();
    if (m_withPlots->isChecked()) {
        for (const QString& name : plotFiles()) {
            if (QFileInfo::exists(QDir(folder()).filePath(name))) {
                there << name;
            }
        }
    }
    if (!there.isEmpty() && m_confirmedFolder != folder()) {
        m_confirmedFolder = folder();
        m_message->setText(there.size() == 1 ? tr("%1 is already there. Replace it?").arg(there.first())
                                             : tr("%1 and %2 more are already there. Replace them?")
                                                   .arg(there.first(), QString::number(there.size() - 1)));
        m_export->setText(tr("Replace"));
        return;
    }
    if (!m_csv->isChecked()) {
        finish(writePictures());
        return;
    }
    m_progress->setValue(0);
    m_progress->setVisible(true);
    m_export->setEnabled(false);
    m_close->setText(tr("Cancel"));
    m_message->setText(tr("Writing…"));
    const auto copy = std::make_shared<const RunCopy>(m_controller.run());
    m_task.start([copy, target = folder()](BackgroundTask::Handle& handle) { return writeRun(*copy, target, handle); });
}

// After the tables, which may be cancelled. Painting is the window's own work; each plot takes some milliseconds.
QString ExportDialog::writePictures()
{
    if (!m_withPlots->isChecked()) {
        return {};
    }
    if (!QDir().mkpath(folder())) {
        return tr("The folder %1 cannot be made; choose another one.").arg(folder());
    }
    const QStringList names = plotFiles();
    for (qsizetype i = 0; i < m_plots.size(); ++i) {
        PictureChoice choice; // as on screen, at the resolution of a print
        choice.white = m_white->isChecked();
        const ExportOptions options = choice.options();
        const auto problem = PlotExport::save(*m_plots.at(i), QDir(folder()).filePath(names.at(i)),
                                              static_cast<ExportFormat>(m_format->currentData().toInt()), options);
        if (problem) {
            return *problem;
        }
    }
    return {};
}

void ExportDialog::finish(const QString& problem, bool cancelled)
{
    m_progress->setVisible(false);
    m_close->setText(tr("Close"));
    m_export->setEnabled(true);
    m_export->setText(tr("Export"));
    m_confirmedFolder.clear();
    if (!problem.isEmpty()) {
        m_message->setText(problem);
        if (!cancelled) {
            emit failed(problem);
        }
        return;
    }
    m_message->setText(tr("Written to %1.").arg(folder()));
    emit exported(folder());
    accept();
}

void ExportDialog::reject()
{
    if (m_task.isRunning()) {
        m_task.cancel();
        m_message->setText(tr("Cancelling…"));
        return;
    }
    QDialog::reject();
}

} // namespace halfscope
