// SPDX-License-Identifier: GPL-3.0-or-later
// A field for a number as people write it: 65536, 6.5e4, 2^16, 2¹⁶.
#pragma once

#include <QLineEdit>
#include <optional>

namespace halfscope {

// The number in `text`; nullopt when there is none. Understands powers, grouping spaces and the user's decimal sign.
std::optional<double> parseNumber(const QString& text);
// As the settings take it: integers without exponent, shortest text that reads back otherwise.
QString plainNumber(double value);
// As a field shows it: large and tiny powers of two as 2^n, the largest FP32 in words.
QString fieldNumber(const QString& plain);

class NumberEdit : public QLineEdit {
    Q_OBJECT
public:
    explicit NumberEdit(QWidget* parent = nullptr);

    // The value in force, as the settings write it. A text being edited is not overwritten.
    void setValue(const QString& plain);
    QString value() const { return m_plain; }
    // Of what the field shows, as the settings write it: plain if it is a number, otherwise what was typed.
    QString plainText() const;
    // 0 is shown, and may be typed, as this word: "automatic", "off".
    void setWordForZero(const QString& word);
    void revert();
    bool isEdited() const { return text() != m_shown; }
    // Up and down multiply and divide by this; 0: they do nothing.
    void setStepFactor(double factor) { m_stepFactor = factor; }
    void setPending(bool pending);

signals:
    // The user finished with another value: plain if it is a number, otherwise what was typed.
    void committed(const QString& value);

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void commit();
    QString hint() const; // "2¹⁶" beside 65536
    QString shownFor(const QString& plain) const;

    QString m_plain;
    QString m_shown;
    QString m_wordForZero;
    double m_stepFactor = 0.0;
    bool m_pending = false;
};

} // namespace halfscope
