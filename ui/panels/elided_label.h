// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace halfscope {

// One line that ends in "…" where there is no room; the tool tip has all of it. Takes whatever width is left.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr);

    void setText(const QString& text); // also the tool tip, unless that says more
    void setDetail(const QString& toolTip) { setToolTip(toolTip); }
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
};

} // namespace halfscope
