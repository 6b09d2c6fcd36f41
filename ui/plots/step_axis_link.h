// SPDX-License-Identifier: GPL-3.0-or-later
// One step axis for several plots: zoom and pan together, follow the newest step, share a crosshair.
#pragma once

#include <QObject>
#include <QTimer>
#include <cstdint>
#include <optional>
#include <qcustomplot.h>

#include "ui/plots/run_digest.h"

namespace halfscope {

class StepAxisLink : public QObject {
    Q_OBJECT
public:
    enum class Mode {
        Follow,   // the newest steps, scrolling with them
        WholeRun, // everything since the first step
        Free,     // where the user left it
    };
    Q_ENUM(Mode)

    explicit StepAxisLink(QObject* parent = nullptr);

    void setRun(const RunModel* run);
    void refresh(); // takes over new steps; every plot's refresh() calls it, once is enough
    const RunModel* run() const { return m_run; }
    const RunDigest& digest() const { return m_digest; }

    Mode mode() const { return m_mode; }
    QCPRange range() const { return m_range; }
    void follow();                           // back to the newest steps, as many as were shown
    void reset();                            // the same, in the first width
    void wholeRun();                         // all of them
    void setRange(double low, double high);  // by the user: leaves following
    void zoom(double factor, double center); // factor > 1: more detail. Following stays following.
    void pan(double steps);

    std::optional<std::int64_t> crosshair() const { return m_crosshair; }
    void setCrosshair(std::optional<std::int64_t> step); // clamped to the steps there are
    void moveCrosshair(std::int64_t by);

    static constexpr double kMinimumSpan = 8; // steps
    static constexpr double kDefaultFollowSpan = 2000;

signals:
    void rangeChanged();
    void modeChanged();
    void crosshairChanged();
    void dataChanged();

private:
    void applyMode();
    void assign(double low, double high);

    const RunModel* m_run = nullptr;
    RunDigest m_digest;
    Mode m_mode = Mode::Follow;
    double m_followSpan = kDefaultFollowSpan;
    QCPRange m_range{0, 100};
    std::optional<std::int64_t> m_crosshair;
};

} // namespace halfscope
