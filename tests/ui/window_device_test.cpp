// SPDX-License-Identifier: GPL-3.0-or-later
// The device of a run in the window: chosen, remembered, failed, and what of its time and memory is shown.
#include <QLabel>
#include <QPushButton>
#include <QStandardItemModel>
#include <QToolButton>

#include "tests/support/faulty_backend.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/new_run_dialog.h"
#include "ui/models/device_list.h"
#include "ui/models/event_text.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/device_field.h"
#include "ui/panels/run_notices.h"
#include "ui/panels/status_text.h"
#include "ui/panels/window_actions.h"
#include "ui/settings/remembered_device.h"

namespace halfscope::test {

namespace {

class DeviceTest : public WindowTest {
protected:
    // With a pretended GPU that multiplies what the CPU does.
    static void pretend() { pretendDevice(); }
    static void pretendNone(const std::string& why)
    {
        replaceBackend({"cuda", "CUDA", false, why}, [](int) -> std::unique_ptr<Backend> { return nullptr; });
    }
    NewRunDialog* chooseDevice()
    {
        window->actions().device->trigger();
        auto* dialog = window->findChild<NewRunDialog*>();
        EXPECT_TRUE(QTest::qWaitFor([] { return !DeviceList::instance().isLooking(); }, 30'000));
        return dialog;
    }
    QPushButton* bannerButton(const QString& text) const
    {
        for (QPushButton* button : window->banners().findChildren<QPushButton*>()) {
            if (button->text() == text) {
                return button;
            }
        }
        return nullptr;
    }
};

} // namespace

TEST_F(DeviceTest, IsChosenByNameAndRemembered)
{
    pretend();
    open();
    NewRunDialog* dialog = chooseDevice();
    ASSERT_NE(dialog, nullptr);
    auto* field = dialog->findChild<DeviceField*>();
    ASSERT_NE(field, nullptr);
    ChoiceCombo* combo = field->combo();
    EXPECT_EQ(combo->currentData().toString(), QStringLiteral("cpu"));
    EXPECT_TRUE(combo->currentText().startsWith(QStringLiteral("CPU · ")));
    EXPECT_TRUE(field->note().contains(QStringLiteral("Natively: FP32")));
    EXPECT_TRUE(field->note().contains(QStringLiteral("Emulated exactly: TF32, FP16, BF16, FP8.")));
    const int gpu = combo->findText(QStringLiteral("Pretended device"));
    ASSERT_GE(gpu, 0);
    combo->setCurrentIndex(gpu);
    emit combo->activated(gpu);
    emit dialog->startRequested(dialog->config());
    EXPECT_EQ(dialog->config().backend, "cuda");
    dialog->close();
    EXPECT_EQ(engine->info().config.backend, "cuda");
    EXPECT_EQ(settings->deviceBackend(), QStringLiteral("cuda"));

    // At the next start: the GPU if it can be used, else the CPU.
    RunConfig config;
    useRememberedDevice(*settings, config);
    EXPECT_EQ(config.backend, kAutomaticBackend);
    settings->setDevice(QStringLiteral("cuda"), QStringLiteral("0000:c1:00"));
    useRememberedDevice(*settings, config);
    EXPECT_EQ(config.device, "0000:c1:00");
    settings->setDevice(QStringLiteral("onednn"), {});
    useRememberedDevice(*settings, config);
    EXPECT_EQ(config.backend, "onednn");
    EXPECT_EQ(config.device, "");
    // What somebody wrote into the file by hand is not believed.
    RunConfig untouched;
    for (const auto& [backend, device] : {std::pair("abacus", ""), std::pair("cuda", "rm -rf")}) {
        settings->setDevice(QString::fromLatin1(backend), QString::fromLatin1(device));
        useRememberedDevice(*settings, untouched);
        EXPECT_EQ(untouched, RunConfig{});
    }
}

TEST_F(DeviceTest, OneThatIsNotHereStaysChosenUntilSomebodyChoosesAnother)
{
    pretendNone("This machine has no NVIDIA driver (none).");
    RunConfig config = FakeEngine::smallConfig();
    config.backend = "cuda";
    config.device = "0000:99:00";
    open(config);
    NewRunDialog* dialog = chooseDevice();
    auto* field = dialog->findChild<DeviceField*>();
    EXPECT_TRUE(field->combo()->currentText().contains(QStringLiteral("0000:99:00")));
    EXPECT_EQ(dialog->config().device, "0000:99:00");
    EXPECT_TRUE(field->note().contains(QStringLiteral("No GPU: This machine has no NVIDIA driver (none).")));
    const int cuda = field->combo()->findData(QStringLiteral("cuda"));
    ASSERT_GE(cuda, 0);
    EXPECT_FALSE(qobject_cast<QStandardItemModel*>(field->combo()->model())->item(cuda)->isEnabled());
    field->setValue(QStringLiteral("cpu"), QStringLiteral("1")); // a number that nobody needs there
    EXPECT_EQ(field->combo()->currentData().toString(), QStringLiteral("cpu"));
    const int cpu = field->combo()->findData(QStringLiteral("cpu"));
    field->combo()->setCurrentIndex(cpu);
    emit field->combo()->activated(cpu);
    EXPECT_EQ(dialog->config().backend, "cpu");
    EXPECT_EQ(dialog->config().device, "");
}

TEST_F(DeviceTest, ThatFailsOffersToContinueOnTheCpu)
{
    open();
    poll(5);
    EXPECT_FALSE(window->actions().continueRun->isEnabled());
    engine->failOfDevice("The GPU stopped working.");
    poll();
    EXPECT_TRUE(window->actions().continueRun->isEnabled());
    const QString text = window->banners().text(RunNotices::kFailure);
    EXPECT_TRUE(text.contains(QStringLiteral("The GPU stopped working. ")));
    EXPECT_TRUE(text.contains(QStringLiteral("from the state after step 5")));
    EXPECT_TRUE(window->actions().exportRun->isEnabled()) << "what there is can be exported";
    QPushButton* button = bannerButton(QStringLiteral("Continue on the CPU"));
    ASSERT_NE(button, nullptr);
    button->click();
    poll();
    ASSERT_NE(lastPosted<Continue>(), nullptr);
    EXPECT_EQ(window->banners().text(RunNotices::kFailure), QString());
    EXPECT_FALSE(window->actions().continueRun->isEnabled());
    poll(3);
    const RunModel& run = window->controller().run();
    EXPECT_EQ(run.steps.size(), 8U) << "nothing was forgotten";
    EXPECT_EQ(run.info.backend, "CPU");
    ASSERT_EQ(run.info.continuations.size(), 1U);
    bool told = false;
    for (const Event& event : run.events) {
        if (event.kind == EventKind::Continued) {
            told = eventText(event, run).contains(QStringLiteral("from the state after step 5"));
        }
    }
    EXPECT_TRUE(told);
}

TEST_F(DeviceTest, ThatCannotTakeTheRunOffersToBeginOnTheCpu)
{
    open();
    engine->failOfDevice("This model needs 9.0 GB of GPU memory and 1.0 GB are free; choose a smaller model or batch.");
    poll();
    EXPECT_TRUE(window->banners().text(RunNotices::kFailure).contains(QStringLiteral("needs 9.0 GB of GPU memory")));
    QPushButton* button = bannerButton(QStringLiteral("Start on the CPU"));
    ASSERT_NE(button, nullptr);
    button->click();
    EXPECT_NE(lastPosted<Continue>(), nullptr);
}

TEST_F(DeviceTest, FallingBackIsSaid)
{
    open();
    engine->fallBack("CUDA cannot be used: There is an NVIDIA driver, but it sees no GPU.");
    engine->begin();
    poll();
    EXPECT_EQ(window->banners().text(RunNotices::kFallback),
              QStringLiteral("The run is on the CPU: CUDA cannot be used: There is an NVIDIA driver, but it sees no "
                             "GPU."));
}

TEST_F(DeviceTest, TimeAndMemoryAreShown)
{
    StepTime time;
    time.whole = 10.0;
    time.forward = 3.0;
    time.backward = 5.0;
    time.optimizer = 1.0;
    time.statistics = 0.5;
    EXPECT_EQ(stepTimeText(time), QStringLiteral("step 10 ms: forward 3, backward 5, optimizer 1, statistics 0.5"));
    EXPECT_TRUE(stepTimeDetail(time).contains(QStringLiteral("Backward pass: 5 ms, 50")));
    EXPECT_TRUE(stepTimeDetail(time).contains(QStringLiteral("All else: 0.5 ms")));
    EXPECT_EQ(stepTimeText(StepTime{}), QString());

    open();
    poll(5);
    const StepTime shown = recentStepTime(window->controller().run());
    ASSERT_GT(shown.whole, 0.0);
    const auto* label = named<QLabel>(QStringLiteral("Time of a step"));
    EXPECT_TRUE(label->text() == stepTimeText(shown) || label->text() == briefStepTimeText(shown));
    EXPECT_EQ(label->toolTip(), stepTimeDetail(shown));
    const auto* memory = named<QLabel>(QStringLiteral("Memory"));
    EXPECT_TRUE(memory->text().contains(QStringLiteral("memory "))) << memory->text().toStdString();
    engine->useDeviceMemory({60e9, 80e9});
    poll(1);
    EXPECT_TRUE(memory->text().contains(QStringLiteral("GPU 20.0 GB of 80.0 GB"))) << memory->text().toStdString();
}

} // namespace halfscope::test
