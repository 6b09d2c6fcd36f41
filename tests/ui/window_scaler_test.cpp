// SPDX-License-Identifier: GPL-3.0-or-later
// Every knob of the scaler panel, by keyboard and mouse.
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>

#include "engine/train/settings_registry.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/setting_labels.h"
#include "ui/panels/banner_stack.h"
#include "ui/panels/number_edit.h"
#include "ui/panels/run_notices.h"
#include "ui/panels/scaler_panel.h"
#include "ui/panels/scaler_rules.h"
#include "ui/panels/setting_editor.h"

namespace halfscope::test {

namespace {

class ScalerPanelTest : public WindowTest {
protected:
    NumberEdit* edit(const QString& key)
    {
        for (NumberEdit* found : window->findChildren<NumberEdit*>(key)) {
            return found;
        }
        ADD_FAILURE() << "no field for " << key.toStdString();
        return nullptr;
    }
    SettingEditor* editor(const QString& key)
    {
        for (SettingEditor* found : window->findChildren<SettingEditor*>()) {
            if (found->key() == key) {
                return found;
            }
        }
        return nullptr;
    }
    void type(NumberEdit* field, const QString& text)
    {
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }
};

} // namespace

TEST_F(ScalerPanelTest, EveryEditorsKeyIsASetting)
{
    open();
    const auto editors = window->findChildren<SettingEditor*>();
    ASSERT_GE(editors.size(), 13);
    for (const SettingEditor* one : editors) {
        if (one->key() != QStringLiteral("scale")) {
            const SettingInfo* info = findSetting(one->key().toStdString());
            ASSERT_NE(info, nullptr) << one->key().toStdString();
            EXPECT_TRUE(info->live) << one->key().toStdString();
        }
    }
}

TEST_F(ScalerPanelTest, EachNumberSendsItsSetting)
{
    open();
    const struct {
        const char* key;
        const char* typed;
        double meant;
    } cases[] = {
        {"initial-scale", "2^12", 4096},   {"growth-factor", "4", 4},       {"backoff-factor", "0.25", 0.25},
        {"growth-interval", "2^6", 64},    {"hysteresis", "3", 3},          {"min-scale", "1", 1},
        {"max-scale", "2^24", 16777216.0}, {"learning-rate", "5e-4", 5e-4},
    };
    for (const auto& one : cases) {
        engine->posted.clear();
        type(edit(QLatin1String(one.key)), QLatin1String(one.typed));
        const auto* sent = lastPosted<SetSetting>();
        ASSERT_NE(sent, nullptr) << one.key;
        EXPECT_EQ(sent->key, one.key);
        EXPECT_EQ(QString::fromStdString(sent->value).toDouble(), one.meant) << sent->value;
        poll();
        EXPECT_EQ(editor(QLatin1String(one.key))->rejection(), QString()) << one.key;
        EXPECT_EQ(settingValue(engine->live().config, one.key), sent->value);
    }
}

TEST_F(ScalerPanelTest, EachChoiceSendsItsSetting)
{
    open();
    const struct {
        const char* key;
        const char* value;
    } cases[] = {{"hysteresis-kind", "budget"},
                 {"at-min", "pause"},
                 {"schedule", "warmup-cosine"},
                 {"precision", "mixed-bf16"},
                 {"scaler", "static"}};
    for (const auto& one : cases) {
        engine->posted.clear();
        auto* combo = window->findChild<QComboBox*>(QLatin1String(one.key));
        ASSERT_NE(combo, nullptr) << one.key;
        const int wanted = combo->findData(QLatin1String(one.value));
        ASSERT_GE(wanted, 0) << one.key;
        combo->setFocus();
        const int steps = wanted - combo->currentIndex();
        for (int i = 0; i < std::abs(steps); ++i) {
            QTest::keyClick(combo, steps > 0 ? Qt::Key_Down : Qt::Key_Up);
        }
        const auto* sent = lastPosted<SetSetting>();
        ASSERT_NE(sent, nullptr) << one.key;
        EXPECT_EQ(sent->key, one.key);
        EXPECT_EQ(sent->value, one.value);
        poll();
        EXPECT_EQ(combo->currentData().toString(), QLatin1String(one.value));
    }
}

TEST_F(ScalerPanelTest, ValueIsPendingUntilAcknowledged)
{
    open();
    engine->holdCommands = true;
    type(edit(QStringLiteral("growth-interval")), QStringLiteral("77"));
    EXPECT_TRUE(editor(QStringLiteral("growth-interval"))->isPending());
    poll(3);
    EXPECT_TRUE(editor(QStringLiteral("growth-interval"))->isPending());
    EXPECT_EQ(edit(QStringLiteral("growth-interval"))->text(), QStringLiteral("77"));
    engine->holdCommands = false;
    poll();
    EXPECT_FALSE(editor(QStringLiteral("growth-interval"))->isPending());
    EXPECT_EQ(edit(QStringLiteral("growth-interval"))->value(), QStringLiteral("77"));
}

TEST_F(ScalerPanelTest, RefusedValueComesBackWithTheReason)
{
    open();
    type(edit(QStringLiteral("growth-factor")), QStringLiteral("0.5"));
    poll();
    EXPECT_EQ(edit(QStringLiteral("growth-factor"))->text(), QStringLiteral("2"));
    const QString reason = editor(QStringLiteral("growth-factor"))->rejection();
    // In the window's words, not those of the command line.
    EXPECT_TRUE(reason.startsWith(QStringLiteral("Growth factor cannot be “0.5”. Allowed: "))) << reason.toStdString();
    EXPECT_FALSE(reason.contains(QLatin1Char('^'))) << reason.toStdString();
    // The next good value takes the reason away.
    type(edit(QStringLiteral("growth-factor")), QStringLiteral("4"));
    poll();
    EXPECT_EQ(editor(QStringLiteral("growth-factor"))->rejection(), QString());
}

TEST_F(ScalerPanelTest, RefusalSaysWhatWasTypedUnderTheKnobsName)
{
    open();
    engine->rejectNext("The loss scale must be a finite number greater than 0."); // as the trainer says it
    type(edit(QStringLiteral("scale")), QStringLiteral("abc"));
    poll();
    const QString reason = editor(QStringLiteral("scale"))->rejection();
    EXPECT_TRUE(reason.startsWith(QStringLiteral("Loss scale cannot be “abc”. The loss scale must be ")))
        << reason.toStdString();

    EXPECT_EQ(refusalText(QStringLiteral("growth-factor"), QStringLiteral("1/2"),
                          QStringLiteral("growth-factor = \"0.5\" is not allowed; allowed: at least 1 + 2^-23.")),
              QStringLiteral("Growth factor cannot be “1/2”. Allowed: at least 1 + 2⁻²³."));
    // A knob may be refused for what it would make of another, whose value nobody typed.
    EXPECT_EQ(refusalText(QStringLiteral("max-scale"), QStringLiteral("8"),
                          QStringLiteral("min-scale = 128 is not allowed: it must be a number not above max-scale, "
                                         "which is 8.")),
              QStringLiteral("Smallest scale cannot be “2⁷”. Allowed: a number not above Largest scale, which is 8."));
    EXPECT_EQ(refusalText(QStringLiteral("min-learning-rate"), QStringLiteral("1"),
                          QStringLiteral("min-learning-rate = 1 is above learning-rate = 0.5; the warm-cosine goes.")),
              QStringLiteral("Smallest learning rate = 1 is above Learning rate = 0.5; the warm-cosine goes."));
}

TEST_F(ScalerPanelTest, ABoundThatTakesTheScaleAlongSaysSo)
{
    open();
    const auto notice = [&] { return window->banners().text(RunNotices::kBound); };
    type(edit(QStringLiteral("min-scale")), QStringLiteral("0.5"));
    poll();
    EXPECT_EQ(notice(), QString());
    type(edit(QStringLiteral("min-scale")), QStringLiteral("2^20"));
    poll();
    EXPECT_TRUE(notice().contains(QStringLiteral("raised the scale to 2²⁰"))) << notice().toStdString();
    type(edit(QStringLiteral("min-scale")), QStringLiteral("2"));
    poll();
    EXPECT_EQ(notice(), QString());
}

TEST_F(ScalerPanelTest, WordsInANumberFieldAreRefusedByTheEngine)
{
    open();
    type(edit(QStringLiteral("growth-interval")), QStringLiteral("often"));
    poll();
    EXPECT_EQ(edit(QStringLiteral("growth-interval"))->text(), QStringLiteral("20"));
    EXPECT_NE(editor(QStringLiteral("growth-interval"))->rejection(), QString());
}

TEST_F(ScalerPanelTest, EscapeGivesAnEditUp)
{
    open();
    NumberEdit* field = edit(QStringLiteral("growth-interval"));
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, QStringLiteral("9"));
    QTest::keyClick(field, Qt::Key_Escape);
    EXPECT_EQ(field->text(), QStringLiteral("20"));
    field->clearFocus();
    EXPECT_EQ(lastPosted<SetSetting>(), nullptr);
}

TEST_F(ScalerPanelTest, TypingIsNotOverwrittenByTheRun)
{
    open();
    NumberEdit* field = edit(QStringLiteral("scale"));
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, QStringLiteral("12"));
    poll(45); // the scale grows twice meanwhile
    EXPECT_EQ(field->text(), QStringLiteral("12"));
}

TEST_F(ScalerPanelTest, ScaleBySliderButtonsAndExactEntry)
{
    open();
    auto* slider = named<QSlider>(QStringLiteral("Loss scale, in powers of two"));
    ASSERT_EQ(slider->value(), 16);
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Left);
    ASSERT_NE(lastPosted<SetScale>(), nullptr);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 32768.0);
    poll();
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Double the loss scale")), Qt::LeftButton);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 65536.0);
    poll();
    QTest::mouseClick(named<QToolButton>(QStringLiteral("Halve the loss scale")), Qt::LeftButton);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 32768.0);
    poll();
    type(edit(QStringLiteral("scale")), QStringLiteral("3e4"));
    EXPECT_EQ(lastPosted<SetScale>()->scale, 30000.0);
    poll();
    // 30 000 is between two marks of the slider; showing it there must not send anything.
    const auto count = engine->posted.size();
    poll(2);
    EXPECT_EQ(engine->posted.size(), count);
    auto* label = window->findChild<QLabel*>(QStringLiteral("scale-now"));
    EXPECT_TRUE(label->text().contains(QStringLiteral("30\u202F000"))) << label->text().toStdString();
    QTest::keyClick(edit(QStringLiteral("scale")), Qt::Key_Up);
    EXPECT_EQ(lastPosted<SetScale>()->scale, 60000.0);
}

TEST_F(ScalerPanelTest, KnobsThatDoNothingAreDisabled)
{
    open();
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("static"));
    poll();
    EXPECT_FALSE(edit(QStringLiteral("growth-factor"))->isEnabled());
    EXPECT_FALSE(edit(QStringLiteral("growth-interval"))->isEnabled());
    EXPECT_TRUE(edit(QStringLiteral("scale"))->isEnabled());
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("off"));
    poll();
    EXPECT_FALSE(edit(QStringLiteral("scale"))->isEnabled());
    EXPECT_TRUE(window->findChild<QComboBox*>(QStringLiteral("scaler"))->isEnabled());
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("pytorch"));
    poll();
    EXPECT_TRUE(edit(QStringLiteral("growth-factor"))->isEnabled());
}

TEST_F(ScalerPanelTest, ChangedPresetSaysSoAndOneClickBringsPyTorchBack)
{
    open();
    auto* combo = window->findChild<QComboBox*>(QStringLiteral("scaler"));
    EXPECT_TRUE(combo->currentText().contains(QStringLiteral("changed"))); // the interval is 20
    QTest::mouseClick(named<QPushButton>(QStringLiteral("PyTorch defaults")), Qt::LeftButton);
    poll();
    EXPECT_EQ(window->controller().run().live.config.scaler, ScalerConfig{});
    EXPECT_FALSE(combo->currentText().contains(QStringLiteral("changed")));
    EXPECT_EQ(window->controller().run().live.scaler.scale, 65536.0);
}

TEST_F(ScalerPanelTest, PyTorchDefaultsBringTheScaleToo)
{
    RunConfig config = FakeEngine::smallConfig();
    config.scaler.initialScale = 1;
    open(config);
    ASSERT_EQ(window->controller().run().live.scaler.scale, 1.0);
    QTest::mouseClick(named<QPushButton>(QStringLiteral("PyTorch defaults")), Qt::LeftButton);
    poll();
    EXPECT_EQ(window->controller().run().live.config.scaler, ScalerConfig{});
    EXPECT_EQ(window->controller().run().live.scaler.scale, 65536.0);
}

TEST_F(ScalerPanelTest, ChangedPresetSaysWhatDiffers)
{
    RunConfig config = FakeEngine::smallConfig();
    config.scaler.initialScale = 1;
    open(config);
    const auto says = [&](const QString& text) {
        for (const QLabel* label : window->findChildren<QLabel*>()) {
            if (label->isVisible() && label->text() == text) {
                return label->toolTip().contains(text);
            }
        }
        return false;
    };
    EXPECT_TRUE(says(QStringLiteral("Changed: initial scale 1, growth interval 20")));
    type(edit(QStringLiteral("min-scale")), QStringLiteral("1"));
    poll();
    EXPECT_TRUE(says(QStringLiteral("Changed: initial scale 1, growth interval 20, smallest scale 1")));
}

TEST_F(ScalerPanelTest, FieldsOfTheFinerRulesBeginWhereTheOthersDo)
{
    open();
    window->findChild<ScalerRules*>()->setOpen(true);
    QTest::qWait(20);
    const auto left = [&](const QString& key) {
        const QWidget* field = editor(key)->field();
        return field->mapTo(window.get(), QPoint()).x();
    };
    EXPECT_EQ(left(QStringLiteral("growth-interval")), left(QStringLiteral("tolerance")));
    EXPECT_EQ(left(QStringLiteral("growth-interval")), left(QStringLiteral("at-min")));
}

TEST_F(ScalerPanelTest, ReasonOfARefusalGoesWithEscPresetAndRestartAndTakesNoRoom)
{
    open();
    const auto refuse = [&] {
        type(edit(QStringLiteral("growth-factor")), QStringLiteral("0.5"));
        poll();
    };
    const auto reason = [&] { return editor(QStringLiteral("growth-factor"))->rejection(); };
    const auto bubble = [&]() -> const QLabel* {
        for (const QLabel* label : window->findChildren<QLabel*>(QStringLiteral("rejection-bubble"))) {
            if (label->isVisible()) {
                return label;
            }
        }
        return nullptr;
    };
    auto* panel = window->findChild<ScalerPanel*>();
    const QSize wanted = panel->sizeHint();
    refuse();
    ASSERT_NE(bubble(), nullptr);
    EXPECT_EQ(bubble()->text(), reason());
    EXPECT_TRUE(panel->rect().contains(bubble()->geometry()));
    EXPECT_GE(bubble()->height(), bubble()->heightForWidth(bubble()->width()));
    QCoreApplication::processEvents();
    EXPECT_EQ(panel->sizeHint(), wanted);

    QTest::keyClick(edit(QStringLiteral("growth-factor")), Qt::Key_Escape);
    EXPECT_EQ(reason(), QString());
    EXPECT_EQ(bubble(), nullptr);

    refuse();
    ASSERT_NE(bubble(), nullptr);
    QTest::keyClick(window.get(), Qt::Key_Escape); // the keyboard is elsewhere
    EXPECT_EQ(bubble(), nullptr);

    refuse();
    ASSERT_NE(bubble(), nullptr);
    QTest::mouseClick(const_cast<QLabel*>(bubble()), Qt::LeftButton);
    EXPECT_EQ(reason(), QString());

    // It covers what it lies over: whatever the user does next takes it away.
    refuse();
    ASSERT_NE(bubble(), nullptr);
    QTest::keyClick(edit(QStringLiteral("growth-factor")), Qt::Key_Shift); // an edit only begins
    EXPECT_NE(bubble(), nullptr);
    QTest::keyClick(edit(QStringLiteral("growth-factor")), Qt::Key_3);
    EXPECT_EQ(bubble(), nullptr);
    refuse();
    ASSERT_NE(bubble(), nullptr);
    edit(QStringLiteral("growth-interval"))->setFocus();
    EXPECT_EQ(bubble(), nullptr);
    refuse();
    ASSERT_NE(bubble(), nullptr);
    QTest::mousePress(window->findChild<QSlider*>(QStringLiteral("scale-slider")), Qt::LeftButton);
    EXPECT_EQ(bubble(), nullptr);
    QTest::mouseRelease(window->findChild<QSlider*>(QStringLiteral("scale-slider")), Qt::LeftButton);
    poll();

    refuse();
    ASSERT_NE(bubble(), nullptr);
    window->controller().setSetting(QStringLiteral("growth-factor"), QStringLiteral("4")); // from elsewhere
    poll();
    EXPECT_EQ(bubble(), nullptr);

    refuse();
    ASSERT_NE(bubble(), nullptr);
    window->controller().setSetting(QStringLiteral("scaler"), QStringLiteral("pytorch"));
    poll();
    EXPECT_EQ(bubble(), nullptr);

    refuse();
    ASSERT_NE(bubble(), nullptr);
    window->controller().restart(false);
    poll();
    EXPECT_EQ(bubble(), nullptr);
}

TEST_F(ScalerPanelTest, NumbersAsPeopleWriteThem)
{
    EXPECT_EQ(parseNumber(QStringLiteral("65536")), 65536.0);
    EXPECT_EQ(parseNumber(QStringLiteral(" 65 536 ")), 65536.0);
    EXPECT_EQ(parseNumber(QStringLiteral("65\u202F536")), 65536.0);
    EXPECT_EQ(parseNumber(QStringLiteral("2^16")), 65536.0);
    EXPECT_EQ(parseNumber(QStringLiteral("2**-3")), 0.125);
    EXPECT_EQ(parseNumber(QStringLiteral("2¹⁶")), 65536.0);
    EXPECT_EQ(parseNumber(QStringLiteral("2⁻³")), 0.125);
    EXPECT_EQ(parseNumber(QStringLiteral("1e-3")), 1e-3);
    EXPECT_EQ(parseNumber(QStringLiteral("FP32 max")), static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(parseNumber(QStringLiteral("2^")), std::nullopt);
    EXPECT_EQ(parseNumber(QStringLiteral("ten")), std::nullopt);
    EXPECT_EQ(parseNumber(QString()), std::nullopt);
    for (const char* plain : {"65536", "1.1754943508222875e-38", "3.4028234663852886e+38", "0.001", "20", "0.3"}) {
        // What a field shows reads back as what it stands for.
        const auto back = parseNumber(fieldNumber(QLatin1String(plain)));
        ASSERT_TRUE(back.has_value()) << plain;
        EXPECT_EQ(*back, QString(QLatin1String(plain)).toDouble()) << plain;
    }
}

} // namespace halfscope::test
