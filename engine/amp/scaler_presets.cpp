// SPDX-License-Identifier: GPL-3.0-or-later
// The presets: each sets the parameters of the one state machine so that it is another system's scaler.
#include "engine/amp/loss_scaler.h"

namespace halfscope {

namespace {

std::vector<ScalerPreset> makePresets()
{
    std::vector<ScalerPreset> presets;
    const ScalerConfig pytorch; // the defaults of the structure are PyTorch's
    presets.push_back(
        {"pytorch", "PyTorch GradScaler",
         "torch.amp.GradScaler's defaults; only a floor is added, at 2^-126, where 1/scale would overflow", pytorch});

    ScalerConfig fixed;
    fixed.preset = "static";
    fixed.dynamic = false;
    presets.push_back(
        {"static", "Static scale", "the scale never moves; steps with nonfinite gradients are skipped", fixed});

    ScalerConfig off;
    off.preset = "off";
    off.enabled = false;
    presets.push_back({"off", "Off", "scale 1, no scaling; steps with nonfinite gradients are still skipped", off});
    return presets;
}

} // namespace

const std::vector<ScalerPreset>& scalerPresets()
{
    static const std::vector<ScalerPreset> presets = makePresets();
    return presets;
}

const ScalerPreset* findScalerPreset(std::string_view key)
{
    for (const ScalerPreset& preset : scalerPresets()) {
        if (preset.key == key)
            return &preset;
    }
    return nullptr;
}

std::string_view scalerPresetKey(const ScalerConfig& config)
{
    ScalerConfig unlabelled = config;
    for (const ScalerPreset& preset : scalerPresets()) {
        unlabelled.preset = preset.config.preset;
        if (unlabelled == preset.config)
            return preset.key;
    }
    return "custom";
}

std::string_view hysteresisKindKey(HysteresisKind kind)
{
    switch (kind) {
    case HysteresisKind::None:
        return "none";
    case HysteresisKind::Budget:
        return "budget";
    case HysteresisKind::Consecutive:
        return "consecutive";
    }
    return "";
}

std::string_view atMinimumKey(AtMinimum action)
{
    switch (action) {
    case AtMinimum::Skip:
        return "skip";
    case AtMinimum::Pause:
        return "pause";
    case AtMinimum::Stop:
        return "stop";
    case AtMinimum::Sanitise:
        return "sanitise";
    }
    return "";
}

} // namespace halfscope
