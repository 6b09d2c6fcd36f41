// SPDX-License-Identifier: GPL-3.0-or-later
// Messages inside the window, above the plots: never a dialog, never in the way of the run.
#pragma once

#include <QFrame>
#include <QMap>
#include <functional>

class QVBoxLayout;

namespace halfscope {

class BannerStack : public QWidget {
    Q_OBJECT
public:
    enum class Kind { Hint, Info, Warning, Error };

    explicit BannerStack(QWidget* parent = nullptr);

    // Shows or replaces the message called `id`. With an action there is a button that calls it.
    void show(const QString& id, Kind kind, const QString& text, const QString& actionText = {},
              std::function<void()> action = {});
    void hide(const QString& id);
    QString text(const QString& id) const; // empty: not shown
    QStringList ids() const { return m_banners.keys(); }

signals:
    void dismissed(const QString& id); // by the reader

private:
    class Banner;
    QVBoxLayout* m_layout;
    QMap<QString, Banner*> m_banners;
};

} // namespace halfscope
