// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QScrollArea>
#include <QStatusBar>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "engine/amp/scaler_recipe.h"
#include "engine/data/dataset_registry.h"
#include "engine/train/settings_registry.h"
#include "engine/train/task.h"
#include "ui/change_history.h"
#include "ui/compare/compare_dialog.h"
#include "ui/dialogs/about_dialog.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/machine_dialog.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/dialogs/schedule_dialog.h"
#include "ui/dialogs/text_opener.h"
#include "ui/dialogs/updates_dialog.h"
#include "ui/models/shown_precision.h"
#include "ui/number_text.h"
#include "ui/panels/advisor_panel.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/examples_panel.h"
#include "ui/panels/experiment_panel.h"
#include "ui/panels/focus_ring.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/run_notices.h"
#include "ui/panels/run_toolbar.h"
#include "ui/panels/scaler_panel.h"
#include "ui/panels/status_text.h"
#include "ui/panels/window_actions.h"
#include "ui/panels/window_style.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/loss_plot.h"
#include "ui/plots/plot_export.h"
#include "ui/plots/scale_plot.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/plots/waterfall_plot.h"
#include "ui/plots/what_if_plot.h"
#include "ui/session_controller.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr qint64 kMemoryLookMs = 1000;
const auto kHint = QStringLiteral("hint");
const auto kCopied = QStringLiteral("copied");

ThemeChoice themeChoice(Settings::Theme theme)
{
    switch (theme) {
    case Settings::Theme::Light:
        return ThemeChoice::Light;
    case Settings::Theme::Dark:
        return ThemeChoice::Dark;
    case Settings::Theme::System:
        break;
    }
    return ThemeChoice::System;
}

// A text is learnt by a language model, whatever the task was before.
RunConfig textConfig(const RunConfig& config, const std::string& path)
{
    const TaskInfo* task = findTask(config.task);
    return configForTask(config, task != nullptr && task->usesText ? *task : tasks().front(), path);
}

} // namespace

MainWindow::MainWindow(EngineFactory factory, const RunConfig& config, Settings& settings, QWidget* parent)
    : QMainWindow(parent),
      m_factory(std::move(factory)),
      m_settings(settings),
      m_controller(std::make_unique<SessionController>(m_factory(config))),
      m_actions(std::make_unique<WindowActions>(*this)),
      m_history(new ChangeHistory(*m_controller, this)),
      m_opener(new TextOpener(this)),
      m_banners(new BannerStack),
      m_plots(new PlotArea(*m_controller))
{
    ThemeManager::instance().setChoice(themeChoice(m_settings.theme()));
    setWindowTitle(tr("HalfScope"));
    setObjectName(QStringLiteral("main-window"));
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);

    addToolBar(new RunToolbar(*m_controller, *m_actions, this));
    auto* middle = new QWidget;
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(2, 6, 2, 2);
    column->setSpacing(8);
    column->addWidget(m_banners);
    // Plots keep the height that makes them useful; a small window scrolls them.
    m_plotScroll = new QScrollArea;
    m_plotScroll->setObjectName(QStringLiteral("plot-scroll"));
    m_plotScroll->setWidget(m_plots);
    m_plotScroll->setWidgetResizable(true);
    m_plotScroll->setFrameShape(QFrame::NoFrame);
    m_plotScroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_plotScroll->setFocusPolicy(Qt::NoFocus);
    m_plotScroll->setMinimumWidth(m_plots->minimumSizeHint().width());
    connect(m_plots, &PlotArea::plotReached, this, [this](Plot* plot) {
        // All of it, or its beginning.
        const QRect card = plot->parentWidget()->geometry();
        m_plotScroll->ensureVisible(card.left(), card.bottom(), 0, 0);
        m_plotScroll->ensureVisible(card.left(), card.top(), 0, 0);
    });
    column->addWidget(m_plotScroll, 1);
    setCentralWidget(middle);
    buildDocks();
    buildStatusBar();
    const QList<Plot*> plots = m_plots->allPlots();
    new FocusRing(QList<QWidget*>(plots.begin(), plots.end()), m_plots); // goes with them
    auto* notices = new RunNotices(*m_controller, *m_banners, this);
    connect(notices, &RunNotices::newRunRequested, this, &MainWindow::showNewRun);
    connect(notices, &RunNotices::openTextRequested, this, &MainWindow::chooseText);

    connectActions();
    connectPlotActions();
    connectFocusActions();
    connectExampleActions();
    connectAdvisor();
    connectEditActions();
    connect(m_controller.get(), &SessionController::liveChanged, this, &MainWindow::updateActions);
    connect(m_controller.get(), &SessionController::selectionChanged, this, &MainWindow::updateActions);
    connect(m_controller.get(), &SessionController::runStarted, this, &MainWindow::updateActions);
    connect(m_controller.get(), &SessionController::runStarted, this, [this] {
        m_banners->hide(kExport);
        m_banners->hide(kCopied);
    });
    connect(m_controller.get(), &SessionController::liveChanged, this, &MainWindow::updateHint);
    connect(m_controller.get(), &SessionController::pendingChanged, this, [this](const QString& key) {
        // Whoever moves the scale has found what the hint is about.
        if (key == QLatin1String("scale") && !m_banners->text(kHint).isEmpty()) {
            m_settings.setHintDismissed(true);
            m_hintWanted = false;
            updateHint();
        }
    });
    connect(m_controller.get(), &SessionController::selectionChanged, this, &MainWindow::measureWhatIsShown);
    connect(m_controller.get(), &SessionController::stepsAdded, this, &MainWindow::updateStatus);
    connect(&ThemeManager::instance(), &ThemeManager::changed, this, &MainWindow::applyTheme);
    connect(m_opener, &TextOpener::accepted, this, [this](const QString& task, const QString& path) {
        const RunConfig& now = m_controller->run().live.config;
        const TaskInfo* found = findTask(task.toStdString());
        const RunConfig next = found == nullptr || found->usesText ? textConfig(now, path.toStdString())
                                                                   : configForTask(now, *found, path.toStdString());
        if (const std::vector<std::string> problems = validate(next); !problems.empty()) {
            refuseData(QString::fromStdString(problems.front()));
            return;
        }
        m_banners->hide(kTextRefused);
        startRun(next);
    });
    connect(m_opener, &TextOpener::refused, this, &MainWindow::refuseData);
    connect(m_banners, &BannerStack::dismissed, this, [this](const QString& id) {
        if (id == kHint) {
            m_hintWanted = false;
            m_settings.setHintDismissed(true);
        }
    });

    connect(qApp, &QApplication::focusChanged, this, &MainWindow::focusMoved);

    applyTheme();
    restoreLayout();
    if (!m_settings.hintDismissed()) {
        showHint();
    }
    updateActions();
    m_plots->spectrum()->setFocus();
}

MainWindow::~MainWindow()
{
    disconnect(qApp, nullptr, this, nullptr);
    // Everything that listens to the controller goes while it is still there.
    delete m_compare;
    delete m_machine;
    delete m_schedule;
    delete m_updates;
    delete takeCentralWidget();
    qDeleteAll(m_docks);
}

// When what has the keyboard goes or turns grey, Qt hands the keyboard to whatever is next, and that may be a button
// with which the space bar injects something. The plots take it instead.
void MainWindow::focusMoved(const QWidget* from, const QWidget* to)
{
    const bool byItself = from != nullptr && isAncestorOf(from) && (!from->isVisible() || !from->isEnabled());
    if (byItself && qobject_cast<const QAbstractButton*>(to) != nullptr && isAncestorOf(to)) {
        m_plots->activePlot()->setFocus();
    }
}

void MainWindow::buildStatusBar()
{
    m_statusState = new QLabel;
    m_statusCost = new ElidedLabel;
    m_statusMemory = new QLabel;
    m_statusCost->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_statusCost->setAccessibleName(tr("Time of a step"));
    m_statusMemory->setAccessibleName(tr("Memory"));
    for (QLabel* label : {m_statusState, static_cast<QLabel*>(m_statusCost), m_statusMemory}) {
        label->setProperty("dim", true);
        label->setContentsMargins(8, 0, 8, 0);
        statusBar()->addPermanentWidget(label, label == m_statusCost ? 1 : 0);
    }
    m_statusAdvice = new QToolButton;
    m_statusAdvice->setObjectName(QStringLiteral("status-advice"));
    m_statusAdvice->setAutoRaise(true);
    m_statusAdvice->setFocusPolicy(Qt::TabFocus);
    statusBar()->insertPermanentWidget(0, m_statusAdvice);
    statusBar()->setSizeGripEnabled(false);
}

void MainWindow::connectActions()
{
    const WindowActions& a = *m_actions;
    SessionController* run = m_controller.get();
    connect(a.pause, &QAction::triggered, run, &SessionController::togglePause);
    connect(a.step, &QAction::triggered, run, [run] { run->runSteps(1); });
    connect(a.runSteps, &QAction::triggered, this, &MainWindow::showRunSteps);
    connect(a.restart, &QAction::triggered, run, [run] { run->restart(false); });
    connect(a.newSeed, &QAction::triggered, run, [run] { run->restart(true); });
    connect(a.device, &QAction::triggered, this, [this] { showNewRun()->showDevice(); });
    connect(a.continueRun, &QAction::triggered, run, &SessionController::continueRun);
    connect(a.newRun, &QAction::triggered, this, &MainWindow::showNewRun);
    connect(a.spike, &QAction::triggered, m_experiment, &ExperimentPanel::injectSpike);
    connect(a.badBatch, &QAction::triggered, m_experiment, &ExperimentPanel::injectBadBatch);
    connect(a.rateJump, &QAction::triggered, m_experiment, &ExperimentPanel::injectLearningRateJump);
    connect(a.openText, &QAction::triggered, this, &MainWindow::chooseText);
    connect(a.defaultText, &QAction::triggered, this,
            [this] { startRun(textConfig(m_controller->run().live.config, {})); });
    connect(a.exportRun, &QAction::triggered, this, &MainWindow::showExport);
    connect(a.quit, &QAction::triggered, this, &QWidget::close);
    connect(a.doubleScale, &QAction::triggered, m_scaler, &ScalerPanel::doubleScale);
    connect(a.halveScale, &QAction::triggered, m_scaler, &ScalerPanel::halve);
    m_scaler->setCopyMenu(a.copyScalerMenu);
    for (QAction* action : a.copyScalerActions) {
        connect(action, &QAction::triggered, this, [this, action] { copyScaler(action); });
    }
    connect(a.pytorchDefaults, &QAction::triggered, m_scaler, &ScalerPanel::usePyTorchDefaults);
    for (QAction* action : a.scalerPresetActions) {
        connect(action, &QAction::triggered, run,
                [run, action] { run->setSetting(QStringLiteral("scaler"), action->data().toString()); });
    }
    for (QAction* action : a.precisionActions) {
        connect(action, &QAction::triggered, run,
                [run, action] { run->setSetting(QStringLiteral("precision"), action->data().toString()); });
    }
    for (QAction* action : a.themeActions) {
        const auto theme = static_cast<Settings::Theme>(action->data().toInt());
        action->setChecked(theme == m_settings.theme());
        connect(action, &QAction::triggered, this, [this, theme] {
            m_settings.setTheme(theme);
            ThemeManager::instance().setChoice(themeChoice(theme));
        });
    }
    connect(a.resetLayout, &QAction::triggered, this, &MainWindow::resetLayout);
    connect(a.fullScreen, &QAction::toggled, this, [this](bool on) { on ? showFullScreen() : showNormal(); });
    connect(a.compareFormats, &QAction::triggered, this, &MainWindow::showCompare);
    connect(a.thisMachine, &QAction::triggered, this, &MainWindow::showMachine);
    connect(a.weightUpdates, &QAction::triggered, this, &MainWindow::showUpdates);
    connect(a.precisionSchedule, &QAction::triggered, this, &MainWindow::showSchedule);
    const auto toggles = [run](QAction* action, const QString& key) {
        connect(action, &QAction::triggered, run,
                [run, key](bool on) { run->setSetting(key, on ? QStringLiteral("on") : QStringLiteral("off")); });
    };
    toggles(a.masterWeights, QStringLiteral("master-weights"));
    toggles(a.scalePerModule, QStringLiteral("scale-per-module"));
    connect(run, &SessionController::liveChanged, this, &MainWindow::updateCompare);
    connect(a.shortcuts, &QAction::triggered, this, &MainWindow::showShortcuts);
    connect(a.hint, &QAction::triggered, this, &MainWindow::showHint);
    connect(a.about, &QAction::triggered, this, [this] {
        auto* dialog = new AboutDialog(QString::fromStdString(m_controller->run().info.backend), this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->open();
    });
    connect(m_experiment, &ExperimentPanel::newRunRequested, this, &MainWindow::showNewRun);
    connect(m_experiment, &ExperimentPanel::openTextRequested, this, &MainWindow::chooseText);
    connect(a.worstFirst, &QAction::triggered, m_layers, &LayersPanel::setWorstFirst);
    connect(m_layers, &LayersPanel::worstFirstChanged, a.worstFirst, &QAction::setChecked);
    connect(a.modelOrder, &QAction::triggered, m_layers, &LayersPanel::useModelOrder);
    connect(m_plots, &PlotArea::heldStepChanged, m_layers,
            [this] { m_layers->setStepHeld(m_plots->spectrum()->frozenStep().has_value()); });
    connect(a.allLayers, &QAction::triggered, m_layers, &LayersPanel::clearFilter);
    connect(a.copyLayers, &QAction::triggered, m_layers, &LayersPanel::copy);
    connect(a.copyEvents, &QAction::triggered, m_events, &EventsPanel::copy);
    connect(m_events, &EventsPanel::eventChosen, this, [this](qint64 step, int module, int tap) {
        TapSelection selection = m_controller->run().selection;
        if (module >= 0) {
            selection.modules = {module};
            selection.name.clear();
        }
        if (tap >= 0) {
            selection.tap = static_cast<Tap>(tap);
        }
        m_controller->select(selection);
        m_plots->showStep(step);
    });
}

void MainWindow::copyScaler(const QAction* action)
{
    const RunConfig& config = m_controller->run().live.config;
    const Recipe recipe =
        scalerRecipe(static_cast<RecipeFor>(action->data().toInt()), config.scaler, config.optimizer.learningRate);
    QApplication::clipboard()->setText(QString::fromStdString(recipe.text));
    const QString copied = tr("Copied: the scaler's settings as %1").arg(action->text().remove(QLatin1Char('&')));
    statusBar()->showMessage(copied, 4000);
    if (recipe.differences.empty()) {
        m_banners->hide(kCopied);
        return;
    }
    QStringList differences;
    for (const std::string& one : recipe.differences) {
        differences << QString::fromStdString(one);
    }
    m_banners->show(kCopied, BannerStack::Kind::Info,
                    tr("%1. There it works differently: %2.").arg(copied, differences.join(QStringLiteral("; "))));
}

void MainWindow::applyTheme() { setStyleSheet(windowStyleSheet(currentTheme())); }

void MainWindow::updateActions()
{
    const LiveState& live = m_controller->run().live;
    const WindowActions& a = *m_actions;
    const bool running = live.state == EngineState::Running || live.state == EngineState::Starting;
    const bool over = live.state == EngineState::Failed || live.state == EngineState::Finished;
    a.pause->setText(running ? tr("&Pause") : tr("&Resume"));
    a.pause->setIconText(running ? tr("Pause") : tr("Resume"));
    a.pause->setIcon(glyphIcon(running ? Glyph::Pause : Glyph::Play));
    for (QAction* action : {a.pause, a.step, a.runSteps, a.spike, a.badBatch, a.rateJump}) {
        action->setEnabled(!over);
    }
    a.continueRun->setEnabled(live.canContinue);
    const ScalerConfig& scaler = live.config.scaler;
    a.doubleScale->setEnabled(scaler.enabled && !over);
    a.halveScale->setEnabled(scaler.enabled && !over);
    for (QAction* action : a.scalerPresetActions) {
        action->setChecked(action->data().toString() == QString::fromStdString(scaler.preset));
    }
    const ShownPrecision precision = shownPrecision(m_controller->run());
    for (QAction* action : a.precisionActions) {
        action->setChecked(!precision.changed && action->data().toString() == QString::fromStdString(precision.preset));
    }
    a.masterWeights->setChecked(live.config.weightStorage.master);
    a.scalePerModule->setChecked(live.config.scalePerModule);
    const TapSelection& selection = m_controller->run().selection;
    for (QAction* action : a.tapActions) {
        action->setChecked(action->data().toInt() == static_cast<int>(selection.tap));
    }
    a.releaseStep->setEnabled(m_plots->holdsStep());
    updateDebugSteps(over);
    updateExampleActions();
    a.allLayers->setEnabled(!selection.modules.empty());
    a.scaledAxis->setEnabled(m_controller->run().selectionIsScaled());
    updateStatus();
}

// Some taps are not measured unless somebody looks at them.
void MainWindow::measureWhatIsShown()
{
    const RunModel& run = m_controller->run();
    const auto turnOn = [this](const QString& key) {
        if (!m_controller->isPending(key)) {
            m_controller->setSetting(key, QStringLiteral("on"), Origin::Window);
        }
    };
    if (run.selection.tap == Tap::Activation && !run.live.config.measureActivations) {
        turnOn(QStringLiteral("activations"));
    } else if (run.selection.tap == Tap::ActivationGrad && !run.live.config.measureActivationGrads) {
        turnOn(QStringLiteral("activation-grads"));
    }
}

void MainWindow::updateStatus()
{
    const RunModel& run = m_controller->run();
    m_statusState->setText(stateText(run));
    const StepTime time = recentStepTime(run);
    const QString whole = stepTimeText(time);
    const bool fits = m_statusCost->fontMetrics().horizontalAdvance(whole) <= m_statusCost->contentsRect().width();
    m_statusCost->setText(fits ? whole : briefStepTimeText(time));
    m_statusCost->setDetail(stepTimeDetail(time));
    if (!m_sinceMemory.isValid() || m_sinceMemory.elapsed() > kMemoryLookMs) {
        m_machineMemory = machineMemory();
        m_sinceMemory.start();
    }
    const std::optional<MemoryRoom>& room = run.live.deviceMemory ? run.live.deviceMemory : m_machineMemory;
    m_statusMemory->setText(memoryText(run, room));
    m_statusMemory->setToolTip(memoryDetail(run, room));
}

void MainWindow::showHint()
{
    m_hintWanted = true;
    updateHint();
}

void MainWindow::updateHint()
{
    // There is nothing to drag in a run that has failed.
    if (!m_hintWanted || m_controller->state() == EngineState::Failed) {
        m_banners->hide(kHint);
        return;
    }
    m_banners->show(kHint, BannerStack::Kind::Hint,
                    tr("Drag the shaded window in the spectrum: it sets the loss scale. Too far left, gradients "
                       "overflow and steps are skipped; too far right, they turn to zero."),
                    tr("Gradient spike"), [this] { m_experiment->injectSpike(); });
}

void MainWindow::startRun(const RunConfig& config)
{
    m_controller->replaceEngine(m_factory(config));
    m_history->clear();
    if (m_machineUsers > 0) { // as the run before it: somebody measures
        m_pausedForMachine = true;
        m_controller->pause();
    }
}

void MainWindow::refreshNow()
{
    m_controller->poll();
    m_layers->refreshNow();
    m_advisor->refreshNow();
    for (Plot* plot : m_plots->plots()) {
        plot->refresh();
        plot->replot(QCustomPlot::rpImmediateRefresh);
    }
    updateActions();
}

// Sizes mean something once the window has its own.
void MainWindow::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    if (!m_placed) {
        m_placed = true;
        if (m_settings.windowState().isEmpty()) {
            placeDocks();
        }
        if (m_settings.centralSplitter().isEmpty()) {
            m_plots->resetSizes();
        }
    }
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_settings.setWindow(saveGeometry(), saveState(Settings::kLayoutVersion));
    m_settings.setLayersHeader(m_layers->headerState());
    m_settings.setCentralSplitter(m_plots->saveState());
    m_settings.flush();
    delete m_export;  // ends an export that is being written; its files are then as they were
    delete m_compare; // ends the run under way; those before it are saved
    delete m_machine;
    delete m_schedule;
    delete m_updates;
    event->accept();
    QMainWindow::closeEvent(event);
}

// What cannot be used is let go of here as well, and said to be.
void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls()) {
        event->acceptProposedAction();
    }
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    event->acceptProposedAction();
    if (urls.size() != 1) {
        refuseData(tr("Drop one thing at a time: a text, a CSV table of label and text, an IDX file of images, or a "
                      "folder with such files."));
    } else if (!urls.first().isLocalFile()) {
        refuseData(tr("%1 is not on this machine; save it here and drop the file.").arg(urls.first().toString()));
    } else {
        openDropped(urls.first().toLocalFile());
    }
}

} // namespace halfscope
