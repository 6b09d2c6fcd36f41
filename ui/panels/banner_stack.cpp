// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/banner_stack.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/panels/icons.h"
#include "ui/theme.h"

namespace halfscope {

class BannerStack::Banner : public QFrame {
public:
    Banner(Kind kind, QWidget* parent) : QFrame(parent), m_kind(kind)
    {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(16, 6, 8, 6);
        row->setSpacing(10);
        m_text = new QLabel;
        m_text->setWordWrap(true);
        m_text->setTextFormat(Qt::PlainText);
        m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
        row->addWidget(m_text, 1);
        m_action = new QPushButton;
        row->addWidget(m_action);
        m_close = new QToolButton;
        m_close->setAutoRaise(true);
        m_close->setIcon(glyphIcon(Glyph::Close));
        m_close->setToolTip(BannerStack::tr("Dismiss"));
        m_close->setAccessibleName(BannerStack::tr("Dismiss this message"));
        row->addWidget(m_close);
    }

    void setKind(Kind kind)
    {
        m_kind = kind;
        update();
    }
    QLabel& text() { return *m_text; }
    QPushButton& action() { return *m_action; }
    QToolButton& close() { return *m_close; }
    std::function<void()> callback;

protected:
    // A panel with a stripe in the kind's colour; the words carry the meaning.
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        const QColor stripe = m_kind == Kind::Error     ? theme.error
                              : m_kind == Kind::Warning ? theme.warning
                              : m_kind == Kind::Hint    ? theme.accent
                                                        : theme.normal;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QRectF box = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
        QColor tint = stripe;
        tint.setAlphaF(0.10F);
        painter.setPen(QPen(theme.panelBorder));
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(box, 5, 5);
        painter.setPen(Qt::NoPen);
        painter.setBrush(tint);
        painter.drawRoundedRect(box, 5, 5);
        painter.setBrush(stripe);
        painter.drawRoundedRect(QRectF(5, 7, 3, height() - 14), 1.5, 1.5);
    }

private:
    Kind m_kind;
    QLabel* m_text;
    QPushButton* m_action;
    QToolButton* m_close;
};

BannerStack::BannerStack(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(6);
    setVisible(false);
}

void BannerStack::show(const QString& id, Kind kind, const QString& text, const QString& actionText,
                       std::function<void()> action)
{
    Banner*& banner = m_banners[id];
    if (banner == nullptr) {
        banner = new Banner(kind, this);
        m_layout->addWidget(banner);
        connect(&banner->close(), &QToolButton::clicked, this, [this, id] {
            hide(id);
            emit dismissed(id);
        });
        connect(&banner->action(), &QPushButton::clicked, this, [this, id] {
            const auto found = m_banners.constFind(id);
            if (found != m_banners.constEnd() && (*found)->callback) {
                (*found)->callback();
            }
        });
    }
    banner->setKind(kind);
    if (banner->text().text() != text) {
        banner->text().setText(text);
        banner->text().setAccessibleName(text);
    }
    banner->callback = std::move(action);
    banner->action().setText(actionText);
    banner->action().setAccessibleName(actionText);
    banner->action().setVisible(!actionText.isEmpty());
    setVisible(true);
}

void BannerStack::hide(const QString& id)
{
    const auto found = m_banners.find(id);
    if (found == m_banners.end()) {
        return;
    }
    (*found)->setVisible(false);
    (*found)->deleteLater(); // it may be its own button that asks
    m_banners.erase(found);
    setVisible(!m_banners.isEmpty());
}

QString BannerStack::text(const QString& id) const
{
    const auto found = m_banners.constFind(id);
    return found == m_banners.constEnd() ? QString() : (*found)->text().text();
}

} // namespace halfscope
