// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/compare_dialog.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStyle>
#include <QVBoxLayout>
#include <cmath>

#include "engine/io/comparison_report.h"
#include "engine/model/precision_plan.h"
#include "ui/compare/compare_plot.h"
#include "ui/compare/compare_table.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/number_text.h"
#include "ui/plots/plot_export.h"

namespace halfscope {

namespace {

constexpr double kSmoothing = 0.9;
constexpr int kFormatColumns = 4;

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QString durationText(double seconds)
{
    const auto whole = static_cast<qint64>(std::ceil(seconds));
    if (whole < 60)
        return CompareDialog::tr("%1 s").arg(whole);
    if (whole < 3600)
        return CompareDialog::tr("%1 min %2 s").arg(whole / 60).arg(whole % 60);
    return CompareDialog::tr("%1 h %2 min").arg(whole / 3600).arg(whole % 3600 / 60);
}

// "Mixed FP16" of "mixed-fp16".
QString nameOf(const std::string& format)
{
    for (const PrecisionPreset& preset : precisionPresets()) {
        if (preset.key == format)
            return CompareDialog::tr(std::string(preset.name).c_str());
    }
    return QString::fromStdString(format);
}

// Of a preset, whichever are compared: a format keeps its colour.
int styleOf(const std::string& format)
{
    int number = 0;
    for (const PrecisionPreset& preset : precisionPresets()) {
        if (preset.key == format)
            return number;
        ++number;
    }
    return number;
}

} // namespace

CompareDialog::CompareDialog(const RunConfig& base, const QString& task, const QString& stateFile,
                             const QString& folder, QWidget* parent)
    : QDialog(parent),
      m_base(base),
      m_task(task),
      m_folder(folder),
      m_worker(stateFile.toStdString()),
      m_seeds(new QSpinBox),
      m_steps(new QSpinBox),
      m_about(new QLabel),
      m_progress(new QProgressBar),
      m_status(new QLabel),
      m_table(new CompareTable),
      m_quantity(new QComboBox),
      m_plot(new ComparePlot),
      m_notes(new QLabel)
{
    setWindowTitle(tr("Compare formats"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 12);
    column->setSpacing(10);
    buildChoices();
    buildResults();

    connect(&m_worker, &CompareWorker::changed, this, [this] {
        updateProgress();
        updateResults();
    });
    connect(&m_worker, &CompareWorker::finished, this, &CompareDialog::finish);
    const QString unreadable = m_worker.load();
    const CompareWorker::View view = m_worker.view();
    if (view.comparison.done() > 0 && !view.comparison.finished()) {
        m_status->setText(tr("%1 of %2 runs of the last comparison are done; it can go on.")
                              .arg(view.comparison.done())
                              .arg(view.comparison.runs.size()));
    } else if (!unreadable.isEmpty()) {
        m_status->setText(tr("The last comparison cannot be shown: %1").arg(unreadable));
    } else if (view.comparison.done() > 0) {
        m_status->setText(tr("The last comparison; a new one takes its place."));
    }
    updateResults();
    judge();
    settleButtons(*this, m_start);
    resize(1120, 760);
}

CompareDialog::~CompareDialog()
{
    m_worker.disconnect(this); // its end is nobody's business any more
}

void CompareDialog::buildChoices()
{
    auto* column = static_cast<QVBoxLayout*>(layout());
    m_about->setWordWrap(true);
    m_about->setTextFormat(Qt::PlainText);
    column->addWidget(m_about);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(20);
    grid->setVerticalSpacing(4);
    int count = 0;
    for (const PrecisionPreset& preset : precisionPresets()) {
        auto* box = new QCheckBox(tr(std::string(preset.name).c_str()));
        box->setProperty("key", fromView(preset.key));
        box->setToolTip(tr(std::string(preset.description).c_str()));
        box->setAccessibleName(tr("Compare %1").arg(box->text()));
        box->setChecked(preset.key == "fp32" || preset.key == "mixed-fp16" || preset.key == "mixed-bf16");
        connect(box, &QCheckBox::toggled, this, &CompareDialog::judge);
        grid->addWidget(box, count / kFormatColumns, count % kFormatColumns);
        m_formats << box;
        ++count;
    }
    grid->setColumnStretch(kFormatColumns, 1);
    column->addLayout(grid);

    m_seeds->setRange(1, kMostSeeds);
    m_seeds->setValue(3);
    m_seeds->setAccessibleName(tr("Seeds"));
    m_steps->setRange(1, static_cast<int>(kMostComparedSteps));
    m_steps->setValue(300);
    m_steps->setGroupSeparatorShown(true);
    m_steps->setAccessibleName(tr("Steps of each run"));
    auto* seedsLabel = new QLabel(tr("S&eeds"));
    seedsLabel->setBuddy(m_seeds);
    auto* stepsLabel = new QLabel(tr("Ste&ps of each run"));
    stepsLabel->setBuddy(m_steps);
    connect(m_seeds, &QSpinBox::valueChanged, this, &CompareDialog::judge);
    connect(m_steps, &QSpinBox::valueChanged, this, &CompareDialog::judge);
    m_start = new QPushButton(tr("&Start"));
    m_start->setToolTip(tr("A new comparison; it takes the place of the one below"));
    m_goOn = new QPushButton(tr("&Go on"));
    m_goOn->setToolTip(tr("Does the runs of the comparison below that are missing or failed"));
    m_cancel = new QPushButton(tr("&Cancel"));
    m_cancel->setToolTip(tr("Drops the run under way; those before it are kept"));
    connect(m_start, &QPushButton::clicked, this, &CompareDialog::startNew);
    connect(m_goOn, &QPushButton::clicked, this, &CompareDialog::goOn);
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        m_worker.cancel();
        m_status->setText(tr("Ending the run under way…"));
    });
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(seedsLabel);
    row->addWidget(m_seeds);
    row->addSpacing(12);
    row->addWidget(stepsLabel);
    row->addWidget(m_steps);
    row->addSpacing(20);
    for (QPushButton* button : {m_start, m_goOn, m_cancel})
        row->addWidget(button);
    row->addStretch(1);
    column->addLayout(row);

    m_progress->setRange(0, 1000);
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(6);
    m_progress->setAccessibleName(tr("Progress of the comparison"));
    m_status->setWordWrap(true);
    m_status->setTextFormat(Qt::PlainText);
    m_status->setAccessibleName(tr("What the comparison is doing"));
    m_status->setMinimumHeight(m_status->fontMetrics().height());
    column->addWidget(m_progress);
    column->addWidget(m_status);
}

void CompareDialog::buildResults()
{
    auto* column = static_cast<QVBoxLayout*>(layout());
    column->addWidget(m_table);
    m_quantity->setAccessibleName(tr("Curves of"));
    m_quantity->addItem(tr("Loss, smoothed"), static_cast<int>(Quantity::Loss));
    m_quantity->addItem(tr("Accuracy, smoothed"), static_cast<int>(Quantity::Accuracy));
    m_quantity->addItem(tr("Held-out loss"), static_cast<int>(Quantity::HeldOutLoss));
    m_quantity->addItem(tr("Held-out accuracy"), static_cast<int>(Quantity::HeldOutAccuracy));
    connect(m_quantity, &QComboBox::activated, this, &CompareDialog::updateCurves);
    auto* label = new QLabel(tr("Cur&ves"));
    label->setBuddy(m_quantity);
    auto* hint = new QLabel(tr("Lines: mean of the seeds; bands: their range."));
    hint->setProperty("dim", true);
    auto* row = new QHBoxLayout;
    row->addWidget(label);
    row->addWidget(m_quantity);
    row->addSpacing(8);
    row->addWidget(hint);
    row->addStretch(1);
    column->addLayout(row);
    auto* card = new QFrame;
    card->setObjectName(QStringLiteral("card"));
    auto* inside = new QVBoxLayout(card);
    inside->setContentsMargins(4, 4, 4, 4);
    inside->addWidget(m_plot);
    column->addWidget(card, 1);
    m_notes->setProperty("dim", true);
    m_notes->setWordWrap(true);
    m_notes->setTextFormat(Qt::PlainText);
    m_notes->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(m_notes);

    m_copy = new QPushButton(tr("Copy &table as"));
    auto* menu = new QMenu(m_copy);
    const auto add = [&](const QString& text, std::string (*make)(const Comparison&)) {
        connect(menu->addAction(text), &QAction::triggered, this, [this, make] {
            QGuiApplication::clipboard()->setText(QString::fromStdString(make(m_worker.view().comparison)));
            m_status->setText(tr("The table is on the clipboard."));
        });
    };
    add(tr("&Markdown"), comparisonMarkdown);
    add(tr("&Text"), comparisonText);
    add(tr("&CSV, a row a format"), summaryCsv);
    add(tr("CSV, a row a &run"), runsCsv);
    m_copy->setMenu(menu);
    m_savePlot = new QPushButton(tr("Save p&lot…"));
    m_export = new QPushButton(tr("E&xport tables…"));
    m_export->setToolTip(tr("compare.csv, summary.csv and curves.csv into a folder"));
    m_close = new QPushButton(tr("Close"));
    connect(m_savePlot, &QPushButton::clicked, this, &CompareDialog::plotSaveRequested);
    connect(m_export, &QPushButton::clicked, this, &CompareDialog::chooseFolder);
    connect(m_close, &QPushButton::clicked, this, &CompareDialog::reject);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_copy);
    buttons->addWidget(m_savePlot);
    buttons->addWidget(m_export);
    buttons->addStretch(1);
    buttons->addWidget(m_close);
    column->addLayout(buttons);
}

void CompareDialog::setBase(const RunConfig& base, const QString& task)
{
    if (base == m_base && task == m_task)
        return;
    m_base = base;
    m_task = task;
    judge();
}

ComparisonPlan CompareDialog::plan() const
{
    ComparisonPlan plan;
    plan.base = m_base;
    for (const QCheckBox* box : m_formats) {
        if (box->isChecked())
            plan.formats.push_back(box->property("key").toString().toStdString());
    }
    plan.seeds = m_seeds->value();
    plan.steps = m_steps->value();
    return plan;
}

QString CompareDialog::status() const { return m_status->text(); }

void CompareDialog::judge()
{
    const auto problem = problemOf(plan());
    const ComparisonPlan wanted = plan();
    m_about->setText(
        problem ? QString::fromStdString(*problem)
                : tr("The task of the run in the window, %1, %2, with the settings it has now: %3 runs. "
                     "The run in the window pauses meanwhile, so that the times are the formats' own.")
                      .arg(m_task,
                           wanted.seeds == 1
                               ? tr("from seed %1").arg(countText(wanted.base.seed))
                               : tr("from seeds %1 to %2")
                                     .arg(countText(wanted.base.seed),
                                          countText(wanted.base.seed + static_cast<std::uint64_t>(wanted.seeds - 1))),
                           countText(wanted.runs())));
    m_about->setObjectName(problem ? QStringLiteral("rejection") : QString());
    style()->unpolish(m_about); // there is a rule for its new name
    style()->polish(m_about);
    updateButtons();
}

void CompareDialog::updateButtons()
{
    const bool running = m_worker.isRunning();
    const Comparison& shown = m_worker.view().comparison;
    const bool failed = std::any_of(shown.runs.begin(), shown.runs.end(),
                                    [](const ComparedRunPtr& run) { return run && run->end == RunEnd::Failed; });
    m_start->setEnabled(!running && !problemOf(plan()));
    m_goOn->setEnabled(!running && shown.done() > 0 && (!shown.finished() || failed));
    m_cancel->setEnabled(running);
    for (QCheckBox* box : m_formats)
        box->setEnabled(!running);
    m_seeds->setEnabled(!running);
    m_steps->setEnabled(!running);
    for (QPushButton* button : {m_copy, m_savePlot, m_export})
        button->setEnabled(shown.done() > 0);
}

void CompareDialog::startNew() { run(Comparison(plan())); }

void CompareDialog::goOn()
{
    Comparison comparison = m_worker.view().comparison;
    comparison.forgetFailures();
    run(std::move(comparison));
}

void CompareDialog::run(Comparison comparison)
{
    m_doneShown = ~std::size_t{0}; // what is shown is of another one
    emit runningChanged(true);
    m_progress->setValue(0);
    m_worker.start(std::move(comparison));
    m_status->setText(tr("Starting…"));
    updateButtons();
    updateResults();
    m_cancel->setFocus();
}

void CompareDialog::finish(const QString& problem)
{
    const Comparison& comparison = m_worker.view().comparison;
    const QString runs = tr("%1 of %2 runs").arg(comparison.done()).arg(comparison.runs.size());
    if (!problem.isEmpty())
        m_status->setText(problem);
    else if (comparison.finished())
        m_status->setText(tr("Done: %1.").arg(runs));
    else
        m_status->setText(tr("Cancelled after %1; “Go on” does the others.").arg(runs));
    if (const QString unsaved = m_worker.saveProblem(); !unsaved.isEmpty())
        m_status->setText(tr("%1 It could not be saved: %2").arg(m_status->text(), unsaved));
    m_progress->setValue(comparison.finished() ? 1000 : 0);
    updateCurves();
    updateResults();
    updateButtons();
    emit runningChanged(false);
}

void CompareDialog::updateProgress()
{
    const CompareWorker::View view = m_worker.view();
    if (!m_worker.isRunning())
        return;
    if (view.progress.phase == ComparisonProgress::Phase::Speed) {
        m_status->setText(tr("Measuring speed: the formats in turn…"));
        return;
    }
    m_progress->setValue(static_cast<int>(1000.0 * view.progress.share));
    if (view.current == nullptr)
        return;
    QString text =
        tr("Run %1 of %2: %3, seed %4, step %5 of %6")
            .arg(view.progress.run + 1)
            .arg(view.comparison.runs.size())
            .arg(nameOf(view.current->format), countText(view.current->seed),
                 stepText(static_cast<qint64>(view.current->loss.size())), stepText(view.comparison.plan.steps));
    if (std::isfinite(view.progress.secondsLeft))
        text += tr("; about %1 left").arg(durationText(view.progress.secondsLeft));
    m_status->setText(text);
}

void CompareDialog::updateCurves()
{
    const CompareWorker::View view = m_worker.view();
    const Comparison& comparison = view.comparison;
    QElapsedTimer timer;
    timer.start();
    const auto quantity = static_cast<Quantity>(m_quantity->currentData().toInt());
    std::vector<ComparePlot::Series> series;
    const std::vector<FormatSummary> rows = summarise(comparison);
    for (std::size_t f = 0; f < rows.size(); ++f)
        series.push_back({QString::fromStdString(rows[f].name), QString::fromStdString(rows[f].format),
                          styleOf(rows[f].format), curveOf(comparison, f, quantity, kSmoothing, view.current.get())});
    m_plot->setSeries(std::move(series), quantity, comparison.plan.steps);
    m_curvesMs = timer.elapsed();
    m_sinceCurves.start();
}

void CompareDialog::updateResults()
{
    const Comparison comparison = m_worker.view().comparison;
    const bool newRun =
        comparison.done() != m_doneShown || m_table->rowCount() != static_cast<int>(comparison.plan.formats.size());
    constexpr int kShare = 10;                             // of the window's time, at most one part for the curves
    m_table->setVisible(!comparison.plan.formats.empty()); // the curves have its room until there are rows
    if (newRun || !m_sinceCurves.isValid() || m_sinceCurves.elapsed() >= kShare * m_curvesMs)
        updateCurves();
    if (!newRun)
        return;
    m_doneShown = comparison.done();
    m_table->show(comparison);
    QStringList notes;
    for (const std::string& note : comparisonNotes(comparison))
        notes << QString::fromStdString(note);
    m_notes->setText(comparison.plan.formats.empty() ? QString() : notes.join(QStringLiteral(" ")));
    updateButtons();
}

void CompareDialog::chooseFolder()
{
    auto* chooser = new QFileDialog(this, tr("Folder for the tables"), m_folder);
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    chooser->setFileMode(QFileDialog::Directory);
    connect(chooser, &QFileDialog::fileSelected, this, &CompareDialog::exportTo);
    chooser->open();
}

void CompareDialog::exportTo(const QString& folder)
{
    try {
        writeComparisonCsv(folder.toStdString(), m_worker.view().comparison);
        m_folder = folder;
        m_status->setText(tr("compare.csv, summary.csv and curves.csv are in %1.").arg(folder));
        emit exported(folder);
    } catch (const std::exception& error) {
        m_status->setText(QString::fromStdString(error.what()));
    }
}

void CompareDialog::reject()
{
    if (m_worker.isRunning()) {
        m_worker.cancel();
        m_status->setText(tr("Ending the run under way…"));
        return;
    }
    QDialog::reject();
}

} // namespace halfscope
