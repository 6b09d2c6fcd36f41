// SPDX-License-Identifier: GPL-3.0-or-later
// Files and folders dropped on the window start the task that fits them, or say one sentence.
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>

#include "engine/train/settings_registry.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/window_actions.h"

namespace halfscope::test {

namespace {

class WindowData : public WindowTest {
protected:
    void drop(const QList<QUrl>& urls)
    {
        QMimeData data;
        data.setUrls(urls);
        QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &enter);
        EXPECT_TRUE(enter.isAccepted());
        QDropEvent event(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window.get(), &event);
    }
    void drop(const QString& path) { drop(QList<QUrl>{QUrl::fromLocalFile(path)}); }
    QString write(const QString& name, const QByteArray& bytes)
    {
        const QString path = folder.filePath(name);
        QDir().mkpath(QFileInfo(path).absolutePath());
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        return path;
    }
    // Forty images of 4 x 4, and their labels.
    QString writeImages(const QString& into)
    {
        QByteArray images("\0\0\x08\x03\0\0\0\x28\0\0\0\x04\0\0\0\x04", 16);
        QByteArray labels("\0\0\x08\x01\0\0\0\x28", 8);
        for (int i = 0; i < 40; ++i) {
            images += QByteArray(16, static_cast<char>(i));
            labels += static_cast<char>(i % 3);
        }
        write(into + QStringLiteral("/train-labels-idx1-ubyte"), labels);
        return write(into + QStringLiteral("/train-images-idx3-ubyte"), images);
    }
    static QByteArray table()
    {
        QByteArray rows = "label,text\n";
        for (int i = 0; i < 40; ++i) {
            rows += QByteArray(i % 2 == 0 ? "red,rose " : "blue,sky ") + QByteArray::number(i) + '\n';
        }
        return rows;
    }
    QString refusal() const { return window->banners().text(QStringLiteral("text-refused")); }
    bool started(int number)
    {
        return QTest::qWaitFor([&] { return engines == number; }, 10'000);
    }
    bool refused()
    {
        return QTest::qWaitFor([&] { return !refusal().isEmpty(); }, 10'000);
    }
    RunConfig config() const { return engine->live().config; }
};

} // namespace

TEST_F(WindowData, ATableOfLabelsAndTextsIsClassified)
{
    RunConfig before = FakeEngine::smallConfig();
    before.modulePrecision["lm_head"] = FormatId::Fp32; // which a classifier has not
    before.model.tiedHead = true;
    open(before);
    const QString path = write(QStringLiteral("mail.csv"), table());
    drop(path);
    ASSERT_TRUE(started(2)) << refusal().toStdString();
    EXPECT_EQ(config().task, "csv");
    EXPECT_EQ(config().data, path.toStdString());
    EXPECT_TRUE(validate(config()).empty()) << validate(config()).front();
    EXPECT_EQ(settings->lastFolder(), QFileInfo(path).absolutePath());
}

TEST_F(WindowData, ATableOfSomethingElseIsRefusedAndMayBeAText)
{
    open();
    drop(write(QStringLiteral("numbers.csv"), QByteArray("1,2,3\n").repeated(400)));
    ASSERT_TRUE(refused());
    EXPECT_EQ(engines, 1);
    EXPECT_TRUE(refusal().contains(QStringLiteral("numbers.csv"))) << refusal().toStdString();
    EXPECT_TRUE(refusal().endsWith(QStringLiteral("to train on the table as text, open it as a text.")));
    window->openText(folder.filePath(QStringLiteral("numbers.csv")));
    ASSERT_TRUE(started(2)) << refusal().toStdString();
    EXPECT_EQ(config().task, "language-model");
    EXPECT_EQ(refusal(), QString());
}

TEST_F(WindowData, ImagesTheirLabelsOrTheirFolder)
{
    open();
    const QString images = writeImages(QStringLiteral("set"));
    const QString labels = folder.filePath(QStringLiteral("set/train-labels-idx1-ubyte"));
    int number = 1;
    for (const QString& path : {images, labels, QFileInfo(images).absolutePath()}) {
        drop(path);
        ASSERT_TRUE(started(++number)) << refusal().toStdString();
        EXPECT_EQ(config().task, "idx");
        EXPECT_EQ(config().data, (path == labels ? images : path).toStdString());
        EXPECT_TRUE(validate(config()).empty());
    }
    // And back to a text.
    drop(write(QStringLiteral("prose.txt"), QByteArray("The quick brown fox jumps.\n").repeated(200)));
    ASSERT_TRUE(started(++number)) << refusal().toStdString();
    EXPECT_EQ(config().task, "language-model");
    EXPECT_TRUE(validate(config()).empty());
}

TEST_F(WindowData, WhatCannotBeUsedSaysSoInOneSentence)
{
    open();
    const auto refusesWith = [&](const QList<QUrl>& urls, const char* part) {
        window->banners().hide(QStringLiteral("text-refused"));
        drop(urls);
        ASSERT_TRUE(refused()) << part;
        EXPECT_TRUE(refusal().contains(QLatin1String(part))) << refusal().toStdString();
        EXPECT_EQ(refusal().count(QLatin1Char('\n')), 0);
        EXPECT_EQ(engines, 1);
    };
    const auto local = [](const QString& path) { return QList<QUrl>{QUrl::fromLocalFile(path)}; };
    refusesWith(local(write(QStringLiteral("cat.png"), QByteArray("\x89PNG\r\n\x1a\n\0\0", 10))), "is a picture");
    refusesWith(local(write(QStringLiteral("empty.txt"), {})), "is empty");
    QDir().mkpath(folder.filePath(QStringLiteral("nothing")));
    refusesWith(local(folder.filePath(QStringLiteral("nothing"))), "no pair of IDX files");
    refusesWith(local(folder.filePath(QStringLiteral("gone.txt"))), "is not there");
    refusesWith(local(write(QStringLiteral("cut-images.idx.gz"), QByteArray("\x1f\x8b\x08\0\0", 5))), "labels beside");
    refusesWith(local(write(QStringLiteral("one-images"), QByteArray("\0\0\x08\x03\0", 5))), "labels beside");
    refusesWith({QUrl(QStringLiteral("https://example.org/a.txt"))}, "is not on this machine");
    refusesWith({QUrl::fromLocalFile(folder.path()), QUrl::fromLocalFile(folder.path())}, "one thing at a time");
    refusesWith(local(QStringLiteral("/dev/null")), "not a regular file");
}

TEST_F(WindowData, AFolderOfImagesIsChosenInTheNewRunDialog)
{
    open();
    const QString path = QFileInfo(writeImages(QStringLiteral("set"))).absolutePath();
    window->actions().newRun->trigger();
    auto* dialog = this->dialog<NewRunDialog>();
    ASSERT_NE(dialog, nullptr);
    auto* choose = named<QPushButton>(QStringLiteral("Choose the folder of the images"));
    ASSERT_NE(choose, nullptr);
    EXPECT_FALSE(choose->isVisible());
    auto* task = dialog->findChild<ChoiceCombo*>(QStringLiteral("task"));
    const auto chooseTask = [&](const char* key) {
        task->setCurrentIndex(task->findData(QLatin1String(key)));
        emit task->activated(task->currentIndex());
    };
    chooseTask("csv");
    EXPECT_FALSE(choose->isVisible());
    chooseTask("idx");
    EXPECT_TRUE(choose->isVisible());
    choose->click();
    auto* chooser = dialog->findChild<QFileDialog*>();
    ASSERT_NE(chooser, nullptr);
    EXPECT_EQ(chooser->fileMode(), QFileDialog::Directory);
    emit chooser->fileSelected(path);
    EXPECT_EQ(dialog->problem(), QString());
    EXPECT_EQ(dialog->config().data, path.toStdString());
    EXPECT_EQ(dialog->config().task, "idx");
}

// A format that was given to a layer which the other model has not is no reason to refuse the run: it is not shown
// there.
TEST_F(WindowData, FormatsOfLayersThatAreGoneAreForgotten)
{
    RunConfig config = FakeEngine::smallConfig();
    config.modulePrecision["lm_head"] = FormatId::Fp32;
    config.modulePrecision["h1.mlp.fc"] = FormatId::Fp32;
    NewRunDialog dialog(config);
    auto* task = dialog.findChild<ChoiceCombo*>(QStringLiteral("task"));
    ASSERT_NE(task, nullptr);
    task->setCurrentIndex(task->findData(QStringLiteral("digits")));
    emit task->activated(task->currentIndex());
    EXPECT_EQ(dialog.problem(), QString());
    EXPECT_EQ(dialog.config().modulePrecision.size(), 1U);
    EXPECT_TRUE(dialog.config().modulePrecision.contains("h1.mlp.fc"));
}

} // namespace halfscope::test
