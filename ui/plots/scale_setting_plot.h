// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots share in which a hand sets the loss scale: the scale shown, moves by pointer and keyboard, and taking
// a move back.
#pragma once

#include "ui/plots/plot.h"
#include "ui/plots/shown_scale.h"
#include "ui/plots/spectrum_data.h"

namespace halfscope {

class ScaleSettingPlot : public Plot {
    Q_OBJECT
public:
    using Plot::Plot;

    double shownScale() const { return m_scale; }
    // While scaleDragged() is emitted for a key that is held down: this goes on with the move before.
    bool continuesMove() const { return m_continues; }

signals:
    void scaleDragged(double scale); // while dragging, and for each click and key press
    void scaleDropped(double scale); // at the end

protected:
    virtual bool canMoveScale() const = 0;
    virtual bool holdsScale() const = 0;         // a drag that sets the scale goes on
    virtual void letGo() = 0;                    // ends it
    virtual bool showsPast() const = 0;          // a step of the past, whose scale cannot be set
    virtual void releasePast() = 0;              // back to the newest one
    virtual bool escape() { return false; }      // Escape while nothing is dragged; whether it was of use
    virtual int rightArrow() const { return 1; } // -1: the right arrow lowers the scale
    double scaleInForce() const;                 // whatever is shown
    void moveScale(double wanted, bool dropped);
    void panTo(const QPointF& at);            // from where the pointer was before
    bool startsMove(const QPointF& at) const; // it has left the place of the press, or did before
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

    SpectrumData m_data;
    ShownScale m_hand;
    double m_scale = 1.0; // 1 where the scale plays no part
    bool m_xByUser = false;
    bool m_yByUser = false;
    bool m_moved = false;
    QPointF m_pressed;
    QPointF m_lastPanned;
    double m_scaleToReturn = 1.0; // when the drag is taken back
    std::optional<QPointF> m_pointer;

private:
    bool m_continues = false;
};

} // namespace halfscope
