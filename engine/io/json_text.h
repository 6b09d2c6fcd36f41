// SPDX-License-Identifier: GPL-3.0-or-later
// JSON with errors that say where.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace halfscope {

using Json = nlohmann::ordered_json; // to write: members stay in the order they were added in

std::string inQuotes(std::string_view text);

// Throws std::runtime_error with one sentence: the line and column, or the key that is there twice.
nlohmann::json parseJson(std::string_view text);

// The file's bytes, 64 MiB at most. Throws std::runtime_error with one sentence; `what` is the word for such a file:
// "configuration".
std::string readTextFile(const std::filesystem::path& file, const std::string& what);

} // namespace halfscope
