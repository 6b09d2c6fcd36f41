// SPDX-License-Identifier: GPL-3.0-or-later
// Every colour of the window and its plots, dark and light. The classes of values use hues that stay apart for the
// common kinds of colour blindness (after Okabe and Ito: vermilion, amber, bluish green, purple) and differ in
// lightness; no meaning rests on colour alone.
#pragma once

#include <QColor>
#include <QObject>
#include <QPalette>
#include <array>

#include "engine/numerics/float_format.h"

namespace halfscope {

struct Theme {
    bool dark = true;

    // Surfaces and text
    QColor window;
    QColor panel; // cards, docks, the outside of a plot
    QColor panelBorder;
    QColor plotArea; // the inside of a plot
    QColor control;  // buttons, fields
    QColor grid;
    QColor text;
    QColor textDim; // captions and tick labels; at least 4.5:1 on panel and plotArea
    QColor accent;  // selection, the window's handles, the scale line
    QColor warning;
    QColor error;

    // Classes of values
    QColor zero;
    QColor flushed;
    QColor subnormal;
    QColor normal;
    QColor overflow;
    QColor nonfinite;

    // Lines and marks
    QColor scaleLine;
    QColor band; // stability band, translucent
    QColor bandEdge;
    QColor bandTrueMinimum;
    QColor lossRaw;
    QColor lossSmooth;
    QColor skip;
    QColor command;
    QColor growth;
    QColor crosshair;
    QColor readout; // box behind hover text
    QColor readoutBorder;

    QColor classColor(ValueClass c) const;
    QColor formatColor(FormatId format) const; // FP32 neutral, FP16 green, BF16 violet, FP8 blue
    // Colour of a share of the waterfall, 0 (next to nothing) to 1; lightness changes evenly along it.
    const std::array<QRgb, 256>& density() const;
    QPalette palette() const;
    QString styleSheet() const; // the few things a palette cannot say
};

const Theme& darkTheme();
const Theme& lightTheme();
const Theme& paperTheme(); // the light one on plain white, for pictures that are printed

enum class ThemeChoice { System, Dark, Light };

// Which theme is in force. Applies palette and style sheet to the application; plots follow changed() by themselves.
class ThemeManager : public QObject {
    Q_OBJECT
public:
    static ThemeManager& instance();

    const Theme& theme() const;
    ThemeChoice choice() const { return m_choice; }
    void setChoice(ThemeChoice choice);

signals:
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    ThemeManager();
    void apply();
    bool systemIsDark();

    ThemeChoice m_choice = ThemeChoice::System;
    bool m_dark = true;
    bool m_applying = false;
};

inline const Theme& currentTheme() { return ThemeManager::instance().theme(); }

} // namespace halfscope
