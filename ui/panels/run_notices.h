// SPDX-License-Identifier: GPL-3.0-or-later
// What the run has to say to its owner, as banners: failure, a loss that is not finite, the scale at its minimum, text
// that is not the expected one.
#pragma once

#include <QObject>

namespace halfscope {

class BannerStack;
class SessionController;
struct AnsweredCommand;

class RunNotices : public QObject {
    Q_OBJECT
public:
    RunNotices(SessionController& controller, BannerStack& banners, QObject* parent = nullptr);

    static inline const QString kFailure = QStringLiteral("failure");
    static inline const QString kCatchUp = QStringLiteral("catch-up");
    static inline const QString kFallback = QStringLiteral("fallback");
    static inline const QString kText = QStringLiteral("text");
    static inline const QString kLoss = QStringLiteral("loss");
    static inline const QString kMinimum = QStringLiteral("minimum");
    static inline const QString kUnusable = QStringLiteral("unusable");
    static inline const QString kEnded = QStringLiteral("ended");
    static inline const QString kBound = QStringLiteral("bound");
    static inline const QString kRejected = QStringLiteral("rejected");

signals:
    void newRunRequested();
    void openTextRequested();

private:
    void showFailure();
    void runStarted();
    void liveChanged();
    void stepsAdded(qint64 first, qint64 last);
    void eventsAdded(qint64 first, qint64 last);
    void answered(const AnsweredCommand& answer);
    void rejected(const QString& key, const QString& why);

    SessionController& m_controller;
    BannerStack& m_banners;
    double m_initialScale = 0.0; // as it was before the newest answers; with the scale
    double m_scale = 0.0;
    qint64 m_badLossUntil = 0; // applied steps after which the warning about the loss goes by itself
};

} // namespace halfscope
