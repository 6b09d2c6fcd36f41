// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/plot_area.h"

#include <QEvent>
#include <QFocusEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/number_text.h"
#include "ui/panels/elided_label.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"
#include "ui/plots/what_if_plot.h"
#include "ui/session_controller.h"

namespace halfscope {

PlotArea::PlotArea(SessionController& controller, QWidget* parent)
    : QSplitter(Qt::Vertical, parent),
      m_controller(controller),
      m_spectrum(new SpectrumPlot),
      m_waterfall(new WaterfallPlot),
      m_scale(new ScalePlot),
      m_loss(new LossPlot),
      m_whatIf(new WhatIfPlot),
      m_whatIfCard(new QFrame),
      m_accuracy(new AccuracyPlot),
      m_toNewest(new QPushButton),
      m_active(m_spectrum)
{
    setObjectName(QStringLiteral("plots"));
    setChildrenCollapsible(false);
    setHandleWidth(8);
    addWidget(card(m_spectrum, tr("Gradient spectrum"),
                   tr("Histogram of the exponents against the format's range. Left and right arrows move the loss "
                      "scale; the layers table has the same numbers.")));
    addWidget(card(m_waterfall, tr("Waterfall"), tr("Steps by exponents; the layers table has the newest numbers.")));
    addWidget(card(m_scale, tr("Loss scale"), tr("The loss scale of every step with the skipped steps.")));
    addWidget(card(m_loss, tr("Loss"), tr("The training loss of every step.")));
    m_whatIf->setAccessibleName(tr("What if"));
    m_whatIf->setMinimumHeight(m_whatIf->fontMetrics().height() * 7);
    m_whatIfCard->setObjectName(QStringLiteral("card"));
    auto* inside = new QVBoxLayout(m_whatIfCard);
    inside->setContentsMargins(4, 4, 4, 4);
    inside->addWidget(m_whatIf);
    addWidget(
        card(m_accuracy, tr("Accuracy"), tr("The share of examples classified right, in training and held out.")));
    m_waterfall->setLink(&m_link);
    m_scale->setLink(&m_link);
    m_loss->setLink(&m_link);
    m_accuracy->setLink(&m_link);
    m_waterfall->setStepLabelsShown(false);
    m_scale->setStepLabelsShown(false);

    m_link.setRun(&controller.run());
    for (Plot* plot : allPlots()) {
        plot->setRun(&controller.run());
        plot->installEventFilter(this);
        connect(plot, &QWidget::customContextMenuRequested, this,
                [this, plot](const QPoint& at) { emit contextMenuWanted(plot, plot->mapToGlobal(at)); });
    }
    for (StepPlot* plot : {static_cast<StepPlot*>(m_waterfall), static_cast<StepPlot*>(m_scale),
                           static_cast<StepPlot*>(m_loss), static_cast<StepPlot*>(m_accuracy)}) {
        connect(plot, &StepPlot::stepClicked, m_spectrum,
                [this](qint64 step) { m_spectrum->freezeStep(std::optional<qint64>(step)); });
        connect(plot, &StepPlot::doubleClicked, this, &PlotArea::releaseStep);
    }
    connect(&m_link, &StepAxisLink::crosshairChanged, m_spectrum, [this] {
        const auto step = m_link.crosshair();
        m_spectrum->previewStep(step ? std::optional<qint64>(*step) : std::nullopt);
        showPastStep();
    });
    connect(m_spectrum, &SpectrumPlot::frozenStepChanged, this, &PlotArea::showPastStep);
    for (const ScaleSettingPlot* plot :
         {static_cast<ScaleSettingPlot*>(m_spectrum), static_cast<ScaleSettingPlot*>(m_whatIf)}) {
        connect(plot, &ScaleSettingPlot::scaleDragged, this, [this, plot](double scale) {
            m_dragging = m_dragging || plot->continuesMove();
            dragScale(scale);
        });
        connect(plot, &ScaleSettingPlot::scaleDropped, this, [this] { m_dragging = false; });
    }
    // Whoever sets the scale wants to see what it does.
    connect(&controller, &SessionController::scaleRequested, this, &PlotArea::releaseStep);
    connect(&controller, &SessionController::commandRejected, this, [this](const QString& key, const QString&) {
        if (key == QLatin1String("scale")) {
            m_spectrum->clearPendingScale();
            m_whatIf->clearPendingScale();
        }
    });

    connect(&controller, &SessionController::runStarted, this, [this] {
        m_spectrum->freezeStep(std::nullopt);
        m_link.setCrosshair(std::nullopt);
        m_link.setRun(&m_controller.run());
        m_link.follow();
        for (Plot* plot : allPlots()) {
            plot->setRun(&m_controller.run());
        }
        updateTask();
    });
    connect(&controller, &SessionController::stepsAdded, this, &PlotArea::refreshPlots);
    connect(&controller, &SessionController::snapshotAdded, this, &PlotArea::refreshPlots);
    connect(&controller, &SessionController::eventsAdded, this, &PlotArea::refreshPlots);
    connect(&controller, &SessionController::liveChanged, this, &PlotArea::refreshPlots);
    connect(&controller, &SessionController::selectionChanged, this, &PlotArea::refreshPlots);
    connect(&controller, &SessionController::selectionChanged, this, &PlotArea::updateTitles);
    connect(&controller, &SessionController::runStarted, this, &PlotArea::updateTitles);
    connect(m_spectrum, &SpectrumPlot::frozenStepChanged, this, &PlotArea::updateTitles);
    connect(m_spectrum, &SpectrumPlot::frozenStepChanged, this, &PlotArea::heldStepChanged);
    connect(m_toNewest, &QPushButton::clicked, this, &PlotArea::releaseStep);
    connect(&controller, &SessionController::evaluated, this, &PlotArea::updateTitles);
    updateTask();
    updateTitles();
    resetSizes();
}

// The plots refer to the link, which goes before a base class deletes its children.
PlotArea::~PlotArea()
{
    for (Plot* plot : allPlots()) {
        delete plot;
    }
    delete m_whatIfCard; // unless a dock has taken it along
}

// A drag is one change of the run, whichever plot it goes on in.
void PlotArea::dragScale(double scale) { m_controller.setScale(scale, std::exchange(m_dragging, true)); }

// What the spectrum shows, the curve is about.
void PlotArea::showPastStep()
{
    const auto under = m_link.crosshair();
    m_whatIf->showStep(under ? std::optional<qint64>(*under) : m_spectrum->frozenStep());
}

QWidget* PlotArea::card(Plot* plot, const QString& name, const QString& description)
{
    plot->setAccessibleName(name);
    plot->setAccessibleDescription(description);
    auto* frame = new QFrame;
    frame->setObjectName(QStringLiteral("card"));
    // Below this a plot is no use: its captions, labels and a few lines of room for the data.
    const int line = plot->fontMetrics().height();
    // So much that all four are in view on a screen of 720 lines.
    plot->setMinimumHeight(line * (plot == m_spectrum ? 11 : plot == m_loss || plot == m_accuracy ? 6 : 5));
    auto* title = new ElidedLabel(name);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    auto* header = new QHBoxLayout;
    header->setContentsMargins(8, 2, 4, 0);
    header->addWidget(title, 1);
    auto* inside = new QVBoxLayout(frame);
    inside->setContentsMargins(4, 4, 4, 4);
    inside->setSpacing(0);
    inside->addLayout(header);
    inside->addWidget(plot, 1);
    m_titles.push_back({plot, title});
    if (plot == m_spectrum) {
        m_toNewest->setObjectName(QStringLiteral("to-newest"));
        m_toNewest->setFocusPolicy(Qt::TabFocus); // a click leaves the keyboard where it is
        header->addWidget(m_toNewest);
        title->setMinimumHeight(m_toNewest->fontMetrics().height() + 8); // the row is as high without it
    }
    return frame;
}

// The titles say what is selected.
void PlotArea::updateTitles()
{
    for (const auto& [plot, title] : m_titles) {
        title->setText(plot->title());
    }
    const auto frozen = m_spectrum->frozenStep();
    m_toNewest->setVisible(frozen.has_value());
    if (frozen) {
        m_toNewest->setText(tr("Step %1 is held · back to the newest").arg(stepText(*frozen)));
        m_toNewest->setAccessibleName(m_toNewest->text());
    }
    emit titlesChanged();
}

QString PlotArea::selectionTitle() const
{
    return tr("%1 · %2").arg(selectionText(m_controller.run()), tapText(m_controller.run().selection.tap));
}

std::optional<PlottedNumber> PlotArea::numberAt(const Plot* plot, const QPointF& at) const
{
    const RunModel& run = m_controller.run();
    if (!QRectF(plot->axisRect()->rect()).contains(at) || run.latest == nullptr) {
        return std::nullopt;
    }
    const auto bin = [&](double exponent, double scale) {
        const int floor = static_cast<int>(std::floor(exponent));
        return PlottedNumber{std::exp2(floor), run.selectionIsScaled() ? std::optional<double>(scale) : std::nullopt,
                             powerOfTwo(floor)};
    };
    if (plot == m_spectrum) {
        return bin(m_spectrum->exponentAt(at.x()), m_spectrum->shownScale());
    }
    if (plot == m_waterfall) {
        const auto step = static_cast<std::size_t>(std::max(1.0, std::round(m_waterfall->stepOfPixel(at.x()))));
        if (step <= run.steps.size()) {
            return bin(m_waterfall->exponentAt(at.y()), static_cast<double>(run.steps[step - 1].scale));
        }
    }
    if (plot == m_whatIf && run.selectionIsScaled()) {
        // The largest magnitude that is flushed there.
        const double scale = std::exp2(std::round(std::log2(m_whatIf->scaleAt(at.x()))));
        const double edge = floatFormat(run.windowFormat()).flushUpTo / scale;
        return PlottedNumber{edge, scale, tr("%1, flushed at %2").arg(shortScaleText(edge), shortScaleText(scale))};
    }
    return std::nullopt;
}

QList<Plot*> PlotArea::allPlots() const { return {m_spectrum, m_waterfall, m_scale, m_loss, m_accuracy, m_whatIf}; }

QList<Plot*> PlotArea::plots() const
{
    QList<Plot*> shown = allPlots();
    if (m_accuracy->parentWidget()->isHidden()) {
        shown.removeOne(m_accuracy);
    }
    return shown;
}

// Nothing is classified by a language model.
void PlotArea::updateTask()
{
    const bool classes = m_controller.run().info.data.classes > 0;
    QWidget* card = m_accuracy->parentWidget();
    if (classes == !card->isHidden()) {
        return;
    }
    if (!classes && m_active == m_accuracy) {
        m_active = m_spectrum;
        emit activePlotChanged();
    }
    card->setVisible(classes);
    m_loss->setStepLabelsShown(!classes);
    resetSizes();
}

Plot* PlotArea::activePlot() const { return m_active; }

void PlotArea::refreshPlots()
{
    for (Plot* plot : plots()) {
        if (plot->isVisible()) {
            plot->refresh();
        }
    }
}

void PlotArea::showStep(qint64 step)
{
    if (step < 1) {
        return;
    }
    const QCPRange range = m_link.range();
    if (!range.contains(static_cast<double>(step))) {
        m_scrolledToStep = m_scrolledToStep || m_link.mode() == StepAxisLink::Mode::Follow;
        const double half = range.size() / 2;
        m_link.setRange(static_cast<double>(step) - half, static_cast<double>(step) + half);
    }
    m_link.setCrosshair(step);
    m_spectrum->freezeStep(std::optional<qint64>(step));
}

bool PlotArea::holdsStep() const { return m_spectrum->frozenStep().has_value(); }

void PlotArea::releaseStep()
{
    m_spectrum->freezeStep(std::nullopt);
    m_link.setCrosshair(std::nullopt); // also where the pointer rests on a plot of steps
    if (std::exchange(m_scrolledToStep, false)) {
        m_link.follow();
    }
}

void PlotArea::followNewest()
{
    m_spectrum->freezeStep(std::nullopt);
    m_link.setCrosshair(std::nullopt);
    m_scrolledToStep = false;
    m_link.follow();
}

void PlotArea::resetSizes()
{
    // The spectrum is the instrument's main view; the loss needs the least height.
    const int all = std::max(height() - 3 * handleWidth(), 400);
    if (m_accuracy->parentWidget()->isHidden()) {
        setSizes({all * 40 / 100, all * 23 / 100, all * 20 / 100, all * 17 / 100, 0});
    } else {
        setSizes({all * 34 / 100, all * 18 / 100, all * 16 / 100, all * 16 / 100, all * 16 / 100});
    }
    for (int i = 0; i < count(); ++i) {
        setStretchFactor(i, i == 0 ? 4 : i >= 3 ? 2 : 3);
    }
}

bool PlotArea::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::FocusIn) {
        // A click reaches only what is in view, which must not move away under it.
        const bool byKeyboard = static_cast<QFocusEvent*>(event)->reason() != Qt::MouseFocusReason;
        for (Plot* plot : plots()) {
            if (plot == watched && byKeyboard && isAncestorOf(plot)) {
                emit plotReached(plot);
            }
            if (plot == watched && plot != m_active) {
                m_active = plot;
                emit activePlotChanged();
            }
        }
    }
    return QSplitter::eventFilter(watched, event);
}

} // namespace halfscope
