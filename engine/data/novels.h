// SPDX-License-Identifier: GPL-3.0-or-later
// The public-domain novels that Debian and Ubuntu carry as plain text, in the package
// golang-github-pierrec-lz4-dev (test data of a compression library).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/data/text_dataset.h"

namespace halfscope {

inline constexpr const char* kNovelsPackage = "golang-github-pierrec-lz4-dev";

// Where the package puts them; several, because its versions differ.
std::span<const std::string> novelFolders();

// The novels found in the first of `folders` that holds each of them, one after the other; nullopt when there is none.
// A file that cannot be read or is damaged counts as missing. The notice names what is missing.
std::optional<TextSource> loadNovels(std::span<const std::string> folders);

// What defaultText() does, with the folders given.
TextSource defaultTextFrom(std::span<const std::string> folders);

} // namespace halfscope
