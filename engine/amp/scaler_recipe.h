// SPDX-License-Identifier: GPL-3.0-or-later
// A scaler's settings as other systems take them: code or configuration that works as pasted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/amp/scaler_config.h"

namespace halfscope {

enum class RecipeFor : std::uint8_t { PyTorch, DeepSpeed, Megatron, Keras, Flax };

struct RecipeTarget {
    RecipeFor target;
    std::string_view key;  // "pytorch"
    std::string_view name; // "PyTorch"
};
std::span<const RecipeTarget> recipeTargets();

struct Recipe {
    std::string text;                     // ends in '\n'
    std::vector<std::string> differences; // what that system cannot do as these settings do it, one clause each
};
// `learningRate` is that of the run, for targets whose scaler wraps an optimizer.
Recipe scalerRecipe(RecipeFor target, const ScalerConfig& config, float learningRate = 1e-3F);

} // namespace halfscope
