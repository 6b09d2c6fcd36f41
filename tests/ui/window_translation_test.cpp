// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the window has room for other languages and scripts, and whether its texts can be translated at all.
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QTranslator>

#include "tests/ui/window_fixture.h"
#include "ui/panels/elided_label.h"
#include "ui/panels/window_actions.h"

namespace halfscope::test {

namespace {

// Makes every text that goes through tr() half as long again, with wide characters; placeholders stay.
class LongTranslator : public QTranslator {
public:
    bool isEmpty() const override { return false; }
    QString translate(const char*, const char* sourceText, const char*, int) const override
    {
        const QString source = QString::fromUtf8(sourceText);
        return source + QString((source.size() + 3) / 4, QChar(u'漢'));
    }
};

class TranslationTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        ASSERT_TRUE(QCoreApplication::installTranslator(&translator));
    }
    void TearDown() override
    {
        WindowTest::TearDown();
        QCoreApplication::removeTranslator(&translator);
    }
    LongTranslator translator;
};

} // namespace

TEST_F(TranslationTest, EveryLabelAndButtonGoesThroughTr)
{
    open();
    poll(5);
    int seen = 0;
    for (const QAbstractButton* button : window->findChildren<QAbstractButton*>()) {
        if (button->isVisible() && !button->text().isEmpty()) {
            ++seen;
            EXPECT_TRUE(button->text().contains(QChar(u'漢'))) << button->text().toStdString();
        }
    }
    EXPECT_GE(seen, 12);
    for (QAction* action : window->QWidget::actions()) {
        if (window->actions().formatActions.contains(action)) {
            continue; // a format is called the same everywhere
        }
        EXPECT_TRUE(action->text().contains(QChar(u'漢'))) << action->text().toStdString();
    }
}

TEST_F(TranslationTest, NothingIsClippedWhenTextsAreLonger)
{
    open();
    poll(5);
    QTest::qWait(50); // the layouts settle
    int seen = 0;
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
        const bool button = qobject_cast<const QPushButton*>(widget) != nullptr;
        const auto* label = qobject_cast<const QLabel*>(widget);
        const bool fixedLabel =
            label != nullptr && !label->wordWrap() && qobject_cast<const ElidedLabel*>(label) == nullptr;
        if (widget->isVisible() && (button || fixedLabel)) {
            ++seen;
            EXPECT_GE(widget->width(), widget->minimumSizeHint().width())
                << widget->accessibleName().toStdString() << " "
                << (label != nullptr ? label->text().toStdString() : std::string());
        }
    }
    EXPECT_GE(seen, 20);
}

} // namespace halfscope::test
