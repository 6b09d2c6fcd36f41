// SPDX-License-Identifier: GPL-3.0-or-later
// Plots as pictures and tables. Files appear whole or not at all: they are written beside their place and renamed.
#pragma once

#include <QImage>
#include <QSize>
#include <QString>
#include <optional>

#include "ui/plots/plot.h"

namespace halfscope {

enum class ExportFormat { Png, Svg, Pdf, Csv };

inline constexpr double kLogicalDotsPerInch = 96.0;

struct ExportOptions {
    QSize size;         // of the plot in logical pixels; invalid: as it is on screen
    double scale = 1.0; // PNG: pixels per logical pixel; a logical pixel is 1/96 inch
    bool paper = false; // dark on white, whatever the theme
};

// A plot that is painted, which is the window's work, and not yet encoded and written, which any thread may do.
struct PaintedPlot {
    QString path;
    QImage image;    // PNG
    QByteArray text; // the other formats
};

class PlotExport {
    Q_DECLARE_TR_FUNCTIONS(PlotExport)
public:
    static QImage image(Plot& plot, const ExportOptions& options = {});
    static QByteArray svg(Plot& plot, const ExportOptions& options = {});
    static QByteArray pdf(Plot& plot, const ExportOptions& options = {});

    static PaintedPlot paint(Plot& plot, const QString& path, ExportFormat format, const ExportOptions& options = {});
    // The file's bytes. Any thread. Throws std::runtime_error with one sentence.
    static QByteArray encode(const PaintedPlot& painted);
    // Returns nullopt, or one sentence saying what went wrong; an existing file is then as it was.
    static std::optional<QString> save(Plot& plot, const QString& path, ExportFormat format,
                                       const ExportOptions& options = {});
    // By the file's suffix; a suffix we do not know is an error that lists those we do.
    static std::optional<QString> save(Plot& plot, const QString& path, const ExportOptions& options = {});
    static void copy(Plot& plot, double scale = 1.0); // picture and CSV text to the clipboard

    static std::optional<ExportFormat> formatOf(const QString& path);
    static QString fileDialogFilter();
    static QString suggestedName(const Plot& plot, ExportFormat format); // "gradient-spectrum.png"
};

} // namespace halfscope
