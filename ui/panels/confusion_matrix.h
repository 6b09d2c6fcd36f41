// SPDX-License-Identifier: GPL-3.0-or-later
// Which class is taken for which: a square of cells, truth downwards and prediction across, shaded by the share of the
// row. The current cell, under the pointer or moved with the arrow keys, is said in words.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

namespace halfscope {

class ConfusionMatrix : public QWidget {
    Q_OBJECT
public:
    explicit ConfusionMatrix(QWidget* parent = nullptr);

    // counts: examples of class t taken for class p, at [t * classes + p]; empty: none yet, `why` is shown.
    void setCounts(const QStringList& classes, const std::vector<std::int64_t>& counts, const QString& why);
    bool isEmpty() const { return m_counts.empty(); }
    QString csv() const;          // "truth \ predicted" and the classes, then a row a class
    QString currentWords() const; // "Shirt taken for Coat: 23 of 100 (23 %)"; empty: no current cell
    void setCurrent(int truth, int predicted);
    QRectF cellRect(int truth, int predicted) const; // pixels of this widget

    QSize sizeHint() const override { return {360, 330}; }
    QSize minimumSizeHint() const override { return {200, 180}; }

signals:
    void currentChanged(const QString& words);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Cell {
        int truth = 0;
        int predicted = 0;
        bool operator==(const Cell&) const = default;
    };
    int classes() const { return static_cast<int>(m_classes.size()); }
    std::int64_t count(int truth, int predicted) const;
    std::int64_t rowSum(int truth) const;
    QRectF grid() const; // the square of cells
    int labelWidth() const;
    void setCell(std::optional<Cell> cell);
    void paintLabels(QPainter& painter) const;
    void paintCells(QPainter& painter) const;

    QStringList m_classes;
    std::vector<std::int64_t> m_counts;
    QString m_why;
    std::optional<Cell> m_current;
    QString m_said;
};

} // namespace halfscope
