// SPDX-License-Identifier: GPL-3.0-or-later
// The engine knows settings by key; people read these names.
#pragma once

#include <QString>
#include <string>

namespace halfscope {

QString settingLabel(const QString& key);   // "growth-interval" -> "Growth interval"; unknown keys are humanised
QString settingMeaning(const QString& key); // the registry's line, translated where a translation exists; may be empty
QString settingRange(const QString& key);   // "integer 1 to 10^12"; may be empty
// A value as the engine writes it, in the window's words: "keep skipping", "2¹⁶", "no limit".
QString settingValueText(const QString& key, const std::string& value);
// Why the engine refused `typed` for a setting, in the window's words: "Growth factor cannot be 0.5. Allowed: …".
// `typed`: as the user wrote it; empty: as the engine says it. A reason of another kind only has its keys made labels.
QString refusalText(const QString& key, const QString& typed, const QString& why);
QString groupLabel(const QString& group); // "optimizer" -> "Optimizer"
QString moduleTapLabel(int tap);          // Tap as "weight gradients", "activation gradients", "activations"

} // namespace halfscope
