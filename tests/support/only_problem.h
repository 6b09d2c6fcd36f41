// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/train/settings_registry.h"

namespace halfscope {

// What is wrong with a configuration in which each of the settings is right by itself.
inline std::string onlyProblem(const std::vector<std::pair<std::string, std::string>>& assignments)
{
    RunConfig config;
    for (const auto& [key, value] : assignments)
        EXPECT_EQ(applySetting(config, key, value), std::nullopt) << key;
    const std::vector<std::string> problems = validate(config);
    EXPECT_EQ(problems.size(), 1U);
    return problems.empty() ? std::string() : problems.front();
}

} // namespace halfscope
