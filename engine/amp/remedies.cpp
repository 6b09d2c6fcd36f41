// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/amp/remedies.h"

#include "engine/model/module_pattern.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

Command setting(const std::string& key, const std::string& value) { return SetSetting{key, value}; }

} // namespace

Remedy scaleRemedy(double scale, const ScalerConfig& scaler)
{
    Remedy r{RemedyKind::SetScale, scale, {}, {}};
    if (scaler.maxScale < scale)
        r.commands.push_back(setting("max-scale", "none"));
    if (scaler.minScale > scale)
        r.commands.push_back(setting("min-scale", settingNumber(scale)));
    r.commands.push_back(SetScale{scale});
    return r;
}

Remedy settingRemedy(RemedyKind kind, const std::string& key, double value)
{
    return {kind, value, {}, {setting(key, settingNumber(value))}};
}

Remedy settingRemedy(RemedyKind kind, const std::string& key, const std::string& word)
{
    return {kind, 0.0, {}, {setting(key, word)}};
}

Remedy formatRemedy(RemedyKind kind, const std::vector<std::int16_t>& modules, const std::vector<ModuleInfo>& names)
{
    Remedy r{kind, 0.0, modules, {}};
    const std::string format = kind == RemedyKind::ModulesToBf16 ? "bf16" : "fp32";
    for (const std::int16_t module : modules)
        r.commands.push_back(setting("precision." + names.at(static_cast<std::size_t>(module)).name, format));
    return r;
}

Remedy allFp32Remedy() { return settingRemedy(RemedyKind::AllFp32, "precision", "fp32"); }
Remedy allBf16Remedy() { return settingRemedy(RemedyKind::AllBf16, "precision", "mixed-bf16"); }
Remedy scalerOnRemedy() { return settingRemedy(RemedyKind::ScalerOn, "scaler", "pytorch"); }
Remedy epsilonRemedy() { return settingRemedy(RemedyKind::Epsilon, "epsilon", static_cast<double>(1e-4F)); }
Remedy restartRemedy() { return {RemedyKind::Restart, 0.0, {}, {Restart{}}}; }

Remedy halveScaleStep(double scale, const ScalerConfig& scaler)
{
    Remedy r = scaleRemedy(scale / 2, scaler);
    r.kind = RemedyKind::HalveScale;
    return r;
}

Remedy sensitiveStep(const PrecisionPlan& plan, const std::vector<ModuleInfo>& names)
{
    std::vector<std::int16_t> modules;
    for (std::size_t i = 0; i < plan.size() && i < names.size(); ++i) {
        if (isSensitive(names[i]) && plan[i] != FormatId::Fp32)
            modules.push_back(static_cast<std::int16_t>(i));
    }
    return formatRemedy(RemedyKind::SensitiveToFp32, modules, names);
}

bool sameRemedy(const Remedy& a, const Remedy& b)
{
    return a.kind == b.kind && a.value == b.value && a.modules == b.modules;
}

} // namespace halfscope
