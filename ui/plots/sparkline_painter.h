// SPDX-License-Identifier: GPL-3.0-or-later
// Tiny spectra for tables: the histogram's shape in class colours, a few pixels wide.
#pragma once

#include <QPainter>
#include <QRectF>

#include "engine/train/histogram_history.h"
#include "ui/theme.h"

namespace halfscope {

class SparklinePainter {
public:
    // Exponents shown, the same in every row of a table, so that rows compare.
    struct Range {
        int low = -44;
        int high = 12;
    };

    // Heights are logarithmic, the fullest bin reaching the top. FP32 and TF32 lose nothing that matters here: grey.
    static void paint(QPainter* painter, const QRectF& rect, const TensorStatistics& statistics, double scale,
                      FormatId format, const Theme& theme, const Range& range);
    static void paint(QPainter* painter, const QRectF& rect, const TensorStatistics& statistics, double scale,
                      FormatId format, const Theme& theme);
    static void paint(QPainter* painter, const QRectF& rect, const SparseHistogram& histogram, double scale,
                      FormatId format, const Theme& theme);
    static void paint(QPainter* painter, const QRectF& rect, const SparseHistogram& histogram, double scale,
                      FormatId format, const Theme& theme, const Range& range);
};

} // namespace halfscope
