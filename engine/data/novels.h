// SPDX-License-Identifier: GPL-3.0-or-later
// The public-domain novels that Debian and Ubuntu carry as plain text, in the package
// golang-github-pierrec-lz4-dev (test data of a compression library).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "engine/data/text_dataset.h"

namespace halfscope {

inline constexpr const char* kNovelsPackage = "golang-github-pierrec-lz4-dev";

// Where the package puts them; several, because its versions differ.
std::span<const std::string> novelFolders();

struct Novel {
    const char* fileName;
    const char* title;
    const char* author;
};

inline constexpr std::array<Novel, 2> kNovels = {{
    {"pg1661.txt", "The Adventures of Sherlock Holmes", "Doyle"},
    {"Mark.Twain-Tom.Sawyer.txt", "The Adventures of Tom Sawyer", "Twain"},
}};

// Its text without the publisher's, from the first of `folders` that holds it; nullopt when none does. A file that
// cannot be read or is damaged counts as missing.
std::optional<std::string> findNovel(const Novel& novel, std::span<const std::string> folders);

// The novels found in the first of `folders` that holds each of them, one after the other; nullopt when there is none.
// A file that cannot be read or is damaged counts as missing. The notice names what is missing.
std::optional<TextSource> loadNovels(std::span<const std::string> folders);

// What defaultText() does, with the folders given.
TextSource defaultTextFrom(std::span<const std::string> folders);

} // namespace halfscope
