// SPDX-License-Identifier: GPL-3.0-or-later
// One row of a CSV file, field by field.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "engine/io/csv_export.h"

namespace halfscope {

class CsvRow {
public:
    CsvRow& text(std::string_view value)
    {
        separate();
        m_line += csvField(value);
        return *this;
    }
    template <std::floating_point T>
    CsvRow& number(T value)
    {
        separate();
        m_line += csvNumber(value);
        return *this;
    }
    template <std::integral T>
    CsvRow& number(T value)
    {
        separate();
        m_line += std::to_string(value);
        return *this;
    }
    CsvRow& empty()
    {
        separate();
        return *this;
    }
    // Fields already in CSV form, separated by commas.
    CsvRow& verbatim(std::string_view fields)
    {
        separate();
        m_line += fields;
        return *this;
    }

    // The row with its line end. The next call of another function begins a new one.
    std::string_view finish()
    {
        m_line += kCsvLineEnd;
        m_finished = true;
        return m_line;
    }

private:
    void separate()
    {
        if (m_finished) {
            m_line.clear();
            m_finished = false;
        } else {
            m_line.push_back(',');
        }
    }

    std::string m_line;
    bool m_finished = true;
};

} // namespace halfscope
