// SPDX-License-Identifier: GPL-3.0-or-later
// The window: puts panels, plots and actions together and connects them. What they do is their own business.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QPointer>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/train/engine.h"
#include "ui/dialogs/picture_dialog.h"
#include "ui/settings/settings.h"

class QLabel;
class QScrollArea;
class QToolButton;

namespace halfscope {

class AdvisorPanel;
class BannerStack;
class ChangeHistory;
class CompareDialog;
class ElidedLabel;
class EventsPanel;
class ExamplesPanel;
class ExperimentPanel;
class ExportDialog;
class LayersPanel;
class MachineDialog;
class NewRunDialog;
class NumberPanel;
class Plot;
class PlotArea;
class ScalerPanel;
class ScheduleDialog;
class SessionController;
struct Finding;
class TextOpener;
class UpdatesDialog;
class WindowActions;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    // Makes the engine of a run; called again for every new run and text.
    using EngineFactory = std::function<std::unique_ptr<Engine>(const RunConfig&)>;

    // Training begins at once. `settings` must outlive the window.
    MainWindow(EngineFactory factory, const RunConfig& config, Settings& settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    SessionController& controller() const { return *m_controller; }
    PlotArea& plots() const { return *m_plots; }
    BannerStack& banners() const { return *m_banners; }
    LayersPanel& layers() const { return *m_layers; }
    EventsPanel& events() const { return *m_events; }
    ExamplesPanel& examples() const { return *m_examples; }
    AdvisorPanel& advisor() const { return *m_advisor; }
    WindowActions& actions() const { return *m_actions; }
    ChangeHistory& history() const { return *m_history; }
    NumberPanel& numberPanel() const { return *m_number; }

    void openText(const QString& path);    // checks the file beside the window, then starts a run on it
    void openDropped(const QString& path); // likewise, a file or folder, on the task that fits it
    void startRun(const RunConfig& config);
    void refreshNow(); // everything shows the newest data, as for a picture

protected:
    void showEvent(QShowEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    static inline const QString kExport = QStringLiteral("export"); // the banner about files that were written
    static inline const QString kTextRefused =
        QStringLiteral("text-refused"); // the one about files that cannot be used

    void focusMoved(const QWidget* from, const QWidget* to);
    void buildDocks();
    void buildStatusBar();
    void connectActions();
    void connectPlotActions();
    void connectFocusActions();
    void connectExampleActions();
    void updateExampleActions();
    void connectAdvisor();
    void raiseDock(const QWidget* inside);
    void showFinding(const Finding& finding);
    void updateAdvice();
    void updateDebugSteps(bool over);
    void connectEditActions();
    void updateHistory();
    void inspect(double value, std::optional<double> scale);
    void inspectHere();
    void restoreLayout();
    void resetLayout();
    void placeDocks();
    void applyTheme();
    void updateActions();
    void updateStatus();
    void measureWhatIsShown();
    void showHint();
    void updateHint();
    void updateFollow();
    void showWritten(const QString& text, const QString& folder);

    void chooseText();
    void refuseData(const QString& why);
    NewRunDialog* showNewRun();
    void showExport();
    void savePlot(Plot* plot, QWidget* owner);
    void savePicture(Plot* plot, QWidget* owner);
    void showCompare();
    void updateCompare();
    void showMachine();
    void showSchedule();
    void showUpdates();
    void wantMachine(bool wanted); // the run pauses while somebody measures
    void showRunSteps();
    void showShortcuts();
    void copyScaler(const QAction* action);

    EngineFactory m_factory;
    Settings& m_settings;
    std::unique_ptr<SessionController> m_controller;
    std::unique_ptr<WindowActions> m_actions;
    ChangeHistory* m_history;
    TextOpener* m_opener;
    BannerStack* m_banners;
    PlotArea* m_plots;
    QScrollArea* m_plotScroll = nullptr;
    ScalerPanel* m_scaler = nullptr;
    ExperimentPanel* m_experiment = nullptr;
    LayersPanel* m_layers = nullptr;
    EventsPanel* m_events = nullptr;
    ExamplesPanel* m_examples = nullptr;
    AdvisorPanel* m_advisor = nullptr;
    NumberPanel* m_number = nullptr;
    QList<QDockWidget*> m_docks; // all of them, in the order of the menu
    struct {
        QDockWidget* scaler = nullptr;
        QDockWidget* experiment = nullptr;
        QDockWidget* layers = nullptr;
        QDockWidget* events = nullptr;
        QDockWidget* advisor = nullptr;
        QDockWidget* whatIf = nullptr;
        QDockWidget* number = nullptr;
        QDockWidget* examples = nullptr;
    } m_dock;
    std::string m_task; // of the run before
    QPointer<ExportDialog> m_export;
    QPointer<CompareDialog> m_compare;
    QPointer<MachineDialog> m_machine;
    QPointer<ScheduleDialog> m_schedule;
    QPointer<UpdatesDialog> m_updates;
    int m_machineUsers = 0;
    bool m_pausedForMachine = false;
    QToolButton* m_statusAdvice = nullptr;
    QLabel* m_statusState = nullptr;
    ElidedLabel* m_statusCost = nullptr;
    QLabel* m_statusMemory = nullptr;
    std::optional<MemoryRoom> m_machineMemory; // about a second ago
    QElapsedTimer m_sinceMemory;
    PictureChoice m_picture; // the last one saved
    int m_lastRunSteps = 100;
    bool m_placed = false;
    bool m_hintWanted = false;
};

} // namespace halfscope
