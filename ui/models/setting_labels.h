// SPDX-License-Identifier: GPL-3.0-or-later
// The engine knows settings by key; people read these names.
#pragma once

#include <QString>

namespace halfscope {

QString settingLabel(const QString& key);   // "growth-interval" -> "Growth interval"; unknown keys are humanised
QString settingMeaning(const QString& key); // the registry's line, translated where a translation exists; may be empty
QString settingRange(const QString& key);   // "integer >= 1"; may be empty
QString groupLabel(const QString& group);   // "optimizer" -> "Optimizer"
QString moduleTapLabel(int tap);            // Tap as "weight gradients", "activation gradients", "activations"

} // namespace halfscope
