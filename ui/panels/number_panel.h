// SPDX-License-Identifier: GPL-3.0-or-later
// The number inspector: one number in every format, bit by bit, and what the loss scale does to it.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "engine/numerics/number_inspector.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace halfscope {

class BitCells;
class NumberEdit;
class SessionController;

// A format's part of the panel.
class FormatRow : public QWidget {
    Q_OBJECT
public:
    explicit FormatRow(FormatId format, QWidget* parent = nullptr);

    void display(const InspectedNumber& number, std::uint32_t bits, double scale);
    BitCells* cells() const { return m_cells; }
    QString text() const; // all of it, in sentences

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void place();
    QString valueWords() const;
    QString errorWords() const;
    QString neighbourWords() const;
    QString scaledWords() const;

    const FloatFormat& m_format;
    BitCells* m_cells;
    InspectedNumber m_number;
    double m_scale = 1.0;
};

class NumberPanel : public QWidget {
    Q_OBJECT
public:
    explicit NumberPanel(SessionController& controller, QWidget* parent = nullptr);

    // Shows this number; with a scale, at that one and not at the run's.
    void inspect(double value, std::optional<double> scale = {});
    float value() const { return m_value; }
    double scale() const { return m_scale; }
    QLineEdit* field() const { return m_field; }
    FormatRow* row(FormatId format) const;

private:
    void read();
    void set(float value);
    void flip(FormatId format, std::uint32_t bits);
    void followScale();
    void setScale(double scale);
    void showAll();
    QString textOf(float value) const;

    SessionController& m_controller;
    QLineEdit* m_field;
    QComboBox* m_form; // data(): -1, a number; otherwise the format whose pattern is typed
    QLabel* m_problem;
    NumberEdit* m_scaleEdit;
    QCheckBox* m_follow;
    std::vector<FormatRow*> m_rows;
    float m_value = 1.0F;
    double m_scale = 1.0;
    std::optional<std::pair<FormatId, std::uint32_t>> m_pattern; // as it was set, where a NaN would change it
};

} // namespace halfscope
