// SPDX-License-Identifier: GPL-3.0-or-later
// One held-out example: its image, its text, what it is, what the model takes it for and how sure it is.
#pragma once

#include <QImage>
#include <QWidget>

#include "engine/data/dataset.h"
#include "engine/train/evaluation.h"

class QLabel;

namespace halfscope {

// A bar a class, the likeliest classes where there are many.
class ProbabilityBars : public QWidget {
    Q_OBJECT
public:
    explicit ProbabilityBars(QWidget* parent = nullptr);

    void setPrediction(const QStringList& classes, const Prediction& prediction);
    QList<int> shown() const { return m_shown; } // classes, from the top

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QStringList m_classes;
    Prediction m_prediction;
    QList<int> m_shown;
};

class ExampleView : public QWidget {
    Q_OBJECT
public:
    explicit ExampleView(QWidget* parent = nullptr);

    // `step`: after which the model took it for that.
    void show(const DatasetInfo& info, const Prediction& prediction, std::int64_t step);
    void clear(const QString& why);
    QString verdict() const;                   // "Shirt, taken for Coat"
    QString when() const;                      // "after step 200"; empty: there is no example
    QImage image() const { return m_picture; } // a pixel a pixel of the example; null: it has no image

protected:
    void changeEvent(QEvent* event) override;

private:
    void scaleImage();

    QImage m_picture;
    QLabel* m_image;
    QLabel* m_text;
    QLabel* m_verdict;
    QLabel* m_when;
    ProbabilityBars* m_bars;
};

// The image of an example, from its patches; null when it has none.
QImage exampleImage(const DatasetInfo& info, const std::vector<float>& patches);

} // namespace halfscope
