// SPDX-License-Identifier: GPL-3.0-or-later
// The device of a run: every one by name and place, what it computes natively, and why others cannot be used.
#pragma once

#include <QWidget>

#include "engine/backend/backend_registry.h"

class QLabel;

namespace halfscope {

class ChoiceCombo;

class DeviceField : public QWidget {
    Q_OBJECT
public:
    explicit DeviceField(QWidget* parent = nullptr);

    // As the settings `backend` and `device`.
    void setValue(const QString& backend, const QString& device);
    QString backend() const { return m_backend; }
    QString device() const { return m_device; }
    // Memory that a run on it can have: what is free on the CPU, all that a GPU has. Nothing where it is not known.
    std::optional<double> memory() const;

    ChoiceCombo* combo() const { return m_combo; }
    QString note() const; // the words below

signals:
    void changed(); // by the user, or because more is known

private:
    void fill();
    void choose();
    void explain();
    const DeviceInfo* chosen() const; // null: automatic, or one that is not here

    ChoiceCombo* m_combo;
    QLabel* m_note;
    QString m_backend = QStringLiteral("cpu");
    QString m_device;
};

} // namespace halfscope
