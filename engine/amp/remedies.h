// SPDX-License-Identifier: GPL-3.0-or-later
// The advisor's buttons, made.
#pragma once

#include "engine/amp/finding.h"

namespace halfscope {

// A scale for the next step; bounds that are in the way are lifted.
Remedy scaleRemedy(double scale, const ScalerConfig& scaler);
// A setting and its value; `value` is also the remedy's.
Remedy settingRemedy(RemedyKind kind, const std::string& key, double value);
Remedy settingRemedy(RemedyKind kind, const std::string& key, const std::string& word);
// `kind`: ModulesToFp32, ModulesToBf16 or SensitiveToFp32.
Remedy formatRemedy(RemedyKind kind, const std::vector<std::int16_t>& modules, const std::vector<ModuleInfo>& names);
Remedy allFp32Remedy();
Remedy allBf16Remedy();
Remedy scalerOnRemedy();
Remedy epsilonRemedy(); // 1e-4, the first power of ten that FP16 holds as a normal number
Remedy restartRemedy();

// The classic steps of debugging, whatever is wrong.
Remedy halveScaleStep(double scale, const ScalerConfig& scaler);
// Of the embeddings, norms and the head those that are not in FP32; no modules: they all are.
Remedy sensitiveStep(const PrecisionPlan& plan, const std::vector<ModuleInfo>& names);

} // namespace halfscope
