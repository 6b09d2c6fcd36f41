// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/window_actions.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

#include "engine/amp/scaler_recipe.h"
#include "engine/model/precision_plan.h"
#include "engine/train/telemetry.h"
#include "ui/models/scaler_text.h"
#include "ui/models/setting_choices.h"
#include "ui/models/setting_labels.h"
#include "ui/settings/settings.h"

namespace halfscope {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Action", text); }

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QKeySequence keys(const char* text) { return QKeySequence(QString::fromLatin1(text)); }
// The number-th choice after a first key: 1 to 9, then A to Z.
QKeySequence chord(const char* first, qsizetype number)
{
    const QChar second(static_cast<char16_t>(number < 10 ? u'0' + number : u'A' + number - 10));
    return QKeySequence(QStringLiteral("%1, %2").arg(QString::fromLatin1(first), second));
}

} // namespace

WindowActions::WindowActions(QMainWindow& window) : m_window(window)
{
    buildFile();
    buildEdit();
    buildRun();
    buildScaler();
    buildAdvisor();
    buildExamples();
    buildView();
    buildTools();
    buildHelp();
}

QMenu* WindowActions::addMenu(const QString& title)
{
    QMenu* menu = m_window.menuBar()->addMenu(title);
    menu->setToolTipsVisible(true);
    m_groups.push_back({QString(title).remove(QLatin1Char('&')), {}});
    return menu;
}

QAction* WindowActions::add(QMenu* menu, const QString& text, const QKeySequence& shortcut, const QString& help)
{
    auto* action = new QAction(text, &m_window);
    adopt(menu, action, shortcut);
    action->setStatusTip(help);
    action->setToolTip(help);
    return action;
}

QAction* WindowActions::addCheckable(QMenu* menu, const QString& text, const QKeySequence& shortcut,
                                     const QString& help)
{
    QAction* action = add(menu, text, shortcut, help);
    action->setCheckable(true);
    return action;
}

void WindowActions::adopt(QMenu* menu, QAction* action, const QKeySequence& shortcut)
{
    action->setShortcut(shortcut);
    menu->addAction(action);
    m_window.addAction(action); // the shortcut works wherever the menu bar is
    QMenu* root = menu;
    while (auto* above = qobject_cast<QMenu*>(root->parentWidget())) {
        root = above;
    }
    const QString title = root->title().remove(QLatin1Char('&'));
    for (Group& group : m_groups) {
        if (group.title == title) {
            group.actions.push_back(action);
        }
    }
}

void WindowActions::buildFile()
{
    QMenu* menu = addMenu(tr("&File"));
    newRun = add(menu, tr("&New run…"), QKeySequence::New, tr("Another model, seed or machine: ends this run"));
    newRun->setIcon(glyphIcon(Glyph::NewRun));
    openText = add(menu, tr("&Open text…"), QKeySequence::Open, tr("Train on a UTF-8 text file of yours"));
    openText->setIcon(glyphIcon(Glyph::Open));
    defaultText = add(menu, tr("Train on the &default text"), keys("Ctrl+Shift+O"),
                      tr("The installed novels or, without them, generated text"));
    menu->addSeparator();
    exportRun = add(menu, tr("&Export run…"), keys("Ctrl+E"), tr("Write the run's tables and plots into a folder"));
    exportRun->setIcon(glyphIcon(Glyph::Export));
    exportPlot = add(menu, tr("Save &plot as…"), QKeySequence::Save,
                     tr("Save the plot the keyboard is in as PNG, SVG, PDF or CSV"));
    copyPlot = add(menu, tr("&Copy plot"), keys("Ctrl+Shift+C"),
                   tr("Copy the plot the keyboard is in as a picture and as CSV"));
    menu->addSeparator();
    quit = add(menu, tr("&Quit"), keys("Ctrl+Q"), tr("End the run and close the window"));
    quit->setMenuRole(QAction::QuitRole);
}

void WindowActions::buildEdit()
{
    QMenu* menu = addMenu(tr("&Edit"));
    undo = add(menu, tr("&Undo"), keys("Ctrl+Z"), tr("Take back the last change of a setting, a format or the scale"));
    redo = add(menu, tr("&Redo"), keys("Ctrl+Shift+Z"), tr("Make the change again that was taken back"));
    redo->setShortcuts({redo->shortcut(), keys("Ctrl+Y")}); // as some platforms have it
    menu->addSeparator();
    selectLayers = add(menu, tr("&Select layers…"), QKeySequence::Find,
                       tr("By a pattern such as h*.mlp.*, or a kind such as norms"));
    QMenu* formats = menu->addMenu(tr("&Format of the selected layers"));
    for (const FormatId id : allowedFormats(ModuleKind::Linear)) {
        const QString key = fromView(moduleFormatKey(id));
        QAction* action =
            add(formats, choiceText(QStringLiteral("precision.MODULE"), key), chord("Ctrl+M", formatActions.size() + 1),
                tr("Sets the format of all selected layers, as one change"));
        action->setData(key);
        formatActions << action;
    }
    menu->addSeparator();
    inspect = add(menu, tr("&Inspect number"), keys("Ctrl+Shift+N"),
                  tr("The number under the pointer or in the current cell, bit by bit in every format"));
}

void WindowActions::buildRun()
{
    QMenu* menu = addMenu(tr("&Run"));
    pause = add(menu, tr("&Pause"), keys("F5"), tr("Pause or resume training"));
    step = add(menu, tr("Single &step"), keys("F6"), tr("Train one step, then pause"));
    step->setIcon(glyphIcon(Glyph::Step));
    runSteps = add(menu, tr("Run &n steps…"), keys("F7"), tr("Train a number of steps, then pause"));
    runSteps->setIcon(glyphIcon(Glyph::RunSteps));
    menu->addSeparator();
    restart = add(menu, tr("&Restart"), keys("Ctrl+R"), tr("Start again with the same seed and the present settings"));
    restart->setIcon(glyphIcon(Glyph::Restart));
    newSeed = add(menu, tr("Restart with a new &seed"), keys("Ctrl+Shift+R"), tr("Start again with the next seed"));
    newSeed->setIcon(glyphIcon(Glyph::NewSeed));
    continueRun = add(menu, tr("&Continue on the CPU"), keys("F8"),
                      tr("A run whose device failed goes on from its last good state"));
    device = add(menu, tr("Choose the &device…"), keys("Ctrl+Shift+D"),
                 tr("What computes: the CPU or a GPU, and which formats it has natively; the run starts again"));
    menu->addSeparator();
    spike = add(menu, tr("Inject a &gradient spike"), keys("Ctrl+I"),
                tr("Multiply one gradient once, as chosen in the experiment panel"));
    badBatch = add(menu, tr("Inject a &bad batch"), keys("Ctrl+B"), tr("The next batch has random targets"));
    rateJump = add(menu, tr("Inject a &learning-rate jump"), keys("Ctrl+J"),
                   tr("Multiply the learning rate for one applied step"));
}

void WindowActions::buildScaler()
{
    QMenu* menu = addMenu(tr("S&caler"));
    doubleScale = add(menu, tr("&Double the scale"), keys("Ctrl+Up"), tr("Double the loss scale now"));
    halveScale = add(menu, tr("&Halve the scale"), keys("Ctrl+Down"), tr("Halve the loss scale now"));
    pytorchDefaults = add(menu, tr("&PyTorch defaults"), keys("Ctrl+D"),
                          tr("Every knob and the scale now as torch.amp.GradScaler starts"));
    copyScalerMenu = menu->addMenu(tr("&Copy settings as"));
    for (const RecipeTarget& target : recipeTargets()) {
        const QString name = tr(std::string(target.name).c_str());
        QAction* action = add(copyScalerMenu, name, chord("Ctrl+K", copyScalerActions.size() + 1),
                              tr("Copy the scaler's settings as %1, ready to paste").arg(name));
        action->setData(static_cast<int>(target.target));
        copyScalerActions << action;
    }
    menu->addSeparator();
    QMenu* presetMenu = menu->addMenu(tr("P&reset"));
    auto* presets = new QActionGroup(&m_window);
    for (const ScalerPreset& preset : scalerPresets()) {
        QAction* action = addCheckable(presetMenu, tr("Scaler: %1").arg(presetName(preset)),
                                       chord("Ctrl+L", scalerPresetActions.size() + 1),
                                       tr("Sets every knob as %1 has it").arg(presetName(preset)));
        if (!presetDifference(preset).isEmpty()) {
            action->setToolTip(presetDifference(preset));
        }
        action->setData(fromView(preset.key));
        presets->addAction(action);
        scalerPresetActions << action;
    }
    menu->addSeparator();
    auto* precisions = new QActionGroup(&m_window);
    precisions->setExclusionPolicy(QActionGroup::ExclusionPolicy::ExclusiveOptional); // single layers may differ
    for (const PrecisionPreset& preset : precisionPresets()) {
        QAction* action =
            addCheckable(menu, tr("Precision: %1").arg(tr(std::string(preset.name).c_str())),
                         chord("Ctrl+P", precisionActions.size() + 1), tr(std::string(preset.description).c_str()));
        action->setData(fromView(preset.key));
        precisions->addAction(action);
        precisionActions << action;
    }
    precisionSchedule = add(menu, tr("Precision s&chedule…"), keys("Ctrl+P, S"),
                            tr("Other formats from a step on; may be edited while the run goes on"));
    masterWeights = addCheckable(menu, tr("FP32 &master weights"), keys("Ctrl+P, W"),
                                 tr("Off: weights are kept and updated in the module's own format"));
    scalePerModule = addCheckable(menu, tr("A loss scale for &each module"), keys("Ctrl+P, E"),
                                  tr("Linear layers and attention each have a scale; any overflow skips the step"));
}

void WindowActions::buildAdvisor()
{
    QMenu* menu = addMenu(tr("&Advisor"));
    adviceApply = add(menu, tr("&Apply the first remedy"), keys("Ctrl+H, Return"),
                      tr("Of the gravest finding, or of the one the keyboard is in"));
    adviceShow = add(menu, tr("&Show what it is about"), keys("Ctrl+H, S"),
                     tr("Holds the step of the finding and selects its layers"));
    adviceDismiss = add(menu, tr("&Dismiss the finding"), keys("Ctrl+H, D"), tr("Until it comes again"));
    menu->addSeparator();
    const auto step = [&](const QString& text, const QString& button, int number, const QString& help) {
        QAction* action = add(menu, text, chord("Ctrl+H", number), help);
        action->setIconText(button);
        return action;
    };
    stepStatistics =
        step(tr("&Mean and deviation of each layer"), tr("Mean and deviation"), 1,
             tr("The layers by the deviation of their gradients: look at the one that is far from the others"));
    stepFp32 = step(tr("Mixed &precision off"), tr("Mixed precision off"), 2,
                    tr("Everything in FP32: what is still wrong then has nothing to do with precision"));
    stepHalve = step(tr("Halve the scale, st&ep by step"), tr("Halve the scale"), 3,
                     tr("Half the loss scale, again and again, until the overflows end"));
    stepSensitive = step(tr("Sensitive &layers in FP32"), tr("Sensitive layers in FP32"), 4,
                         tr("Embeddings, norms and the head, where a few large values are most often at home"));
    stepCompare = step(tr("&Compare with FP32"), tr("Compare with FP32"), 5,
                       tr("Every 10th step in FP32 too: cosine and relative error of each layer's gradients"));
    stepCompare->setCheckable(true);
    menu->addSeparator();
    shadowRun = addCheckable(menu, tr("FP32 &run alongside"), chord("Ctrl+H", 6),
                             tr("Starts again, with a second model in FP32 from the same seed: its loss is drawn too"));
}

void WindowActions::buildExamples()
{
    QMenu* menu = addMenu(tr("E&xamples"));
    validate = add(menu, tr("&Look at the held-out examples"), keys("Ctrl+M, L"),
                   tr("Accuracy, loss and confusion matrix with the present weights"));
    menu->addSeparator();
    nextExample =
        add(menu, tr("&Next example"), keys("Ctrl+M, N"), tr("The next held-out example and what it is taken for"));
    previousExample = add(menu, tr("&Previous example"), keys("Ctrl+M, P"), tr("The held-out example before it"));
    nextWrong =
        add(menu, tr("Next &wrong one"), keys("Ctrl+M, W"), tr("The next example that is taken for another class"));
    copyConfusion = add(menu, tr("&Copy the confusion matrix"), keys("Ctrl+M, C"), tr("As CSV: truth by prediction"));
    menu->addSeparator();
    writeText = add(menu, tr("Write &text"), keys("Ctrl+M, T"), tr("The language model writes on from the prompt"));
    swapHead = add(menu, tr("&Swap the head now"), keys("Ctrl+M, S"),
                   tr("Pretraining ends here: the language model becomes a classifier"));
}

void WindowActions::buildView()
{
    QMenu* menu = addMenu(tr("&View"));
    auto* taps = new QActionGroup(&m_window);
    for (int tap = 0; tap < kTapCount; ++tap) {
        QAction* action = addCheckable(menu, tr("Show %1").arg(moduleTapLabel(tap)), chord("Ctrl+G", tap + 1),
                                       tr("What the spectrum, the waterfall and the layers table are about"));
        action->setData(tap);
        taps->addAction(action);
        tapActions << action;
    }
    menu->addSeparator();
    allLayers = add(menu, tr("&All layers"), keys("Ctrl+Shift+A"), tr("Show all layers in the spectrum again"));
    worstFirst = addCheckable(menu, tr("&Worst layers first"), keys("Ctrl+W"), tr("Sort the layers by what they lose"));
    modelOrder = add(menu, tr("Layers in &order of the forward pass"), keys("Ctrl+Shift+W"),
                     tr("Undo the sorting of the layers table"));
    scaledAxis = addCheckable(menu, tr("Spectrum of the &scaled gradients"), keys("Ctrl+Shift+S"),
                              tr("Magnitudes times the loss scale: the window stands and the bars move"));
    logLoss = addCheckable(menu, tr("&Logarithmic loss"), keys("Ctrl+Shift+L"), tr("The loss on a logarithmic axis"));
    copyLayers = add(menu, tr("Copy the layers &table"), keys("Ctrl+Shift+T"), tr("Copy the table, tab-separated"));
    copyEvents = add(menu, tr("Copy the &events"), keys("Ctrl+Shift+E"), tr("Copy the events that are shown"));
    menu->addSeparator();

    plotMenu = menu->addMenu(tr("&Plot"));
    zoomIn = add(plotMenu, tr("Zoom &in"), keys("Ctrl++"), tr("More detail in the plot the keyboard is in"));
    zoomOut = add(plotMenu, tr("Zoom &out"), keys("Ctrl+-"), tr("Less detail in the plot the keyboard is in"));
    panLeft = add(plotMenu, tr("Move &left"), keys("Alt+Left"), tr("Earlier steps, smaller gradients"));
    panRight = add(plotMenu, tr("Move &right"), keys("Alt+Right"), tr("Later steps, larger gradients"));
    resetPlot = add(plotMenu, tr("&Reset the view"), keys("Ctrl+0"), tr("The plot's own range again"));
    wholeRun = add(plotMenu, tr("&Whole run"), keys("Ctrl+Home"), tr("All steps since the first"));
    follow = addCheckable(plotMenu, tr("&Follow the newest step"), keys("Ctrl+End"),
                          tr("Scroll with the newest steps; the spectrum is of the newest one"));
    follow->setIcon(glyphIcon(Glyph::Follow));
    releaseStep =
        add(plotMenu, tr("&Back to the newest step"), keys("Esc"), tr("Lets go of the step that the spectrum holds"));
    previousStep = add(plotMenu, tr("Crosshair to the &previous step"), keys("Alt+Shift+Left"),
                       tr("One step back; the spectrum follows"));
    nextStep = add(plotMenu, tr("Crosshair to the &next step"), keys("Alt+Shift+Right"),
                   tr("One step on; the spectrum follows"));
    menu->addSeparator();

    QMenu* focusMenu = menu->addMenu(tr("&Go to"));
    const QStringList places = {tr("Gradient spectrum"), tr("Waterfall"),        tr("Loss scale"),       tr("Loss"),
                                tr("Loss scaler panel"), tr("Experiment panel"), tr("Layers"),           tr("Events"),
                                tr("Advisor"),           tr("What if"),          tr("Number inspector"), tr("Accuracy"),
                                tr("Examples")};
    for (const QString& place : places) {
        focusActions << add(
            focusMenu, place,
            QKeySequence((focusActions.size() < 10 ? QStringLiteral("Alt+%1") : QStringLiteral("Alt+Shift+%1"))
                             .arg((focusActions.size() + 1) % 10)),
            tr("Move the keyboard there"));
    }
    panelsMenu = menu->addMenu(tr("Pa&nels"));
    QMenu* themeMenu = menu->addMenu(tr("&Theme"));
    auto* themes = new QActionGroup(&m_window);
    const auto addTheme = [&](const QString& text, Settings::Theme theme, const char* shortcut) {
        QAction* action = addCheckable(themeMenu, text, keys(shortcut), tr("Colours of the window"));
        action->setData(static_cast<int>(theme));
        themes->addAction(action);
        themeActions << action;
    };
    addTheme(tr("As the &system"), Settings::Theme::System, "Ctrl+T, S");
    addTheme(tr("&Light"), Settings::Theme::Light, "Ctrl+T, L");
    addTheme(tr("&Dark"), Settings::Theme::Dark, "Ctrl+T, D");
    menu->addSeparator();
    resetLayout = add(menu, tr("Reset la&yout"), keys("Ctrl+Shift+0"), tr("All panels where they were at first"));
    fullScreen = addCheckable(menu, tr("F&ull screen"), keys("F11"), tr("The window on the whole screen"));
}

void WindowActions::buildTools()
{
    QMenu* menu = addMenu(tr("&Tools"));
    compareFormats = add(menu, tr("Compare &formats…"), keys("Ctrl+Shift+F"),
                         tr("Train the same task in several formats: speed, memory, loss, accuracy"));
    weightUpdates = add(menu, tr("&Updates of the weights…"), keys("Ctrl+Shift+U"),
                        tr("How large updates are beside the weights, and which are lost"));
    thisMachine = add(menu, tr("This &machine…"), keys("Ctrl+Shift+M"),
                      tr("What is computed natively, and how fast matrix products are here"));
}

void WindowActions::buildHelp()
{
    QMenu* menu = addMenu(tr("&Help"));
    shortcuts = add(menu, tr("&Keyboard shortcuts"), keys("F1"), tr("All actions and their keys"));
    hint = add(menu, tr("What to &try first"), keys("Shift+F1"), tr("Show the hint of the first start again"));
    about = add(menu, tr("&About HalfScope"), keys("Ctrl+F1"), tr("Version, licence and libraries"));
    about->setMenuRole(QAction::AboutRole);
}

} // namespace halfscope
