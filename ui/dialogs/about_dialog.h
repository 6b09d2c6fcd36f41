// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

namespace halfscope {

class AboutDialog : public QDialog {
    Q_OBJECT
public:
    AboutDialog(const QString& backend, QWidget* parent = nullptr);
};

} // namespace halfscope
