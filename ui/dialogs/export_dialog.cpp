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
#include <QTimer>
#include <QVBoxLayout>
#include <utility>

#include "ui/dialogs/dialog_buttons.h"
#include "ui/dialogs/picture_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/number_text.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr double kPainting = 0.3; // of the progress: pictures are painted before anything is written

} // namespace

ExportDialog::ExportDialog(const SessionController& controller, const QList<Plot*>& plots, const QString& folder,
                           QWidget* parent)
    : QDialog(parent),
      m_controller(controller),
      m_plots(plots),
      m_fields(new QWidget),
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
    auto* fields = new QVBoxLayout(m_fields);
    fields->setContentsMargins(0, 0, 0, 0);
    fields->setSpacing(column->spacing());
    fields->addLayout(folderRow);
    fields->addWidget(m_csv);
    fields->addLayout(plotRow);
    column->addWidget(m_fields);
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
    connect(&m_task, &BackgroundTask::progressed, this, [this](double share) {
        const double begin = m_withPlots->isChecked() ? kPainting : 0.0;
        m_progress->setValue(static_cast<int>(1000.0 * (begin + (1.0 - begin) * share)));
    });
    connect(&m_task, &BackgroundTask::finished, this, [this](const QString& problem) {
        const bool cancelled = m_task.wasCancelled();
        finish(cancelled ? cancelledText() : problem, cancelled);
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
    if (isWriting()) {
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
    m_progress->setValue(0);
    m_progress->setVisible(true);
    m_export->setEnabled(false);
    m_close->setText(tr("Cancel"));
    m_fields->setEnabled(false); // what is asked for stands until it is done
    m_painted.clear();
    m_painting = true;
    QTimer::singleShot(0, this, &ExportDialog::paintNext);
}

// One picture a turn of the event loop: painting is the window's own work and takes up to a tenth of a second.
void ExportDialog::paintNext()
{
    if (!m_painting) {
        finish(cancelledText(), true);
        return;
    }
    const qsizetype wanted = m_withPlots->isChecked() ? m_plots.size() : 0;
    const auto done = static_cast<qsizetype>(m_painted.size());
    if (done == wanted) {
        write();
        return;
    }
    Plot& plot = *m_plots.at(done);
    m_message->setText(tr("Painting %1…").arg(plot.name()));
    const auto format = static_cast<ExportFormat>(m_format->currentData().toInt());
    PictureChoice choice; // as on screen, at the resolution of a print
    choice.white = m_white->isChecked();
    m_painted.push_back(PlotExport::paint(plot, QDir(folder()).filePath(PlotExport::suggestedName(plot, format)),
                                          format, choice.options()));
    m_progress->setValue(
        static_cast<int>(1000.0 * kPainting * static_cast<double>(done + 1) / static_cast<double>(wanted)));
    QTimer::singleShot(0, this, &ExportDialog::paintNext);
}

void ExportDialog::write()
{
    m_painting = false;
    m_message->setText(tr("Writing…"));
    std::shared_ptr<const RunCopy> copy;
    if (m_csv->isChecked()) {
        copy = std::make_shared<const RunCopy>(m_controller.run());
    }
    m_task.start([copy, pictures = std::exchange(m_painted, {}), target = folder()](BackgroundTask::Handle& handle) {
        return writeExport(copy.get(), pictures, target, handle);
    });
}

QString ExportDialog::cancelledText()
{
    return tr("Cancelled. Nothing was written; files that were there are as they were.");
}

void ExportDialog::finish(const QString& problem, bool cancelled)
{
    m_progress->setVisible(false);
    m_close->setText(tr("Close"));
    m_fields->setEnabled(true);
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
    if (isWriting()) {
        m_painting = false; // the next picture is not begun
        m_task.cancel();
        m_message->setText(tr("Cancelling…"));
        return;
    }
    QDialog::reject();
}

} // namespace halfscope
