// SPDX-License-Identifier: GPL-3.0-or-later
// How a plot becomes a picture: size, resolution, background. Asked before the file's name.
#pragma once

#include <QDialog>
#include <QSize>

#include "ui/plots/plot_export.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QSpinBox;

namespace halfscope {

// What was chosen last, for the next plot.
struct PictureChoice {
    QSize millimetres;     // empty: as large as on screen
    int dotsPerInch = 300; // of a PNG
    bool white = true;     // dark on white, as papers are
    ExportOptions options() const;
};

class PictureDialog : public QDialog {
    Q_OBJECT
public:
    PictureDialog(const QString& plotTitle, QSize onScreen, const PictureChoice& choice, QWidget* parent = nullptr);

    PictureChoice choice() const;
    QString summary() const; // "PNG: 2008 × 945 pixels …"

signals:
    void chosen();

private:
    void sizeChosen();
    void describe();

    QSize m_onScreen;
    QComboBox* m_size;
    QSpinBox* m_width;
    QSpinBox* m_height;
    QComboBox* m_resolution;
    QCheckBox* m_white;
    QLabel* m_summary;
};

} // namespace halfscope
