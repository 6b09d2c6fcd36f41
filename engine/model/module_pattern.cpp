// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/module_pattern.h"

#include <algorithm>
#include <array>
#include <string>

namespace halfscope {

namespace {

constexpr std::array<ModuleGroup, 6> kGroups = {{
    {"norms", "Norms", "every layer norm"},
    {"linear", "Linear layers", "every matrix of weights, the head among them"},
    {"attention", "Attention", "the products of queries, keys and values"},
    {"embeddings", "Embeddings", "of tokens and positions"},
    {"head", "Head", "the last linear layer"},
    {"sensitive", "Sensitive layers", "embeddings, norms and head"},
}};

std::string lower(std::string_view text)
{
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

bool isHead(const ModuleInfo& module)
{
    return module.kind == ModuleKind::Linear && (module.name == "head" || module.name.ends_with("_head"));
}

bool isInGroup(std::string_view key, const ModuleInfo& module)
{
    if (key == "norms")
        return module.kind == ModuleKind::Norm;
    if (key == "linear")
        return module.kind == ModuleKind::Linear;
    if (key == "attention")
        return module.kind == ModuleKind::Attention;
    if (key == "embeddings")
        return module.kind == ModuleKind::Embedding;
    return key == "head" ? isHead(module) : isSensitive(module);
}

// Whole name; linear but for going back to the last star.
bool matchesWildcard(std::string_view pattern, std::string_view name)
{
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches(const std::string& pattern, const ModuleInfo& module)
{
    if (std::ranges::find(kGroups, pattern, &ModuleGroup::key) != kGroups.end())
        return isInGroup(pattern, module);
    const std::string name = lower(module.name);
    return pattern.find_first_of("*?") == std::string::npos ? name.find(pattern) != std::string::npos
                                                            : matchesWildcard(pattern, name);
}

} // namespace

std::span<const ModuleGroup> moduleGroups() { return kGroups; }

bool isSensitive(const ModuleInfo& module)
{
    return module.kind == ModuleKind::Embedding || module.kind == ModuleKind::Norm || isHead(module);
}

std::vector<int> matchModules(std::string_view text, const std::vector<ModuleInfo>& modules)
{
    std::vector<std::string> patterns;
    constexpr std::string_view kBetween = " ,;\t";
    for (std::size_t from = text.find_first_not_of(kBetween); from != std::string_view::npos;) {
        const std::size_t to = std::min(text.find_first_of(kBetween, from), text.size());
        patterns.push_back(lower(text.substr(from, to - from)));
        from = text.find_first_not_of(kBetween, to);
    }
    std::vector<int> found;
    for (std::size_t i = 0; i < modules.size(); ++i) {
        if (std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, modules[i]); }))
            found.push_back(static_cast<int>(i));
    }
    return found;
}

} // namespace halfscope
