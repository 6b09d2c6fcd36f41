// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/machine_dialog.h"

#include <QClipboard>
#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <thread>

#include "engine/core/cpu_features.h"
#include "engine/core/gpu_generations.h"
#include "engine/io/machine_report.h"
#include "ui/dialogs/dialog_buttons.h"
#include "ui/number_text.h"
#include "ui/panels/plain_table.h"

namespace halfscope {

namespace {

constexpr double kGiga = 1e9;

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
QString words(std::string_view text) { return MachineDialog::tr(std::string(text).c_str()); } // translatable

QLabel* heading(const QString& text)
{
    auto* label = new QLabel(text);
    QFont bold = label->font();
    bold.setBold(true);
    label->setFont(bold);
    return label;
}

QLabel* dim(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("dim", true);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    return label;
}

QWidget* section(const QList<QWidget*>& widgets)
{
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    for (QWidget* widget : widgets)
        column->addWidget(widget);
    column->addStretch(1);
    return box;
}

QString rateText(double perSecond) { return roundedText(perSecond / kGiga, 3); }

} // namespace

MachineDialog::MachineDialog(QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("This machine"));
    auto* page = new QWidget;
    auto* grid = new QGridLayout(page);
    grid->setContentsMargins(0, 0, 8, 0);
    grid->setHorizontalSpacing(28);
    grid->setVerticalSpacing(18);
    grid->addWidget(processor(), 0, 0);
    grid->addWidget(measured(), 0, 1);
    grid->addWidget(generations(), 1, 0, 1, 2);
    grid->setColumnStretch(1, 1);
    grid->setRowStretch(2, 1);
    auto* scroll = new QScrollArea;
    scroll->setWidget(page);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);

    m_copy = new QPushButton(tr("C&opy as"));
    auto* menu = new QMenu(m_copy);
    connect(menu->addAction(tr("&Text")), &QAction::triggered, this, [this] {
        QGuiApplication::clipboard()->setText(QString::fromStdString(machineText(m_rates ? &*m_rates : nullptr)));
        m_status->setText(tr("What is shown is on the clipboard."));
    });
    connect(menu->addAction(tr("&CSV")), &QAction::triggered, this, [this] {
        QGuiApplication::clipboard()->setText(QString::fromStdString(machineCsv(m_rates ? &*m_rates : nullptr)));
        m_status->setText(tr("What is shown is on the clipboard, as CSV."));
    });
    m_copy->setMenu(menu);
    auto* close = new QPushButton(tr("Close"));
    connect(close, &QPushButton::clicked, this, &MachineDialog::reject);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_copy);
    buttons->addStretch(1);
    buttons->addWidget(close);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 8, 12);
    column->setSpacing(10);
    column->addWidget(scroll, 1);
    column->addLayout(buttons);
    connect(&m_task, &BackgroundTask::progressed, this,
            [this](double share) { m_progress->setValue(static_cast<int>(1000.0 * share)); });
    connect(&m_task, &BackgroundTask::finished, this, &MachineDialog::finish);
    showRates();
    settleButtons(*this, m_measure);
    resize(1120, 660);
}

MachineDialog::~MachineDialog() { m_task.disconnect(this); }

QWidget* MachineDialog::processor()
{
    QString simd = fromView(simdLevelName(activeSimdLevel()));
    if (activeSimdLevel() != bestSimdLevel())
        simd = tr("%1 (by HALFSCOPE_SIMD; it has %2)").arg(simd, fromView(simdLevelName(bestSimdLevel())));
    auto* table = new PlainTable(tr("Instructions of the processor"));
    table->setColumns({{tr("Instructions"), {}}, {tr("Here"), {}}, {tr("What for"), {}}});
    QList<QStringList> rows;
    for (const CpuFeature& feature : cpuFeatures())
        rows << QStringList{fromView(feature.name), feature.present ? tr("yes") : tr("no"), words(feature.meaning)};
    table->setRows(rows);
    for (int r = 0; r < table->rowCount(); ++r) {
        QFont font = table->font();
        font.setBold(rows.at(r).at(1) == tr("yes"));
        table->item(r, 1)->setFont(font);
    }
    table->setMinimumWidth(std::max(430, table->wantedWidth()));
    return section({heading(tr("Processor: %1").arg(QString::fromStdString(cpuName()))),
                    dim(tr("%1 threads; HalfScope uses %2.").arg(std::thread::hardware_concurrency()).arg(simd)),
                    table});
}

QWidget* MachineDialog::generations()
{
    QList<PlainTable::Column> columns = {
        {tr("Generation"), {}}, {tr("From"), {}}, {tr("Compute capability"), {}}, {tr("Examples"), {}}};
    for (int i = 0; i < kGpuFormatCount; ++i)
        columns.append({fromView(gpuFormatName(static_cast<GpuFormat>(i))), {}});
    auto* table = new PlainTable(tr("What GPUs compute natively"));
    table->setColumns(columns);
    QList<QStringList> rows;
    for (const GpuGeneration& g : gpuGenerations()) {
        QStringList row = {fromView(g.name), fromView(g.year), fromView(g.computeCapability), fromView(g.examples)};
        for (const GpuSupport support : g.support)
            row << words(gpuSupportText(support));
        rows << row;
    }
    table->setRows(rows);
    for (int r = 0; r < table->rowCount(); ++r) {
        for (int i = 0; i < kGpuFormatCount; ++i) {
            const bool tensor = gpuGenerations()[static_cast<std::size_t>(r)].support[static_cast<std::size_t>(i)] ==
                                GpuSupport::TensorCores;
            QFont font = table->font();
            font.setBold(tensor);
            table->item(r, 4 + i)->setFont(font);
        }
    }
    return section({heading(tr("What NVIDIA's GPUs compute natively")), table, dim(words(gpuGenerationsNote())),
                    dim(tr("Not measured here. Source: %1.").arg(fromView(gpuGenerationsSource())))});
}

QWidget* MachineDialog::measured()
{
    m_best = dim({});
    m_products = new PlainTable(tr("Matrix products measured here"));
    m_products->setColumns(
        {{tr("Format"), tr("Of both factors; the result is in FP32")},
         {tr("Backend"), {}},
         {tr("Computed"),
          tr("Natively: by the processor's own instructions. Emulated exactly: the rate is the emulation's and says "
             "nothing about hardware that has the format.")},
         {tr("GFLOP/s"), tr("10⁹ operations a second: the median of the runs"), true},
         {tr("Lowest to highest"), tr("Of the runs"), true},
         {tr("Of FP32"), tr("The rate relative to FP32's on the same backend; no claim for what is emulated"), true}});
    m_measure = new QPushButton(tr("&Measure"));
    m_measure->setToolTip(tr("About a second for each format"));
    m_cancel = new QPushButton(tr("&Cancel"));
    m_cancel->setEnabled(false);
    m_progress = new QProgressBar;
    m_progress->setRange(0, 1000);
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(6);
    m_progress->setAccessibleName(tr("Progress of the measurement"));
    m_status = dim({});
    m_status->setAccessibleName(tr("What the measurement is doing"));
    connect(m_measure, &QPushButton::clicked, this, &MachineDialog::measure);
    connect(m_cancel, &QPushButton::clicked, this, [this] { m_task.cancel(); });
    auto* row = new QWidget;
    auto* inside = new QHBoxLayout(row);
    inside->setContentsMargins(0, 0, 0, 0);
    inside->addWidget(m_measure);
    inside->addWidget(m_cancel);
    inside->addWidget(m_progress, 1);
    return section({heading(tr("Matrix products on this machine")), row, m_status, m_products, m_best});
}

void MachineDialog::measure()
{
    if (m_task.isRunning())
        return;
    emit runningChanged(true);
    m_measure->setEnabled(false);
    m_cancel->setEnabled(true);
    m_cancel->setFocus();
    m_progress->setValue(0);
    m_status->setText(tr("Measuring; the run in the window pauses meanwhile."));
    m_result = std::make_shared<MachineRates>();
    m_task.start([options = m_options, result = m_result](BackgroundTask::Handle& handle) mutable {
        options.goOn = [&handle](double share, const std::string&) {
            handle.progress(share);
            return !handle.cancelled();
        };
        *result = measureMachine(options);
        if (!result->complete)
            handle.giveUp();
        return QString();
    });
}

void MachineDialog::finish(const QString& problem)
{
    m_measure->setEnabled(true);
    m_cancel->setEnabled(false);
    m_progress->setValue(0);
    if (!problem.isEmpty()) {
        m_status->setText(problem);
    } else if (m_task.wasCancelled()) {
        m_status->setText(m_rates ? tr("Cancelled; the last measurement is still shown.") : tr("Cancelled."));
    } else {
        m_rates = *m_result;
        m_status->setText(tr("Measured."));
    }
    showRates();
    emit runningChanged(false);
}

void MachineDialog::showRates()
{
    m_measure->setText(m_rates ? tr("&Measure again") : tr("&Measure"));
    m_products->setVisible(m_rates.has_value());
    if (!m_rates) {
        m_best->setText(
            tr("Not measured yet. It takes about ten seconds, and the run in the window pauses meanwhile."));
        return;
    }
    QList<QStringList> rows;
    for (const ProductRate& p : m_rates->products) {
        const QString format = fromView(floatFormat(p.format).name);
        const QString backend = QString::fromStdString(p.backend);
        if (!p.problem.empty()) {
            rows << QStringList{format, backend, QString::fromStdString(p.problem), {}, {}, {}};
            continue;
        }
        const ProductRate* fp32 = m_rates->find(p.backend, FormatId::Fp32);
        const bool claim = p.native && fp32 != nullptr && fp32->rate.runs > 0;
        rows << QStringList{format,
                            backend,
                            p.native ? tr("natively") : tr("emulated exactly"),
                            rateText(p.rate.median),
                            tr("%1 to %2").arg(rateText(p.rate.low), rateText(p.rate.high)),
                            claim ? tr("%1 ×").arg(roundedText(p.rate.median / fp32->rate.median, 3)) : tr("no claim")};
    }
    m_products->setRows(rows);
    const ProductShape& s = m_rates->shape;
    m_best->setText(tr("Products of %1 × %2 by %2 × %3 on %4 threads. Measured beside them, as medians too: FP32 "
                       "multiply-adds on registers %5 GFLOP/s, copying memory %6 GB/s (read and written).")
                        .arg(s.m)
                        .arg(s.k)
                        .arg(s.n)
                        .arg(m_rates->threads)
                        .arg(rateText(m_rates->multiplyAdd.median), rateText(m_rates->copy.median)));
}

QString MachineDialog::status() const { return m_status->text(); }

void MachineDialog::reject()
{
    if (m_task.isRunning()) {
        m_task.cancel();
        return;
    }
    QDialog::reject();
}

} // namespace halfscope
