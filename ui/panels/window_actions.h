// SPDX-License-Identifier: GPL-3.0-or-later
// Every action of the window: in a menu, with a shortcut. The shortcut sheet is made from this list.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QList>

#include "ui/panels/icons.h"

class QMainWindow;
class QMenu;

namespace halfscope {

class WindowActions {
public:
    // Makes the actions and the menus of `window`'s menu bar. What they do is connected by the window.
    explicit WindowActions(QMainWindow& window);

    struct Group {
        QString title;
        QList<QAction*> actions;
    };
    const QList<Group>& groups() const { return m_groups; } // in the order of the menus

    // Run
    QAction* pause;
    QAction* step;
    QAction* runSteps;
    QAction* restart;
    QAction* newSeed;
    QAction* continueRun; // a failed one
    QAction* device;
    QAction* newRun;
    QAction* spike;
    QAction* badBatch;
    QAction* rateJump;
    // File
    QAction* openText;
    QAction* defaultText;
    QAction* exportRun;
    QAction* exportPlot;
    QAction* copyPlot;
    QAction* quit;
    // Edit
    QAction* undo; // says what
    QAction* redo;
    QAction* selectLayers;
    QList<QAction*> formatActions; // of the selected layers; data(): the format's key
    QAction* inspect;
    // Scaler
    QAction* doubleScale;
    QAction* halveScale;
    QAction* pytorchDefaults;
    QList<QAction*> copyScalerActions; // data(): RecipeFor
    QMenu* copyScalerMenu;
    QList<QAction*> scalerPresetActions; // data(): the preset's key
    QList<QAction*> precisionActions;    // data(): the preset's key
    // Advisor
    QAction* adviceApply;
    QAction* adviceShow;
    QAction* adviceDismiss;
    QAction* stepStatistics; // steps of debugging; iconText() is that of their buttons
    QAction* stepFp32;
    QAction* stepHalve;
    QAction* stepSensitive;
    QAction* stepCompare; // with FP32's gradients
    QAction* shadowRun;
    QAction* precisionSchedule;
    QAction* masterWeights; // on, off
    QAction* scalePerModule;
    // Examples
    QAction* validate;
    QAction* previousExample;
    QAction* nextExample;
    QAction* nextWrong;
    QAction* copyConfusion;
    QAction* writeText;
    QAction* swapHead;
    // View
    QList<QAction*> tapActions; // data(): Tap
    QAction* allLayers;
    QAction* worstFirst;
    QAction* modelOrder;
    QAction* scaledAxis;
    QAction* logLoss;
    QAction* zoomIn;
    QAction* zoomOut;
    QAction* panLeft;
    QAction* panRight;
    QAction* resetPlot;
    QAction* wholeRun;
    QAction* follow;
    QAction* releaseStep; // enabled while one is held: otherwise Esc belongs to whoever has the keyboard
    QAction* previousStep;
    QAction* nextStep;
    QAction* copyLayers;
    QAction* copyEvents;
    QList<QAction*> themeActions; // data(): Settings::Theme
    QList<QAction*> focusActions; // plots, scaler, experiment, layers, events, advisor, what-if, number inspector
    QAction* resetLayout;
    QAction* fullScreen;
    // Tools
    QAction* compareFormats;
    QAction* thisMachine;
    QAction* weightUpdates;
    // Help
    QAction* shortcuts;
    QAction* hint;
    QAction* about;

    QMenu* panelsMenu; // the docks' own actions are added by the window
    QMenu* plotMenu;   // of the plots' context menu
    // An action made elsewhere, as the docks' are, joins a menu and its group.
    void adopt(QMenu* menu, QAction* action, const QKeySequence& shortcut);

private:
    QAction* add(QMenu* menu, const QString& text, const QKeySequence& shortcut, const QString& help);
    QAction* addCheckable(QMenu* menu, const QString& text, const QKeySequence& shortcut, const QString& help);
    QMenu* addMenu(const QString& title);
    void buildFile();
    void buildEdit();
    void buildRun();
    void buildScaler();
    void buildAdvisor();
    void buildExamples();
    void buildView();
    void buildTools();
    void buildHelp();

    QMainWindow& m_window;
    QList<Group> m_groups;
};

} // namespace halfscope
