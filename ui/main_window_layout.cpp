// SPDX-License-Identifier: GPL-3.0-or-later
// The panels around the plots, and where everything stands.
#include <QDockWidget>
#include <QResizeEvent>
#include <QScrollArea>
#include <QScrollBar>

#include "ui/main_window.h"
#include "ui/panels/advisor_panel.h"
#include "ui/panels/dock_title.h"
#include "ui/panels/events_panel.h"
#include "ui/panels/examples_panel.h"
#include "ui/panels/experiment_panel.h"
#include "ui/panels/layers_panel.h"
#include "ui/panels/number_panel.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/scaler_panel.h"
#include "ui/panels/window_actions.h"
#include "ui/session_controller.h"
#include "ui/settings/window_placement.h"

namespace halfscope {

namespace {

constexpr QSize kFirstSize(1600, 980);
constexpr int kHighWindow = 1150; // pixels: from here on one more panel is in view

constexpr int kLeastRight = 330; // of the panels on the right

// What the plots should have of a window's width.
int plotsOf(int width) { return std::max(width * 39 / 100, 560); }

QScrollArea* scrolling(QWidget* panel)
{
    auto* area = new QScrollArea;
    area->setWidget(panel);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus); // its fields take the keyboard
    // Never narrower than its fields: there is no scroll bar to reach what would be cut off.
    area->setMinimumWidth(panel->minimumSizeHint().width() + area->verticalScrollBar()->sizeHint().width());
    return area;
}

} // namespace

void MainWindow::buildDocks()
{
    m_scaler = new ScalerPanel(*m_controller);
    m_experiment = new ExperimentPanel(*m_controller);
    m_layers = new LayersPanel(*m_controller);
    m_events = new EventsPanel(*m_controller);
    m_advisor = new AdvisorPanel(*m_controller, {m_actions->stepStatistics, m_actions->stepFp32, m_actions->stepHalve,
                                                 m_actions->stepSensitive, m_actions->stepCompare});
    m_number = new NumberPanel(*m_controller);
    m_examples = new ExamplesPanel(*m_controller);
    const auto dock = [this](const char* id, const QString& title, QWidget* content, const char* shortcut) {
        auto* made = new QDockWidget(title, this);
        made->setObjectName(QLatin1String(id));
        made->setTitleBarWidget(new DockTitle(made));
        made->setWidget(content);
        made->setAccessibleName(title);
        QAction* toggle = made->toggleViewAction();
        toggle->setStatusTip(tr("Show or hide this panel"));
        m_actions->adopt(m_actions->panelsMenu, toggle, QKeySequence(QLatin1String(shortcut)));
        m_docks << made;
        return made;
    };
    m_dock.scaler = dock("scaler", tr("Loss scaler"), scrolling(m_scaler), "Ctrl+Alt+1");
    m_dock.experiment = dock("experiment", tr("Experiment"), scrolling(m_experiment), "Ctrl+Alt+2");
    m_dock.layers = dock("layers", tr("Layers"), m_layers, "Ctrl+Alt+3");
    m_dock.events = dock("events", tr("Events"), m_events, "Ctrl+Alt+4");
    m_dock.advisor = dock("advisor", tr("Advisor"), m_advisor, "Ctrl+Alt+7");
    m_dock.whatIf = dock("what-if", tr("What if"), m_plots->whatIfCard(), "Ctrl+Alt+5");
    m_dock.number = dock("number", tr("Number inspector"), m_number, "Ctrl+Alt+6");
    m_dock.examples = dock("examples", tr("Examples"), scrolling(m_examples), "Ctrl+Alt+8");
    setTabPosition(Qt::RightDockWidgetArea, QTabWidget::North);
    auto* whatIfTitle = static_cast<DockTitle*>(m_dock.whatIf->titleBarWidget());
    const auto describe = [this, whatIfTitle] { whatIfTitle->setDetail(m_plots->selectionTitle()); };
    connect(m_plots, &PlotArea::titlesChanged, whatIfTitle, describe);
    describe();
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    placeDocks();
}

void MainWindow::placeDocks()
{
    // Hidden until they are tabs: one above the other they would want more height than a small screen has.
    for (QDockWidget* dock : std::as_const(m_docks)) {
        dock->setFloating(false);
        dock->hide();
        const bool left = dock == m_dock.scaler || dock == m_dock.experiment;
        addDockWidget(left ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea, dock);
    }
    // Under the layers: what to do about it, what happened, what if, and the inspector. A high window has one more
    // place.
    const bool high = height() >= kHighWindow;
    tabifyDockWidget(m_dock.advisor, m_dock.events);
    if (!high) {
        tabifyDockWidget(m_dock.events, m_dock.whatIf);
    }
    tabifyDockWidget(m_dock.whatIf, m_dock.number);
    // Examples want as much room as the layers.
    tabifyDockWidget(m_dock.layers, m_dock.examples);
    for (QDockWidget* dock : m_docks) {
        dock->show();
    }
    m_dock.advisor->raise();
    if (high) {
        m_dock.whatIf->raise();
    }
    (m_controller->run().info.data.classes > 0 ? m_dock.examples : m_dock.layers)->raise();
    const int left = std::clamp(width() * 19 / 100, 250, 300);
    // The whole table of layers where there is room for it; the plots keep the larger part.
    const int right =
        std::clamp(m_layers->wantedWidth(), kLeastRight, std::max(kLeastRight, width() - left - plotsOf(width())));
    resizeDocks({m_dock.scaler, m_dock.layers}, {left, right}, Qt::Horizontal);
    resizeDocks({m_dock.scaler, m_dock.experiment},
                {m_scaler->sizeHint().height() + 40, m_experiment->sizeHint().height() + 40}, Qt::Vertical);
    if (high) {
        resizeDocks({m_dock.layers, m_dock.advisor, m_dock.whatIf}, {560, 260, 300}, Qt::Vertical);
    } else {
        resizeDocks({m_dock.layers, m_dock.advisor}, {600, 300}, Qt::Vertical);
    }
}

// A window that is made narrower loses it in its middle alone. The plots are worth more than the columns of a table
// that can be scrolled: those give way, by no more than was lost.
void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    const int lost = event->oldSize().width() - event->size().width();
    if (!isVisible() || lost <= 0) {
        return;
    }
    QMetaObject::invokeMethod(
        this,
        [this, lost] {
            const int missing = std::min(lost, plotsOf(width()) - centralWidget()->width());
            for (QDockWidget* dock : std::as_const(m_docks)) {
                if (missing > 0 && dock->isVisible() && !dock->isFloating() &&
                    dockWidgetArea(dock) == Qt::RightDockWidgetArea) {
                    resizeDocks({dock}, {std::max(kLeastRight, dock->width() - missing)}, Qt::Horizontal);
                    break; // the others of the area are as wide
                }
            }
        },
        Qt::QueuedConnection); // when the layout has settled
}

void MainWindow::restoreLayout()
{
    resize(kFirstSize);
    const QByteArray geometry = m_settings.windowGeometry();
    if (geometry.isEmpty() || !restoreGeometry(geometry)) {
        const QRect home = screenAreas().value(0);
        if (home.isValid()) {
            resize(size().boundedTo(home.size()));
        }
    }
    const QByteArray state = m_settings.windowState();
    if (!state.isEmpty() && !restoreState(state, Settings::kLayoutVersion)) {
        placeDocks();
    }
    m_layers->restoreHeaderState(m_settings.layersHeader());
    const QByteArray splitter = m_settings.centralSplitter();
    if (!splitter.isEmpty() && !m_plots->restoreState(splitter)) {
        m_plots->resetSizes();
    }
    setGeometry(placedOnScreens(this->geometry(), screenAreas()));
}

void MainWindow::resetLayout()
{
    m_settings.forgetLayout();
    if (isFullScreen() || isMaximized()) {
        showNormal();
    }
    placeDocks();
    m_plots->resetSizes();
    setGeometry(placedOnScreens(geometry(), screenAreas()));
}

} // namespace halfscope
