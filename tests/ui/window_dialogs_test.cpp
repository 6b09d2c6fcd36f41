// SPDX-License-Identifier: GPL-3.0-or-later
// Dialogs: what Enter does, what they offer, that nothing in them is cut.
#include <QCheckBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTreeWidget>

#include "engine/backend/backend_registry.h"
#include "engine/train/settings_registry.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/about_dialog.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/file_suffix.h"
#include "ui/dialogs/machine_dialog.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/dialogs/picture_dialog.h"
#include "ui/dialogs/run_export.h"
#include "ui/dialogs/run_steps_dialog.h"
#include "ui/dialogs/shortcuts_dialog.h"
#include "ui/models/device_list.h"
#include "ui/models/setting_choices.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/window_actions.h"

namespace halfscope::test {

namespace {

class DialogsTest : public WindowTest {
protected:
    NewRunDialog* newRun()
    {
        window->actions().newRun->trigger();
        return window->findChild<NewRunDialog*>();
    }
    static void type(QLineEdit* field, const QString& text)
    {
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, text);
    }
};

} // namespace

TEST_F(DialogsTest, EnterStartsTheRunAndNeverWipesTheForm)
{
    open();
    NewRunDialog* dialog = newRun();
    ASSERT_NE(dialog, nullptr);
    ASSERT_TRUE(QTest::qWaitForWindowActive(dialog));
    auto* width = dialog->findChild<NumberEdit*>(QStringLiteral("width"));
    type(width, QStringLiteral("130")); // no multiple of 4 heads
    QTest::keyClick(width, Qt::Key_Return);
    EXPECT_TRUE(dialog->isVisible());
    EXPECT_EQ(width->text(), QStringLiteral("130"));
    EXPECT_EQ(engines, 1);
    type(width, QStringLiteral("64"));
    QTest::keyClick(width, Qt::Key_Return);
    EXPECT_EQ(engines, 2);
    EXPECT_EQ(engine->live().config.model.width, 64);
}

TEST_F(DialogsTest, WhatWasTypedCountsOnceTheFieldIsLeft)
{
    open();
    NewRunDialog* dialog = newRun();
    ASSERT_TRUE(QTest::qWaitForWindowActive(dialog));
    type(dialog->findChild<NumberEdit*>(QStringLiteral("width")), QStringLiteral("64"));
    type(dialog->findChild<QLineEdit*>(QStringLiteral("seed")), QStringLiteral("18446744073709551615"));
    auto* batch = dialog->findChild<NumberEdit*>(QStringLiteral("batch"));
    type(batch, QStringLiteral("8"));
    QTest::keyClick(batch, Qt::Key_Return);
    ASSERT_EQ(engines, 2);
    EXPECT_EQ(engine->live().config.model.width, 64);
    EXPECT_EQ(engine->live().config.model.batch, 8);
    EXPECT_EQ(engine->live().config.seed, 18446744073709551615ULL);
}

TEST_F(DialogsTest, OneButtonAtMostIsPressedByEnter)
{
    open();
    NewRunDialog newRun(FakeEngine::smallConfig());
    RunStepsDialog runSteps(10);
    ExportDialog exporting(window->controller(), {}, folder.path());
    AboutDialog about(QStringLiteral("CPU"));
    ShortcutsDialog shortcuts(window->actions().groups());
    for (QDialog* dialog : std::initializer_list<QDialog*>{&newRun, &runSteps, &exporting, &about, &shortcuts}) {
        dialog->show();
        int defaults = 0;
        for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
            // Qt makes a button the default one when the keyboard comes to it; only one may stay so.
            button->setFocus();
            EXPECT_FALSE(button->autoDefault()) << button->text().toStdString();
            EXPECT_FALSE(button->accessibleName().isEmpty());
            EXPECT_TRUE(button->icon().isNull()) << button->text().toStdString();
            defaults += button->isDefault() ? 1 : 0;
        }
        EXPECT_EQ(defaults, 1) << dialog->windowTitle().toStdString();
    }
}

TEST_F(DialogsTest, BackendsThereAreNotAreShownWithTheReason)
{
    open();
    NewRunDialog* dialog = newRun();
    auto* combo = dialog->findChild<ChoiceCombo*>(QStringLiteral("backend"));
    ASSERT_NE(combo, nullptr);
    ASSERT_TRUE(QTest::qWaitFor([] { return !DeviceList::instance().isLooking(); }, 30'000));
    const auto* items = qobject_cast<QStandardItemModel*>(combo->model());
    for (const BackendInfo& backend : listBackends()) {
        if (backend.key == kGpuBackend && backend.available) {
            continue; // there are GPUs, each by its place
        }
        const int index = combo->findData(QString::fromStdString(backend.key));
        ASSERT_GE(index, 0) << backend.key;
        EXPECT_EQ(items->item(index)->isEnabled(), backend.available) << backend.key;
        EXPECT_EQ(combo->itemData(index, Qt::ToolTipRole).toString().isEmpty(), backend.reason.empty());
    }
    EXPECT_EQ(combo->currentData().toString(), QStringLiteral("cpu"));
}

TEST_F(DialogsTest, EveryChoiceOfTheRegistryHasWords)
{
    open();
    for (const SettingInfo& info : halfscope::settings()) {
        const QString range = QString::fromUtf8(info.range.data(), static_cast<qsizetype>(info.range.size()));
        const QString key = QString::fromUtf8(info.key.data(), static_cast<qsizetype>(info.key.size()));
        const bool words = !range.contains(QStringLiteral("number")) && !range.contains(QStringLiteral("integer")) &&
                           !range.contains(QStringLiteral("path")) &&
                           !range.contains(QLatin1Char(':')); // a list in words of its own
        if (!words || key.startsWith(QStringLiteral("precision."))) {
            continue;
        }
        const QList<SettingChoice> choices = settingChoices(key);
        for (const QString& word : range.split(QStringLiteral(", "))) {
            EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                                    [&](const SettingChoice& choice) { return choice.value == word; }))
                << key.toStdString() << " " << word.toStdString();
        }
        RunConfig config;
        for (const SettingChoice& choice : choices) {
            EXPECT_FALSE(choice.text.isEmpty());
            if (key != QStringLiteral("backend")) {
                EXPECT_EQ(applySetting(config, info.key, choice.value.toStdString()), std::nullopt)
                    << key.toStdString() << " " << choice.value.toStdString();
            }
        }
    }
}

TEST_F(DialogsTest, SizeOfTheModelIsShownBesideStart)
{
    RunConfig config = FakeEngine::smallConfig();
    config.model.vocabulary = 0; // the engine knows it from the text alone
    open(config);
    NewRunDialog* dialog = newRun();
    const auto summary = [dialog] {
        for (const QLabel* label : dialog->findChildren<QLabel*>()) {
            if (label->text().contains(QStringLiteral("parameters"))) {
                return label->text();
            }
        }
        return QString();
    };
    const QString before = summary();
    EXPECT_TRUE(before.contains(QStringLiteral("MB"))) << before.toStdString();
    type(dialog->findChild<NumberEdit*>(QStringLiteral("depth")), QStringLiteral("12"));
    EXPECT_NE(summary(), before);
}

TEST_F(DialogsTest, APlotWithoutASuffixGetsThatOfTheFilter)
{
    QFileDialog chooser(nullptr, QString(), folder.path(), QStringLiteral("PNG (*.png);;SVG (*.svg);;CSV (*.csv)"));
    chooser.setOption(QFileDialog::DontUseNativeDialog);
    chooser.setAcceptMode(QFileDialog::AcceptSave);
    chooser.selectFile(QStringLiteral("plot.png"));
    followChosenSuffix(chooser);
    EXPECT_EQ(chooser.defaultSuffix(), QStringLiteral("png"));
    chooser.selectNameFilter(QStringLiteral("SVG (*.svg)"));
    emit chooser.filterSelected(QStringLiteral("SVG (*.svg)"));
    auto* name = chooser.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    EXPECT_EQ(name->text(), QStringLiteral("plot.svg"));
    name->setText(QStringLiteral("mine"));
    QSignalSpy chosen(&chooser, &QFileDialog::fileSelected);
    QMetaObject::invokeMethod(&chooser, "accept");
    ASSERT_EQ(chosen.count(), 1);
    EXPECT_EQ(chosen.at(0).at(0).toString(), folder.filePath(QStringLiteral("mine.svg")));
}

TEST_F(DialogsTest, MessagesOfAFailedSaveGoWithTheNextRun)
{
    open();
    poll(2);
    settings->setLastFolder(folder.path());
    window->actions().exportPlot->trigger();
    auto* picture = window->findChild<PictureDialog*>();
    ASSERT_NE(picture, nullptr);
    QMetaObject::invokeMethod(picture, "chosen");
    auto* chooser = window->findChild<QFileDialog*>();
    ASSERT_NE(chooser, nullptr);
    emit chooser->fileSelected(QStringLiteral("/nowhere/at/all.png"));
    EXPECT_FALSE(window->banners().text(QStringLiteral("export")).isEmpty());
    window->controller().restart(false);
    poll();
    EXPECT_EQ(window->banners().text(QStringLiteral("export")), QString());
}

TEST_F(DialogsTest, ExportProposesAFolderOfItsOwn)
{
    EXPECT_EQ(newExportFolder(folder.path()), folder.filePath(QStringLiteral("halfscope-run")));
    ASSERT_TRUE(QDir(folder.path()).mkdir(QStringLiteral("halfscope-run")));
    EXPECT_EQ(newExportFolder(folder.path()), folder.filePath(QStringLiteral("halfscope-run-2")));
    settings->setLastFolder(folder.path());
    open();
    poll(2);
    window->actions().exportRun->trigger();
    auto* dialog = window->findChild<ExportDialog*>();
    ASSERT_NE(dialog, nullptr);
    EXPECT_EQ(dialog->folder(), folder.filePath(QStringLiteral("halfscope-run-2")));
    QTest::mouseClick(dialog->findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window->banners().text(QStringLiteral("export")).isEmpty(); }, 10000));
    EXPECT_EQ(settings->lastFolder(), folder.path());
    bool canBeOpened = false;
    for (const QPushButton* button : window->banners().findChildren<QPushButton*>()) {
        canBeOpened = canBeOpened || (button->isVisible() && button->text() == QStringLiteral("Open folder"));
    }
    EXPECT_TRUE(canBeOpened);
}

// Pictures are painted one a turn of the event loop, before anything is written: a cancellation leaves nothing behind.
TEST_F(DialogsTest, AnExportWithPicturesCanBeCancelledAtAnyPicture)
{
    open();
    poll(5);
    const QList<Plot*> plots = window->plots().allPlots();
    ASSERT_GE(plots.size(), 5);
    for (int turns = 0; turns <= static_cast<int>(plots.size()) + 1; ++turns) {
        const QString target = folder.filePath(QStringLiteral("run-%1").arg(turns));
        ExportDialog dialog(window->controller(), plots, target);
        dialog.show();
        dialog.findChild<QCheckBox*>(QStringLiteral("with-plots"))->setChecked(true);
        bool exported = false;
        QObject::connect(&dialog, &ExportDialog::exported, [&] { exported = true; });
        QTest::mouseClick(dialog.findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
        const auto* bar = dialog.findChild<QProgressBar*>();
        EXPECT_TRUE(dialog.isWriting());
        EXPECT_TRUE(bar->isVisible());
        int before = bar->value();
        for (int turn = 0; turn < turns && dialog.isWriting(); ++turn) {
            QCoreApplication::processEvents(QEventLoop::AllEvents, 0);
            EXPECT_GE(bar->value(), before);
            before = bar->value();
        }
        const bool stillWriting = dialog.isWriting();
        if (stillWriting)
            dialog.close();
        ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.isWriting(); }, 20000));
        QCoreApplication::processEvents();
        const QStringList there = QDir(target).entryList(QDir::Files | QDir::Hidden);
        // Where the cancellation came too late, all is there; otherwise nothing is.
        if (exported) {
            EXPECT_EQ(there.size(), plots.size() + exportedFileNames().size());
        } else {
            EXPECT_TRUE(stillWriting);
            EXPECT_EQ(there, QStringList()) << turns;
            EXPECT_TRUE(dialog.message().startsWith(QStringLiteral("Cancelled"))) << dialog.message().toStdString();
        }
        if (turns == 0) {
            EXPECT_FALSE(exported) << "cancelled before the first picture";
        }
    }
    // And whoever waits gets everything.
    ExportDialog dialog(window->controller(), plots, folder.filePath(QStringLiteral("whole")));
    dialog.show();
    dialog.findChild<QCheckBox*>(QStringLiteral("with-plots"))->setChecked(true);
    QTest::mouseClick(dialog.findChild<QPushButton*>(QStringLiteral("export")), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.isWriting(); }, 20000));
    EXPECT_EQ(QDir(dialog.folder()).entryList(QDir::Files | QDir::Hidden).size(),
              plots.size() + exportedFileNames().size())
        << dialog.message().toStdString();
}

TEST_F(DialogsTest, NoTextOfTheShortcutSheetIsCut)
{
    open();
    ShortcutsDialog dialog(window->actions().groups());
    dialog.show();
    EXPECT_LE(dialog.width(), 1200);
    auto* tree = dialog.findChild<QTreeWidget*>();
    EXPECT_LE(dialog.width(), dialog.screen()->availableSize().width());
    dialog.resize(1200, 760); // as on a larger screen than the tests have
    QCoreApplication::processEvents();
    EXPECT_EQ(tree->horizontalScrollBar()->maximum(), 0); // all in view on a screen of this size
    for (int i = 0; i < tree->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* group = tree->topLevelItem(i);
        for (int j = 0; j < group->childCount(); ++j) {
            for (int column = 0; column < tree->columnCount(); ++column) {
                const QString text = group->child(j)->text(column);
                EXPECT_TRUE(text.isEmpty() || text.at(0) == text.at(0).toUpper()) << text.toStdString();
            }
            EXPECT_LE(tree->fontMetrics().horizontalAdvance(group->child(j)->text(2)) + 6, tree->columnWidth(2));
        }
    }
}

// Whoever compares formats or measures the machine has it alone, also if another run is begun meanwhile.
TEST_F(DialogsTest, ARunBegunWhileTheMachineIsWantedWaits)
{
    open();
    window->actions().thisMachine->trigger();
    auto* machine = dialog<MachineDialog>();
    ASSERT_NE(machine, nullptr);
    emit machine->runningChanged(true);
    poll();
    EXPECT_EQ(window->controller().state(), EngineState::Paused);
    window->startRun(FakeEngine::classifierConfig());
    poll();
    EXPECT_EQ(window->controller().state(), EngineState::Paused);
    emit machine->runningChanged(false);
    poll();
    EXPECT_EQ(window->controller().state(), EngineState::Running);
}

} // namespace halfscope::test
