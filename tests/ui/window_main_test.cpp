// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window: actions, run control, banners, files, layout.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QToolBar>
#include <QTreeWidget>

#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/dialogs/picture_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/dialogs/run_steps_dialog.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/run_notices.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/spectrum_plot.h"
#include "ui/settings/window_placement.h"

namespace halfscope::test {

namespace {

class MainWindowTest : public WindowTest {
protected:
    void drop(const QString& path)
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &enter);
        EXPECT_TRUE(enter.isAccepted());
        QDropEvent event(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &event);
    }
    QString write(const QString& name, const QByteArray& bytes)
    {
        const QString path = folder.filePath(name);
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        return path;
    }
    void press(QAction* action)
    {
        window->activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
        const QKeySequence keys = action->shortcut();
        ASSERT_FALSE(keys.isEmpty()) << action->text().toStdString();
        for (int i = 0; i < keys.count(); ++i) {
            QTest::keyClick(window.get(), keys[static_cast<uint>(i)].key(),
                            keys[static_cast<uint>(i)].keyboardModifiers());
        }
    }
};

void collect(const QMenu* menu, QSet<const QAction*>& found)
{
    for (const QAction* action : menu->actions()) {
        found.insert(action);
        if (action->menu() != nullptr) {
            collect(action->menu(), found);
        }
    }
}

bool isInteractive(const QWidget* widget)
{
    return qobject_cast<const QAbstractButton*>(widget) != nullptr ||
           qobject_cast<const QComboBox*>(widget) != nullptr || qobject_cast<const QLineEdit*>(widget) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(widget) != nullptr ||
           qobject_cast<const QAbstractItemView*>(widget) != nullptr ||
           (qobject_cast<const QAbstractSlider*>(widget) != nullptr &&
            qobject_cast<const QScrollBar*>(widget) == nullptr) ||
           qobject_cast<const Plot*>(widget) != nullptr;
}

// Parts that Qt makes inside its own widgets speak through these.
bool isPartOfAnother(const QWidget* widget)
{
    for (const QWidget* above = widget->parentWidget(); above != nullptr; above = above->parentWidget()) {
        if (qobject_cast<const QComboBox*>(above) != nullptr ||
            qobject_cast<const QAbstractSpinBox*>(above) != nullptr ||
            qobject_cast<const QAbstractItemView*>(above) != nullptr ||
            qobject_cast<const QLineEdit*>(above) != nullptr || qobject_cast<const QMenuBar*>(above) != nullptr) {
            return true;
        }
    }
    return widget->objectName().startsWith(QLatin1String("qt_"));
}

} // namespace

TEST_F(MainWindowTest, EveryActionIsInAMenuWithAShortcutOfItsOwnAndAHelp)
{
    open();
    QSet<const QAction*> inMenus;
    for (const QAction* top : window->menuBar()->actions()) {
        ASSERT_NE(top->menu(), nullptr);
        collect(top->menu(), inMenus);
    }
    QMap<QString, QString> used;
    int actions = 0;
    for (const QAction* action : window->QWidget::actions()) {
        ++actions;
        EXPECT_TRUE(inMenus.contains(action)) << action->text().toStdString();
        EXPECT_FALSE(action->statusTip().isEmpty()) << action->text().toStdString();
        const QString keys = action->shortcut().toString();
        EXPECT_FALSE(keys.isEmpty()) << action->text().toStdString();
        EXPECT_FALSE(used.contains(keys))
            << keys.toStdString() << ": " << action->text().toStdString() << " and " << used.value(keys).toStdString();
        used.insert(keys, action->text());
    }
    EXPECT_GE(actions, 50);
    // And the other way round: nothing in a menu is missing from the list the sheet is made of.
    int listed = 0;
    for (const auto& group : window->actions().groups()) {
        listed += static_cast<int>(group.actions.size());
    }
    EXPECT_EQ(listed, actions);
}

TEST_F(MainWindowTest, EveryInteractiveWidgetHasAnAccessibleName)
{
    open();
    poll(30);
    int seen = 0;
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
        if (widget->isVisible() && isInteractive(widget) && !isPartOfAnother(widget)) {
            ++seen;
            EXPECT_FALSE(widget->accessibleName().isEmpty())
                << widget->metaObject()->className() << " " << widget->objectName().toStdString();
        }
    }
    EXPECT_GE(seen, 35);
}

TEST_F(MainWindowTest, TabReachesEveryFieldOfTheScalerPanelInOrder)
{
    open();
    poll(3);
    auto* first = window->findChild<QComboBox*>(QStringLiteral("scaler"));
    first->setFocus();
    QStringList order;
    for (int i = 0; i < 18 && QApplication::focusWidget() != nullptr; ++i) {
        order << QApplication::focusWidget()->objectName();
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    }
    qsizetype at = -1;
    for (const char* key : {"scaler", "scale", "scale-slider", "initial-scale", "growth-factor", "backoff-factor",
                            "growth-interval", "hysteresis", "hysteresis-kind", "min-scale", "max-scale", "at-min"}) {
        const qsizetype next = order.indexOf(QLatin1String(key));
        EXPECT_GT(next, at) << key << " in " << order.join(QLatin1Char(' ')).toStdString();
        at = next;
    }
}

TEST_F(MainWindowTest, RunIsControlledByKeys)
{
    open();
    press(window->actions().pause);
    EXPECT_NE(lastPosted<Pause>(), nullptr);
    poll();
    EXPECT_TRUE(window->actions().pause->text().contains(QStringLiteral("Resume")));
    press(window->actions().step);
    ASSERT_NE(lastPosted<RunSteps>(), nullptr);
    EXPECT_EQ(lastPosted<RunSteps>()->count, 1);
    poll();
    EXPECT_EQ(window->controller().run().steps.size(), 1U);
    press(window->actions().pause);
    EXPECT_NE(lastPosted<Resume>(), nullptr);
    press(window->actions().restart);
    ASSERT_NE(lastPosted<Restart>(), nullptr);
    EXPECT_FALSE(lastPosted<Restart>()->newSeed);
    press(window->actions().newSeed);
    EXPECT_TRUE(lastPosted<Restart>()->newSeed);
    press(window->actions().halveScale);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 32768.0);
    press(window->actions().badBatch);
    EXPECT_NE(lastPosted<InjectBadBatch>(), nullptr);
    press(window->actions().spike);
    ASSERT_NE(lastPosted<InjectSpike>(), nullptr);
    EXPECT_EQ(lastPosted<InjectSpike>()->module, "h0.mlp.fc");
    EXPECT_EQ(lastPosted<InjectSpike>()->factor, 65536.0);
    EXPECT_TRUE(lastPosted<InjectSpike>()->weightGrad);
    press(window->actions().rateJump);
    ASSERT_NE(lastPosted<InjectLearningRateJump>(), nullptr);
    EXPECT_EQ(lastPosted<InjectLearningRateJump>()->factor, 10.0);
    press(window->actions().precisionActions.at(0));
    ASSERT_NE(lastPosted<SetSetting>(), nullptr);
    EXPECT_EQ(lastPosted<SetSetting>()->key, "precision");
    EXPECT_EQ(lastPosted<SetSetting>()->value, "fp32");
}

TEST_F(MainWindowTest, RunStepsAsksForTheirNumber)
{
    open();
    press(window->actions().runSteps);
    const auto* dialog = window->findChild<RunStepsDialog*>();
    ASSERT_NE(dialog, nullptr);
    auto* box = dialog->findChild<QSpinBox*>();
    ASSERT_NE(box, nullptr);
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QStringLiteral("25"));
    QTest::keyClick(box, Qt::Key_Return);
    ASSERT_NE(lastPosted<RunSteps>(), nullptr);
    EXPECT_EQ(lastPosted<RunSteps>()->count, 25);
}

TEST_F(MainWindowTest, DraggingTheSpectrumsWindowSetsTheScale)
{
    open();
    poll(5);
    SpectrumPlot* spectrum = window->plots().spectrum();
    spectrum->refresh();
    const double from = spectrum->pixelOf(spectrum->window().overflow);
    const double to = spectrum->pixelOf(spectrum->window().overflow + 2.0);
    const int y = static_cast<int>(spectrum->axisRect()->center().y());
    QTest::mousePress(spectrum, Qt::LeftButton, {}, QPoint(static_cast<int>(std::lround(from)), y));
    QTest::mouseMove(spectrum, QPoint(static_cast<int>(std::lround((from + to) / 2)), y));
    QTest::mouseMove(spectrum, QPoint(static_cast<int>(std::lround(to)), y));
    QTest::mouseRelease(spectrum, Qt::LeftButton, {}, QPoint(static_cast<int>(std::lround(to)), y));
    ASSERT_NE(lastPosted<SetScale>(), nullptr);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 16384.0); // the window two octaves up: a quarter of the scale
}

TEST_F(MainWindowTest, FailureIsABannerAndRestartIsOneClick)
{
    open();
    poll(3);
    engine->fail("the memory is gone");
    poll();
    EXPECT_TRUE(window->banners().text(RunNotices::kFailure).contains(QStringLiteral("the memory is gone")));
    EXPECT_FALSE(window->actions().pause->isEnabled());
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
    EXPECT_EQ(window->controller().run().steps.size(), 3U);
    for (QPushButton* button : window->banners().findChildren<QPushButton*>()) {
        if (button->isVisible() && button->text() == QStringLiteral("Restart")) {
            QTest::mouseClick(button, Qt::LeftButton);
        }
    }
    EXPECT_NE(lastPosted<Restart>(), nullptr);
    poll();
    EXPECT_EQ(window->banners().text(RunNotices::kFailure), QString());
}

TEST_F(MainWindowTest, LossThatIsNotFiniteIsExplainedAndTheBannerGoesWhenItIsMended)
{
    open();
    engine->badLossAt(2);
    poll(3);
    EXPECT_TRUE(window->banners().text(RunNotices::kLoss).contains(QStringLiteral("No loss scale")));
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
    poll(40);
    EXPECT_EQ(window->banners().text(RunNotices::kLoss), QString());
}

TEST_F(MainWindowTest, OverflowAtTheSmallestScaleIsABanner)
{
    RunConfig config = FakeEngine::smallConfig();
    config.scaler.minScale = config.scaler.initialScale;
    open(config);
    engine->spikeAt(2, "h0.mlp.fc", 65536.0);
    poll(3);
    EXPECT_FALSE(window->banners().text(RunNotices::kMinimum).isEmpty());
}

TEST_F(MainWindowTest, RestartEmptiesEveryView)
{
    open();
    engine->spikeAt(4, "h0.mlp.fc", 65536.0);
    poll(10);
    ASSERT_FALSE(window->controller().run().steps.empty());
    window->controller().restart(false);
    poll();
    EXPECT_TRUE(window->controller().run().steps.empty());
    EXPECT_TRUE(window->plots().spectrum()->visibleCsv().count('\n') <= 1);
    poll(2);
    EXPECT_EQ(window->controller().run().steps.size(), 2U);
}

TEST_F(MainWindowTest, BinaryFileIsRefusedWithAMessageAndTheRunGoesOn)
{
    open();
    drop(write(QStringLiteral("picture.bin"), QByteArray(4096, '\0') + QByteArray("\x89PNG\xff\xfe")));
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return !window->banners().text(QStringLiteral("text-refused")).isEmpty(); }, 5000));
    EXPECT_EQ(engines, 1);
    EXPECT_EQ(QApplication::activeModalWidget(), nullptr);
}

TEST_F(MainWindowTest, TextFileStartsARunOnIt)
{
    open();
    const QString path = write(QStringLiteral("prose.txt"), QByteArray("The quick brown fox jumps.\n").repeated(200));
    drop(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return engines == 2; }, 5000));
    EXPECT_EQ(engine->live().config.text, path.toStdString());
    EXPECT_EQ(settings->lastFolder(), QFileInfo(path).absolutePath());
    EXPECT_EQ(window->banners().text(QStringLiteral("text-refused")), QString());
}

TEST_F(MainWindowTest, OpenTextByDialog)
{
    open();
    const QString path = write(QStringLiteral("prose.txt"), QByteArray("Round about the cauldron go.\n").repeated(200));
    press(window->actions().openText);
    auto* chooser = window->findChild<QFileDialog*>();
    ASSERT_NE(chooser, nullptr);
    chooser->setDirectory(QFileInfo(path).absolutePath());
    chooser->selectFile(path);
    chooser->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path);
    QMetaObject::invokeMethod(chooser, "accept");
    ASSERT_TRUE(QTest::qWaitFor([&] { return engines == 2; }, 5000));
    EXPECT_EQ(engine->live().config.text, path.toStdString());
}

TEST_F(MainWindowTest, NewRunIsJudgedWhileItIsFilledIn)
{
    open();
    press(window->actions().newRun);
    auto* dialog = window->findChild<NewRunDialog*>();
    ASSERT_NE(dialog, nullptr);
    auto* width = dialog->findChild<NumberEdit*>(QStringLiteral("width"));
    auto* heads = dialog->findChild<NumberEdit*>(QStringLiteral("heads"));
    ASSERT_NE(width, nullptr);
    width->setFocus();
    width->selectAll();
    QTest::keyClicks(width, QStringLiteral("130"));
    EXPECT_FALSE(dialog->problem().isEmpty()); // 130 is no multiple of 4 heads
    QPushButton* start = nullptr;
    for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
        if (button->text() == QStringLiteral("Start")) {
            start = button;
        }
    }
    ASSERT_NE(start, nullptr);
    EXPECT_FALSE(start->isEnabled());
    heads->setFocus();
    heads->selectAll();
    QTest::keyClicks(heads, QStringLiteral("5"));
    EXPECT_EQ(dialog->problem(), QString());
    QTest::mouseClick(start, Qt::LeftButton);
    EXPECT_EQ(engines, 2);
    EXPECT_EQ(engine->live().config.model.width, 130);
    EXPECT_EQ(engine->live().config.model.heads, 5);
}

TEST_F(MainWindowTest, ExportWritesTheSetAndAsksBeforeReplacingIt)
{
    open();
    engine->spikeAt(4, "h0.mlp.fc", 65536.0);
    poll(12);
    const QString target = folder.filePath(QStringLiteral("out"));
    settings->setLastFolder(folder.path());
    press(window->actions().exportRun);
    auto* dialog = window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->findChild<QLineEdit*>(QStringLiteral("folder"))->setText(target);
    auto* button = dialog->findChild<QPushButton*>(QStringLiteral("export"));
    QTest::mouseClick(button, Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window->banners().text(QStringLiteral("export")).isEmpty(); }, 10000));
    EXPECT_TRUE(window->banners().text(QStringLiteral("export")).contains(target));
    for (const QString& name : exportedFileNames()) {
        EXPECT_TRUE(QFile::exists(QDir(target).filePath(name))) << name.toStdString();
    }
    QFile steps(QDir(target).filePath(QStringLiteral("steps.csv")));
    ASSERT_TRUE(steps.open(QIODevice::ReadOnly));
    EXPECT_EQ(steps.readAll().count('\n'), 13); // a header and twelve steps

    // Again into the same folder: the first click asks, the second replaces.
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    poll(3);
    press(window->actions().exportRun);
    dialog = window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->findChild<QLineEdit*>(QStringLiteral("folder"))->setText(target);
    button = dialog->findChild<QPushButton*>(QStringLiteral("export"));
    QTest::mouseClick(button, Qt::LeftButton);
    EXPECT_FALSE(dialog->isWriting());
    EXPECT_EQ(button->text(), QStringLiteral("Replace"));
    QSignalSpy exported(dialog, &ExportDialog::exported);
    QTest::mouseClick(button, Qt::LeftButton);
    ASSERT_TRUE(exported.count() == 1 || exported.wait(10000));
    QFile again(QDir(target).filePath(QStringLiteral("steps.csv")));
    ASSERT_TRUE(again.open(QIODevice::ReadOnly));
    EXPECT_EQ(again.readAll().count('\n'), 16);
}

TEST_F(MainWindowTest, ExportIntoAnImpossibleFolderSaysWhy)
{
    open();
    poll(2);
    const QString inTheWay = write(QStringLiteral("file"), "x");
    press(window->actions().exportRun);
    auto* dialog = window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->findChild<QLineEdit*>(QStringLiteral("folder"))->setText(inTheWay + QStringLiteral("/sub"));
    QSignalSpy failed(dialog, &ExportDialog::failed);
    QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
    ASSERT_TRUE(failed.count() == 1 || failed.wait(10000));
    EXPECT_FALSE(dialog->message().isEmpty());
    EXPECT_TRUE(dialog->isVisible());
}

TEST_F(MainWindowTest, ClosesInTheMiddleOfARunAndOfAnExport)
{
    open();
    engine->stepsPerDrain = 50;
    QTest::qWait(120);
    poll(2000);
    const QString target = folder.filePath(QStringLiteral("half"));
    press(window->actions().exportRun);
    auto* dialog = window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->findChild<QLineEdit*>(QStringLiteral("folder"))->setText(target);
    QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
    ASSERT_TRUE(dialog->isWriting());
    window->close();
    window.reset();
    // Nothing half written is left under the real names.
    const QStringList left = existingFiles(target);
    EXPECT_TRUE(left.isEmpty() || left.size() == exportedFileNames().size());
}

TEST_F(MainWindowTest, HintIsShownOnceAndTheChoiceIsRemembered)
{
    settings->setHintDismissed(false);
    open();
    EXPECT_FALSE(window->banners().text(QStringLiteral("hint")).isEmpty());
    QTest::mouseClick(named<QAbstractButton>(QStringLiteral("Dismiss this message")), Qt::LeftButton);
    EXPECT_TRUE(settings->hintDismissed());
    window.reset();
    open();
    EXPECT_TRUE(window->banners().text(QStringLiteral("hint")).isEmpty());
    press(window->actions().hint);
    EXPECT_FALSE(window->banners().text(QStringLiteral("hint")).isEmpty());
}

TEST_F(MainWindowTest, ShortcutSheetListsEveryAction)
{
    open();
    press(window->actions().shortcuts);
    auto* tree = window->findChild<QTreeWidget*>();
    ASSERT_NE(tree, nullptr);
    QStringList listed;
    for (int i = 0; i < tree->topLevelItemCount(); ++i) {
        for (int j = 0; j < tree->topLevelItem(i)->childCount(); ++j) {
            listed << tree->topLevelItem(i)->child(j)->text(1);
        }
    }
    for (const QAction* action : window->QWidget::actions()) {
        EXPECT_TRUE(listed.contains(action->shortcut().toString(QKeySequence::NativeText)))
            << action->text().toStdString();
    }
}

TEST_F(MainWindowTest, LayoutIsRestoredAndReset)
{
    open();
    auto* events = window->findChild<QDockWidget*>(QStringLiteral("events"));
    auto* layers = window->findChild<QDockWidget*>(QStringLiteral("layers"));
    events->close();
    window->addDockWidget(Qt::LeftDockWidgetArea, layers);
    window->close();
    window.reset();
    open();
    events = window->findChild<QDockWidget*>(QStringLiteral("events"));
    layers = window->findChild<QDockWidget*>(QStringLiteral("layers"));
    EXPECT_TRUE(events->isHidden());
    EXPECT_EQ(window->dockWidgetArea(layers), Qt::LeftDockWidgetArea);
    press(window->actions().resetLayout);
    EXPECT_FALSE(events->isHidden());
    EXPECT_EQ(window->dockWidgetArea(layers), Qt::RightDockWidgetArea);
}

TEST_F(MainWindowTest, CorruptLayoutAndSettingsFallBack)
{
    settings->setWindow(QByteArray("nonsense"), QByteArray("\x01\x02\x03"));
    settings->setCentralSplitter(QByteArray("no"));
    settings->setLayersHeader(QByteArray("header"));
    open();
    for (const QDockWidget* dock : window->findChildren<QDockWidget*>()) {
        EXPECT_FALSE(dock->isHidden()) << dock->objectName().toStdString();
    }
    window.reset();
    const QString path = write(QStringLiteral("damaged.ini"), QByteArray("[window\ntheme=\x80\x81purple\n=\n"));
    const auto damaged = Settings::inFile(path);
    EXPECT_EQ(damaged->theme(), Settings::Theme::System);
    EXPECT_FALSE(damaged->hintDismissed());
}

TEST_F(MainWindowTest, SettingsRoundTrip)
{
    const QString path = folder.filePath(QStringLiteral("round.ini"));
    {
        const auto first = Settings::inFile(path);
        first->setTheme(Settings::Theme::Light);
        first->setHintDismissed(true);
        first->setLastFolder(folder.path());
        first->setWindow("g", "s");
        first->flush();
    }
    const auto second = Settings::inFile(path);
    EXPECT_EQ(second->theme(), Settings::Theme::Light);
    EXPECT_TRUE(second->hintDismissed());
    EXPECT_EQ(second->lastFolder(), folder.path());
    EXPECT_EQ(second->windowGeometry(), QByteArray("g"));
    EXPECT_EQ(second->windowState(), QByteArray("s"));
    second->setLastFolder(folder.filePath(QStringLiteral("gone")));
    EXPECT_EQ(second->lastFolder(), QDir::homePath());
}

TEST_F(MainWindowTest, WindowOfAVanishedScreenComesBack)
{
    const QRect left(0, 0, 1920, 1080);
    const QRect right(1920, 0, 1280, 1024);
    EXPECT_EQ(placedOnScreens(QRect(2000, 100, 900, 700), {left, right}), QRect(2000, 100, 900, 700));
    const QRect back = placedOnScreens(QRect(2000, 100, 900, 700), {left});
    EXPECT_TRUE(left.contains(back));
    EXPECT_EQ(back.size(), QSize(900, 700));
    EXPECT_TRUE(left.contains(placedOnScreens(QRect(5000, 5000, 4000, 3000), {left})));
    // A sliver that cannot be gripped is no place either.
    EXPECT_TRUE(left.contains(placedOnScreens(QRect(1900, 100, 900, 700), {left})));
    EXPECT_TRUE(left.contains(placedOnScreens(QRect(100, -400, 900, 700), {left})));
    EXPECT_EQ(placedOnScreens(QRect(-300, 40, 900, 700), {left}), QRect(-300, 40, 900, 700));

    open();
    window->move(40000, 40000);
    settings->setWindow(window->saveGeometry(), window->saveState(Settings::kLayoutVersion));
    window.reset();
    open();
    EXPECT_TRUE(window->screen()->availableGeometry().intersects(window->geometry()));
}

TEST_F(MainWindowTest, AThemeForOneStartIsNotRemembered)
{
    const QString path = folder.filePath(QStringLiteral("override.ini"));
    const auto first = Settings::inFile(path);
    first->setTheme(Settings::Theme::Light);
    first->overrideTheme(Settings::Theme::Dark);
    EXPECT_EQ(first->theme(), Settings::Theme::Dark);
    first->flush();
    EXPECT_EQ(Settings::inFile(path)->theme(), Settings::Theme::Light);
    first->setTheme(Settings::Theme::System); // a choice made in the window counts
    EXPECT_EQ(first->theme(), Settings::Theme::System);
}

TEST_F(MainWindowTest, ThemeChangesAtOnceAndIsRemembered)
{
    open();
    press(window->actions().themeActions.at(1));
    const int light = window->palette().color(QPalette::Window).lightness();
    EXPECT_EQ(settings->theme(), Settings::Theme::Light);
    press(window->actions().themeActions.at(2));
    EXPECT_LT(window->palette().color(QPalette::Window).lightness(), light);
    EXPECT_EQ(settings->theme(), Settings::Theme::Dark);
}

TEST_F(MainWindowTest, PlotGoesToTheClipboard)
{
    open();
    poll(4);
    press(window->actions().copyPlot);
    EXPECT_FALSE(QApplication::clipboard()->image().isNull());
}

TEST_F(MainWindowTest, FitsASmallScreen)
{
    open(FakeEngine::smallConfig(), QSize(1280, 720));
    poll(10);
    EXPECT_LE(window->width(), 1280);
    EXPECT_LE(window->height(), 720);
    // Every button is there, and all of every plot.
    const auto* tools = window->findChild<QToolBar*>(QStringLiteral("run-toolbar"));
    ASSERT_NE(tools, nullptr);
    EXPECT_TRUE(tools->widgetForAction(window->actions().exportRun)->isVisible());
    EXPECT_TRUE(tools->widgetForAction(window->actions().follow)->isVisible());
    EXPECT_EQ(window->findChild<QScrollArea*>(QStringLiteral("plot-scroll"))->verticalScrollBar()->maximum(), 0);
    // The name of a processor is not cut.
    const QString longest = QStringLiteral("CPU · AVX-512 · 16 threads");
    int devices = 0;
    for (auto* label : tools->findChildren<ElidedLabel*>()) {
        if (label->accessibleName().startsWith(QStringLiteral("Backend"))) {
            ++devices;
            label->setText(longest);
            QTest::qWait(50); // the layout settles
            EXPECT_GE(label->contentsRect().width(), label->fontMetrics().horizontalAdvance(longest));
        }
    }
    EXPECT_EQ(devices, 1);
}

TEST_F(MainWindowTest, ANarrowerWindowTakesItFromTheTableBeforeThePlots)
{
    open(FakeEngine::smallConfig(), QSize(1680, 1000));
    poll(5);
    QTest::qWait(50);
    for (const int width : {1500, 1400, 1280}) {
        window->resize(width, 900);
        const auto* layers = window->findChild<QDockWidget*>(QStringLiteral("layers"));
        const auto kept = [&] {
            return window->width() == width &&
                   (window->centralWidget()->width() >= std::max(width * 39 / 100, 560) - 2 || layers->width() <= 332);
        };
        EXPECT_TRUE(QTest::qWaitFor(kept, 5000))
            << window->width() << ": " << window->centralWidget()->width() << " beside " << layers->width();
    }
}

TEST_F(MainWindowTest, DialogsAreNoLargerThanTheScreen)
{
    open();
    poll(4);
    const QSize screen = window->screen()->availableSize();
    for (QAction* action : {window->actions().compareFormats, window->actions().weightUpdates,
                            window->actions().shortcuts, window->actions().thisMachine}) {
        action->trigger();
        const auto* shown = dialog<QDialog>();
        ASSERT_NE(shown, nullptr) << action->text().toStdString();
        EXPECT_LE(shown->width(), screen.width()) << action->text().toStdString();
        EXPECT_LE(shown->height(), screen.height()) << action->text().toStdString();
        const_cast<QDialog*>(shown)->close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
}

TEST_F(MainWindowTest, PlotsScrollRatherThanShrinkToNothing)
{
    open(FakeEngine::smallConfig(), QSize(840, 480)); // a 1680 x 960 screen at twice the size
    poll(10);
    auto* scroll = window->findChild<QScrollArea*>(QStringLiteral("plot-scroll"));
    ASSERT_NE(scroll, nullptr);
    EXPECT_LE(window->height(), 480);
    EXPECT_GT(scroll->verticalScrollBar()->maximum(), 0);
    for (const Plot* plot : window->plots().plots()) {
        EXPECT_GE(plot->axisRect()->height(), 2 * plot->fontMetrics().height()) << plot->title().toStdString();
    }
    // The keyboard brings a plot into view.
    press(window->actions().focusActions.at(3));
    const Plot* loss = window->plots().plots().at(3);
    EXPECT_TRUE(loss->hasFocus());
    const QRect seen(scroll->viewport()->mapToGlobal(QPoint()), scroll->viewport()->size());
    EXPECT_TRUE(seen.contains(loss->mapToGlobal(loss->rect().center())));
    window->resize(1600, 980);
    QTest::qWait(20);
    EXPECT_EQ(scroll->verticalScrollBar()->maximum(), 0);
}

TEST_F(MainWindowTest, APlotIsSavedAsChosen)
{
    open();
    poll(10);
    press(window->actions().exportPlot);
    auto* dialog = window->findChild<PictureDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->findChild<QComboBox*>(QStringLiteral("size"))->setCurrentIndex(1);
    dialog->findChild<QComboBox*>(QStringLiteral("resolution"))->setCurrentIndex(1);
    EXPECT_TRUE(dialog->summary().contains(QStringLiteral("502 × 355"))) << dialog->summary().toStdString();
    dialog->findChild<QSpinBox*>(QStringLiteral("height"))->setValue(50); // a size of one's own
    EXPECT_EQ(dialog->choice().millimetres, QSize(85, 50));
    QMetaObject::invokeMethod(dialog, "chosen");
    auto* chooser = window->findChild<QFileDialog*>();
    ASSERT_NE(chooser, nullptr);
    const QString path = folder.filePath(QStringLiteral("plot.png"));
    chooser->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path);
    QMetaObject::invokeMethod(chooser, "accept");
    ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(path); }, 5000));
    const QImage image(path);
    EXPECT_NEAR(image.width(), 85 / 25.4 * 150, 2);
    EXPECT_NEAR(image.height(), 50 / 25.4 * 150, 2);
    EXPECT_EQ(image.pixelColor(1, 1), QColor(Qt::white));
}

} // namespace halfscope::test
