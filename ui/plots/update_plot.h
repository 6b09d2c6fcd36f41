// SPDX-License-Identifier: GPL-3.0-or-later
// How large updates of the weights are beside the weights: a histogram of |dw| / |w| by powers of two, against the
// ratio at which a weight in the module's format no longer moves.
#pragma once

#include <optional>

#include "ui/plots/plot.h"

namespace halfscope {

class UpdatePlot : public Plot {
    Q_OBJECT
public:
    explicit UpdatePlot(QWidget* parent = nullptr);

    void refresh() override;
    QString title() const override;
    QByteArray visibleCsv() const override;
    void zoomX(double factor) override;
    void zoomY(double factor) override;
    void panX(double fraction) override;
    void resetView() override;

    // Of the selected modules, at the newest measured step, those in the format that most of the weights have to move
    // in; nothing: not measured.
    const std::optional<UpdateStatistics>& updates() const { return m_updates; }
    // Of that format: from half a unit in the last place of the largest significand to that of the smallest, as log2 of
    // the ratio. Nothing in FP32.
    std::optional<QCPRange> band() const { return m_band; }
    QString headline() const;

protected:
    void applyTheme() override;
    QString widestXLabel() const override;
    QString xTitle() const override { return tr("|Δw| / |w|"); }
    QString yTitle() const override { return tr("weights"); }
    QString screenXTitle() const override { return xTitle(); }
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void take();
    void fitRanges();
    void paintBand(QCPPainter& painter);
    void paintBars(QCPPainter& painter);
    void paintCaption(QCPPainter& painter);
    double x(double exponent) const;
    double y(double count) const;

    std::optional<UpdateStatistics> m_updates;
    std::optional<QCPRange> m_band;
    FormatId m_format = FormatId::Fp32;
    qint64 m_step = 0;
    bool m_byUser = false;
};

} // namespace halfscope
