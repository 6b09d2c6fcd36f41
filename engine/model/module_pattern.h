// SPDX-License-Identifier: GPL-3.0-or-later
// Picking modules of a model by pattern or by kind.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/model/transformer_config.h"

namespace halfscope {

struct ModuleGroup {
    std::string_view key; // "norms": what is typed
    std::string_view name;
    std::string_view meaning;
};
// norms, linear, attention, embeddings, head, sensitive.
std::span<const ModuleGroup> moduleGroups();

// The embeddings, the norms and the head: what "sensitive layers in FP32" keeps in FP32.
bool isSensitive(const ModuleInfo& module);

// Ids, rising, of the modules that match any of the patterns in `text`, which are set apart by commas or spaces. A
// pattern is the key of a group; or a name in which * stands for any characters and ? for one; or, without either, a
// part of a name. Case does not matter. Nothing matches an empty text.
std::vector<int> matchModules(std::string_view text, const std::vector<ModuleInfo>& modules);

} // namespace halfscope
