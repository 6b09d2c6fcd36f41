// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of plain text, aligned by the number of characters shown.
#pragma once

#include <string>
#include <vector>

namespace halfscope {

class TextTable {
public:
    explicit TextTable(std::vector<std::string> header) { m_rows.push_back(std::move(header)); }
    void add(std::vector<std::string> row) { m_rows.push_back(std::move(row)); }
    // Two spaces between columns, none at line ends; `indent` before each line.
    std::string text(int indent = 0) const;

private:
    std::vector<std::vector<std::string>> m_rows;
};

} // namespace halfscope
