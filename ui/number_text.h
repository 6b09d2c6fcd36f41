// SPDX-License-Identifier: GPL-3.0-or-later
// How numbers are written on screen: exactly, or marked as rounded with "≈". Groups of three digits are set apart by a
// narrow no-break space; the decimal sign is the user's.
#pragma once

#include <QString>
#include <QtGlobal>

namespace halfscope {

QString superscript(int n);                // "⁻²⁵"
QString powerOfTwo(int exponent);          // "2⁻²⁵"
QString powerOfTen(int exponent);          // "1", "10", "10²", "10⁻¹"
QString scaleText(double scale);           // "2¹⁴ = 16 384", "1.5·2¹⁰ = 1 536", "2¹⁰⁰ ≈ 1.268e30"
QString shortScaleText(double scale);      // "2¹⁴", "1.5·2¹⁰", "≈1.414·2¹⁰"
QString countText(quint64 count);          // "16 384"
QString stepText(qint64 step);             // "4 812"
QString shareText(double part, double of); // "2.1 %"; never "0 %" or "100 %" unless it is exactly that
QString valueText(float value);            // the shortest decimal that reads back as this FP32: "1.1920929e-07"
QString valueText(double value);
QString roundedText(double value, int significant); // "3.14"
QString octavesText(double octaves);                // "5.2"
bool isPowerOfTwo(double value);

} // namespace halfscope
