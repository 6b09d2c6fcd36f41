// SPDX-License-Identifier: GPL-3.0-or-later
// Reading comma-separated values as RFC 4180 has them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace halfscope {

struct CsvRecord {
    std::size_t line = 0; // where it begins, from 1
    std::vector<std::string> fields;
};

// `text` is clean UTF-8 with '\n' line ends (readTextFile()); `name` is what the errors call it. Fields may be quoted,
// and then hold commas, line ends and doubled quotes; a quote within a field that does not begin with one stands for
// itself. Lines without anything are left out. Throws std::runtime_error with one sentence that names the line: a quote
// that is not closed, text after a closing quote.
std::vector<CsvRecord> parseCsv(const std::string& text, const std::string& name);

} // namespace halfscope
