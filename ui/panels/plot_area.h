// SPDX-License-Identifier: GPL-3.0-or-later
// The plots, tied together: one step axis, one crosshair, one run. Four stand in the middle, one above the other,
// or five where the task has classes; the what-if curve has a dock.
#pragma once

#include <QPointer>
#include <QSplitter>
#include <optional>

#include "ui/plots/step_axis_link.h"

class QPushButton;

namespace halfscope {

class AccuracyPlot;
class ElidedLabel;
class LossPlot;
class Plot;
class ScalePlot;
class SessionController;
class SpectrumPlot;
class WaterfallPlot;
class WhatIfPlot;

// A magnitude that a plot shows at a place, to be looked at bit by bit.
struct PlottedNumber {
    double value = 0.0;
    std::optional<double> scale; // the loss scale there; none where it plays no part
    QString words;               // "2⁻¹⁷"
};

class PlotArea : public QSplitter {
    Q_OBJECT
public:
    explicit PlotArea(SessionController& controller, QWidget* parent = nullptr);
    ~PlotArea() override;

    StepAxisLink& link() { return m_link; }
    SpectrumPlot* spectrum() const { return m_spectrum; }
    WaterfallPlot* waterfall() const { return m_waterfall; }
    ScalePlot* scalePlot() const { return m_scale; }
    LossPlot* lossPlot() const { return m_loss; }
    WhatIfPlot* whatIf() const { return m_whatIf; }
    QWidget* whatIfCard() const { return m_whatIfCard; } // for whoever has room for it
    QString selectionTitle() const;                      // "all layers · weight gradients"
    std::optional<PlottedNumber> numberAt(const Plot* plot, const QPointF& at) const; // in pixels of the plot
    AccuracyPlot* accuracyPlot() const { return m_accuracy; } // in view while the run's task has classes
    QList<Plot*> plots() const;                               // those that say something about the run
    QList<Plot*> allPlots() const;
    Plot* activePlot() const; // the one the keyboard is in, or was last

    void showStep(qint64 step); // crosshair and spectrum; scrolls there if it is out of view
    void followNewest();        // and lets go of a step of the past
    bool holdsStep() const;     // the spectrum shows a step of the past until it is released
    void releaseStep();         // back to the newest; the axes stay, unless showStep() moved them
    void resetSizes();

signals:
    void titlesChanged();
    void activePlotChanged();
    void heldStepChanged();
    void plotReached(Plot* plot); // by the keyboard: it should be in view
    void contextMenuWanted(Plot* plot, const QPoint& globalPosition);

private:
    void refreshPlots();
    void dragScale(double scale);
    void showPastStep();
    void updateTitles();
    void updateTask();
    bool eventFilter(QObject* watched, QEvent* event) override;
    QWidget* card(Plot* plot, const QString& name, const QString& description);

    SessionController& m_controller;
    StepAxisLink m_link;
    SpectrumPlot* m_spectrum;
    WaterfallPlot* m_waterfall;
    ScalePlot* m_scale;
    LossPlot* m_loss;
    WhatIfPlot* m_whatIf;
    QPointer<QWidget> m_whatIfCard;
    bool m_dragging = false; // a scale that has been sent already
    AccuracyPlot* m_accuracy;
    QPushButton* m_toNewest;
    bool m_scrolledToStep = false;
    QList<std::pair<Plot*, ElidedLabel*>> m_titles;
    Plot* m_active = nullptr;
};

} // namespace halfscope
