// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows of tasks with classes and of held-out examples.
#include <QClipboard>
#include <QFileDialog>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <gmock/gmock.h>

#include "engine/data/dataset_registry.h"
#include "engine/train/experiments.h"
#include "tests/ui/plots_support.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/confusion_matrix.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/example_view.h"
#include "ui/panels/examples_panel.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/plot_area.h"
#include "ui/panels/sample_page.h"
#include "ui/panels/window_actions.h"
#include "ui/plots/accuracy_plot.h"
#include "ui/plots/loss_plot.h"

namespace halfscope::test {

namespace {

class ExamplesTest : public WindowTest {
protected:
    void openClassifier()
    {
        open(FakeEngine::classifierConfig());
        window->examples().parentWidget()->show();
        window->examples().parentWidget()->raise();
        QApplication::processEvents();
    }
    ConfusionMatrix& matrix() const { return *window->examples().matrix(); }
    ExampleView& example() const { return *window->examples().example(); }
    QString labels() const // everything the panel says
    {
        QStringList all;
        for (const QLabel* label : window->examples().findChildren<QLabel*>())
            all << label->text();
        return all.join(QLatin1Char('\n'));
    }
    NewRunDialog* newRun()
    {
        window->actions().newRun->trigger();
        return window->findChild<NewRunDialog*>();
    }
    static void choose(QComboBox* combo, int index)
    {
        combo->setCurrentIndex(index);
        emit combo->activated(index);
    }
};

bool contains(const QString& text, const char* part) { return text.contains(QString::fromUtf8(part)); }

} // namespace

TEST_F(ExamplesTest, TheConfusionMatrixCountsAndSaysItInWords)
{
    openClassifier();
    EXPECT_TRUE(matrix().isEmpty());
    EXPECT_FALSE(window->actions().copyConfusion->isEnabled());
    poll(10);
    ASSERT_FALSE(matrix().isEmpty());
    EXPECT_EQ(matrix().csv(), QStringLiteral("truth \\ predicted,cat,\"dog, small\",bird\n"
                                             "cat,3,1,0\n\"dog, small\",0,3,1\nbird,1,0,3\n"));
    EXPECT_TRUE(contains(labels(), "After step 10: 75")) << labels().toStdString();
    EXPECT_TRUE(contains(labels(), "of 12 right"));

    hover(matrix(), matrix().cellRect(0, 1).center());
    EXPECT_TRUE(contains(matrix().currentWords(), "cat taken for dog, small: 1 of 4 (25"))
        << matrix().currentWords().toStdString();
    EXPECT_EQ(matrix().toolTip(), matrix().currentWords());
    EXPECT_TRUE(labels().contains(matrix().currentWords()));
    hover(matrix(), matrix().cellRect(2, 2).center());
    EXPECT_TRUE(contains(matrix().currentWords(), "bird recognised: 3 of 4"));
    hover(matrix(), QPointF(1, 1));
    EXPECT_EQ(matrix().currentWords(), QString());

    matrix().setFocus(Qt::TabFocusReason);
    QTest::keyClick(&matrix(), Qt::Key_Down);
    QTest::keyClick(&matrix(), Qt::Key_Right);
    EXPECT_TRUE(contains(matrix().currentWords(), "dog, small recognised"));
    EXPECT_EQ(matrix().accessibleDescription(), matrix().currentWords());

    window->actions().copyConfusion->trigger();
    EXPECT_EQ(QApplication::clipboard()->text(), matrix().csv());
}

TEST_F(ExamplesTest, AnExampleIsShownAndFollowsTheWeights)
{
    openClassifier();
    poll(1);
    ASSERT_NE(lastPosted<RequestPredictions>(), nullptr);
    EXPECT_EQ(example().verdict(), QStringLiteral("cat, recognised"));
    EXPECT_TRUE(example().when().startsWith(QStringLiteral("after step "))) << example().when().toStdString();
    ASSERT_EQ(example().image().size(), QSize(4, 4));
    EXPECT_EQ(example().image().pixelColor(0, 0), QColor(Qt::white)); // the first of the row-patches
    EXPECT_EQ(example().image().pixelColor(1, 0), QColor(Qt::black));

    window->actions().nextExample->trigger();
    poll();
    EXPECT_EQ(lastPosted<RequestPredictions>()->first, 1U);
    EXPECT_EQ(example().verdict(), QStringLiteral("dog, small, recognised"));
    EXPECT_EQ(example().image().pixelColor(1, 0), QColor(Qt::white));
    window->actions().previousExample->trigger();
    window->actions().previousExample->trigger(); // there is none before the first
    poll();
    EXPECT_EQ(lastPosted<RequestPredictions>()->first, 0U);

    auto* number = window->examples().findChild<QSpinBox*>(QStringLiteral("example-number"));
    EXPECT_EQ(number->maximum(), 12);
    number->setValue(8);
    poll();
    EXPECT_EQ(example().verdict(), QStringLiteral("dog, small, taken for bird"));

    // After the next look at the held-out examples it is asked for again.
    const auto asked = [this] {
        return std::ranges::count_if(engine->posted,
                                     [](const Command& c) { return std::holds_alternative<RequestPredictions>(c); });
    };
    const auto before = asked();
    poll(9);
    EXPECT_EQ(asked(), before + 1);
}

TEST_F(ExamplesTest, TheNextWrongOneIsFound)
{
    openClassifier();
    poll(1);
    window->actions().nextWrong->trigger();
    poll();
    EXPECT_EQ(example().verdict(), QStringLiteral("cat, taken for dog, small")); // the seventh
    EXPECT_EQ(window->examples().findChild<QSpinBox*>(QStringLiteral("example-number"))->value(), 7);
    window->examples().showExample(8);
    poll();
    EXPECT_EQ(example().verdict(), QStringLiteral("bird, taken for cat"));
    window->actions().nextWrong->trigger();
    poll();
    EXPECT_TRUE(contains(labels(), "No wrong one up to example 12"));
    EXPECT_EQ(example().verdict(), QStringLiteral("bird, taken for cat"));
}

TEST_F(ExamplesTest, LookingNowAsksForAValidationAndARefusalIsSaid)
{
    openClassifier();
    poll(1);
    window->actions().validate->trigger();
    EXPECT_FALSE(window->examples().findChild<QPushButton*>(QStringLiteral("validate"))->isEnabled());
    poll();
    EXPECT_NE(lastPosted<RequestValidation>(), nullptr);
    EXPECT_FALSE(matrix().isEmpty());
    EXPECT_TRUE(window->examples().findChild<QPushButton*>(QStringLiteral("validate"))->isEnabled());
    poll(); // the example is asked for again
    engine->rejectNext("Not now.");
    window->actions().nextExample->trigger();
    poll();
    EXPECT_EQ(example().verdict(), QStringLiteral("Not now."));
}

TEST_F(ExamplesTest, ALanguageModelWritesText)
{
    open();
    window->examples().parentWidget()->raise();
    EXPECT_FALSE(window->examples().classifies());
    EXPECT_FALSE(window->actions().nextExample->isEnabled());
    SamplePage& page = *window->examples().samplePage();
    page.prompt()->setText(QStringLiteral("Once"));
    page.findChild<QSpinBox*>(QStringLiteral("sample-length"))->setValue(50);
    auto* temperature = page.findChild<NumberEdit*>(QStringLiteral("temperature"));
    temperature->setFocus();
    temperature->selectAll();
    QTest::keyClicks(temperature, QStringLiteral("0.5"));
    window->actions().writeText->trigger();
    const RequestSample* asked = lastPosted<RequestSample>();
    ASSERT_NE(asked, nullptr);
    EXPECT_EQ(asked->prompt, "Once");
    EXPECT_EQ(asked->length, 50);
    EXPECT_EQ(asked->temperature, 0.5);
    const std::uint64_t seed = asked->seed;
    poll();
    EXPECT_EQ(page.text(), QStringLiteral("Once and so on"));
    page.sample();
    EXPECT_NE(lastPosted<RequestSample>()->seed, seed); // another text
    engine->rejectNext("The model knows none of the prompt's characters.");
    poll();
    EXPECT_TRUE(contains(labels(), "knows none of"));
    EXPECT_EQ(page.text(), QStringLiteral("Once and so on")); // what was there stays
}

TEST_F(ExamplesTest, TheAccuracyIsDrawnWhereThereAreClasses)
{
    open();
    EXPECT_FALSE(window->plots().plots().contains(window->plots().accuracyPlot()));
    EXPECT_FALSE(window->plots().accuracyPlot()->isVisible());
    window->startRun(FakeEngine::classifierConfig());
    poll(40);
    AccuracyPlot& plot = *window->plots().accuracyPlot();
    EXPECT_TRUE(plot.isVisible());
    EXPECT_TRUE(window->plots().plots().contains(&plot));
    EXPECT_TRUE(contains(plot.title(), "held out 75")) << plot.title().toStdString();
    EXPECT_TRUE(contains(plot.title(), "at step 10")); // the first of equals
    const QByteArray csv = plot.visibleCsv();
    EXPECT_TRUE(csv.startsWith("step,outcome,accuracy,smoothed,validation_accuracy\r\n1,applied,"));
    EXPECT_EQ(csv.count(",0.75\r\n"), 4); // after the steps 10, 20, 30 and 40
    EXPECT_TRUE(contains(window->plots().lossPlot()->title(), "best 0.5244 at step 40"))
        << window->plots().lossPlot()->title().toStdString();
    EXPECT_TRUE(window->plots().lossPlot()->visibleCsv().startsWith("step,outcome,loss,smoothed,validation_loss\r\n"));
    window->startRun(FakeEngine::smallConfig());
    poll(5);
    EXPECT_FALSE(plot.isVisible());
}

TEST_F(ExamplesTest, TheExperimentPanelSaysWhatIsLearnt)
{
    openClassifier();
    poll(25);
    QStringList texts;
    for (const ElidedLabel* label : window->findChildren<ElidedLabel*>())
        texts << label->text();
    EXPECT_TRUE(texts.contains(QStringLiteral("Generated digits, 3 classes"))) << texts.join(u'|').toStdString();
    EXPECT_TRUE(texts.contains(QStringLiteral("Animals made up for tests")));
    EXPECT_TRUE(texts.contains(QStringLiteral("0.50 of 50 steps each")));
}

TEST_F(ExamplesTest, ANewRunIsOfAnyTask)
{
    open();
    NewRunDialog* dialog = newRun();
    auto* task = dialog->findChild<ChoiceCombo*>(QStringLiteral("task"));
    ASSERT_NE(task, nullptr);
    ASSERT_EQ(task->count(), static_cast<int>(tasks().size()));
    auto* data = dialog->findChild<QLineEdit*>(QStringLiteral("data"));
    auto* patches = dialog->findChild<ChoiceCombo*>(QStringLiteral("patch-size"));
    EXPECT_FALSE(data->isVisible());
    EXPECT_FALSE(patches->isVisible());

    choose(task, task->findData(QStringLiteral("idx")));
    EXPECT_TRUE(data->isVisible());
    EXPECT_TRUE(patches->isVisible());
    EXPECT_FALSE(dialog->problem().isEmpty()); // no file yet
    data->setText(QStringLiteral("/data/train-images-idx3-ubyte"));
    EXPECT_EQ(dialog->problem(), QString());

    choose(task, task->findData(QStringLiteral("digits")));
    choose(patches, patches->findData(QStringLiteral("7")));
    EXPECT_FALSE(data->isVisible());
    EXPECT_EQ(dialog->problem(), QString());
    for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
        if (button->text() == QStringLiteral("Start"))
            QTest::mouseClick(button, Qt::LeftButton);
    }
    ASSERT_EQ(engines, 2);
    EXPECT_EQ(engine->live().config.task, "digits");
    EXPECT_EQ(engine->live().config.patchSize, 7);
}

TEST_F(ExamplesTest, ANewRunSaysWhatItsFieldsMean)
{
    open();
    NewRunDialog* dialog = newRun();
    auto* task = dialog->findChild<ChoiceCombo*>(QStringLiteral("task"));
    auto* causal = dialog->findChild<ChoiceCombo*>(QStringLiteral("causal"));
    choose(task, task->findData(QStringLiteral("language-model")));
    // It always looks back only, whatever the setting of classifiers is; the setting stays.
    EXPECT_EQ(causal->currentData().toString(), QStringLiteral("on"));
    EXPECT_FALSE(causal->isEnabled());
    EXPECT_TRUE(causal->toolTip().contains(QStringLiteral("always"))) << causal->toolTip().toStdString();
    EXPECT_EQ(dialog->config().model.causal, window->controller().run().live.config.model.causal);
    auto* text = dialog->findChild<QLineEdit*>(QStringLiteral("text"));
    ASSERT_TRUE(text->isVisible());
    text->setText(QStringLiteral("/my/novel.txt"));
    EXPECT_EQ(dialog->config().text, "/my/novel.txt");
    // A number that is no number of anything is a word.
    auto* threads = dialog->findChild<NumberEdit*>(QStringLiteral("threads"));
    threads->setText(QStringLiteral("0"));
    EXPECT_EQ(dialog->config().threads, 0);
    threads->setText(QStringLiteral("automatic"));
    EXPECT_EQ(dialog->config().threads, 0);
    EXPECT_EQ(dialog->problem(), QString());
    EXPECT_FALSE(dialog->findChild<NumberEdit*>(QStringLiteral("precision-schedule"))->placeholderText().isEmpty());

    choose(task, task->findData(QStringLiteral("csv")));
    EXPECT_TRUE(causal->isEnabled());
    EXPECT_FALSE(text->isVisible());
    EXPECT_TRUE(dialog->problem().contains(QStringLiteral("data file"))) << dialog->problem().toStdString();
}

TEST_F(ExamplesTest, ANewRunStartsFromAnExperiment)
{
    RunConfig config = FakeEngine::smallConfig();
    config.text = "/mine.txt";
    open(config);
    NewRunDialog* dialog = newRun();
    auto* from = dialog->findChild<QComboBox*>(QStringLiteral("experiment"));
    ASSERT_EQ(from->count(), static_cast<int>(experiments().size()) + 1);
    for (std::size_t i = 0; i < experiments().size(); ++i) {
        choose(from, static_cast<int>(i) + 1);
        EXPECT_EQ(dialog->problem(), QString()) << experiments()[i].key;
        RunConfig expected = experiments()[i].config;
        expected.text = "/mine.txt";
        EXPECT_EQ(dialog->config(), expected) << experiments()[i].key;
    }
    // What only another task can do does not stand in the way.
    choose(from, 1 + static_cast<int>(findExperiment("fine-tune") - experiments().data()));
    auto* task = dialog->findChild<ChoiceCombo*>(QStringLiteral("task"));
    choose(task, task->findData(QStringLiteral("digits")));
    EXPECT_EQ(dialog->problem(), QString());
    EXPECT_EQ(dialog->config().pretrainSteps, 0);
    choose(from, 0);
    EXPECT_EQ(dialog->config(), window->controller().run().live.config);
}

TEST_F(ExamplesTest, OpeningATextMakesALanguageModelOfIt)
{
    openClassifier();
    window->actions().defaultText->trigger();
    poll(1);
    ASSERT_EQ(engines, 2);
    EXPECT_EQ(engine->live().config.task, "language-model");
}

TEST(ProbabilityBars, ShowTheLikeliestAndTheTruth)
{
    QStringList classes;
    Prediction prediction;
    for (int i = 0; i < 40; ++i) {
        classes << QString::number(i);
        prediction.probabilities.push_back(static_cast<float>(i) / 780.0F);
    }
    prediction.target = 3; // the fourth least likely
    prediction.predicted = 39;
    ProbabilityBars bars;
    bars.setPrediction(classes, prediction);
    EXPECT_EQ(bars.shown(), (QList<int>{3, 31, 32, 33, 34, 35, 36, 37, 38, 39}));
}

TEST(HeldOutSeries, KnowsNewestAndBest)
{
    RunModel run;
    for (const double loss : {0.9, std::nan(""), 0.4, 0.6, 0.4}) {
        StepRecord record;
        record.step = static_cast<std::int64_t>(run.steps.size()) + 1;
        record.validationLoss = loss;
        run.steps.push_back(record);
    }
    HeldOutSeries series(&StepRecord::validationLoss, false);
    series.extend(&run);
    ASSERT_EQ(series.points().size(), 4U);
    EXPECT_EQ(series.newest()->step, 5);
    EXPECT_EQ(series.best()->step, 3); // the first of equals
    EXPECT_EQ(series.at(4), 0.6);
    EXPECT_TRUE(std::isnan(series.at(2)));
    const auto all = series.extent(QCPRange(1, 4), [](double value) { return value; });
    EXPECT_FLOAT_EQ(all.min, 0.4F);
    EXPECT_FLOAT_EQ(all.max, 0.9F);
    // Since the head was swapped it is another figure: what was before counts no more.
    series.extend(&run, 4);
    EXPECT_EQ(series.points().size(), 4U);
    EXPECT_EQ(series.best()->step, 5);
    series.extend(&run, 6);
    EXPECT_EQ(series.points().size(), 4U);
    EXPECT_EQ(series.newest(), nullptr);
    EXPECT_EQ(series.best(), nullptr);
}

} // namespace halfscope::test
