// SPDX-License-Identifier: GPL-3.0-or-later
// A loss scaler's whole state as JSON and back:
//   { "format": "halfscope-scaler", "version": 1, "settings": { "scaler": "megatron", "growth-factor": 2, ... },
//     "state": { "scale": 65536, "growth-tracker": 7, ... } }
// The settings are those of settings_registry.h's group "scaler". A scale may be "inf".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/amp/loss_scaler.h"

namespace halfscope {

std::string scalerStateToJson(const LossScaler::State& state);

// Throws std::runtime_error with one sentence that says what and where; a state that LossScaler::restore() would refuse
// is refused here.
LossScaler::State scalerStateFromJson(std::string_view json);
// The same from a file; the sentence names the file.
LossScaler::State loadScalerState(const std::filesystem::path& file);

} // namespace halfscope
