// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "engine/data/dataset.h"

namespace halfscope {

// Who wrote this passage: windows of `context` characters from the novels found in `folders`, as many of each author;
// the last tenth of each book is held out, cut into windows that do not overlap. White space is one space, so that
// words tell, not how the publisher broke the lines. When a novel is missing, two authors are made up, and the notice
// says so. Throws std::runtime_error when `context` is longer than fits.
std::unique_ptr<Dataset> makeAuthors(std::span<const std::string> folders, int context);

// Two made-up authors, who use the same words with different habits; about the length of a short novel each.
std::array<std::string, 2> generatedAuthors();

} // namespace halfscope
