// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/csv_table.h"

#include <stdexcept>
#include <utility>

namespace halfscope {
namespace {

class Parser {
public:
    Parser(const std::string& text, const std::string& name) : m_text(text), m_name(name) {}

    std::vector<CsvRecord> parse()
    {
        std::vector<CsvRecord> records;
        while (m_at < m_text.size()) {
            if (m_text[m_at] == '\n') {
                ++m_at;
                ++m_line;
                continue;
            }
            records.push_back(record());
        }
        return records;
    }

private:
    [[noreturn]] void fail(std::size_t line, const std::string& what) const
    {
        throw std::runtime_error("\"" + m_name + "\", line " + std::to_string(line) + ": " + what);
    }

    CsvRecord record()
    {
        CsvRecord record;
        record.line = m_line;
        while (true) {
            record.fields.push_back(m_at < m_text.size() && m_text[m_at] == '"' ? quoted() : plain());
            if (m_at == m_text.size())
                return record;
            if (m_text[m_at++] == '\n') {
                ++m_line;
                return record;
            }
        }
    }

    std::string plain()
    {
        const std::size_t end = std::min(m_text.find_first_of(",\n", m_at), m_text.size());
        return m_text.substr(std::exchange(m_at, end), end - m_at);
    }

    std::string quoted()
    {
        const std::size_t begin = m_line;
        std::string field;
        for (++m_at; m_at < m_text.size(); ++m_at) {
            const char c = m_text[m_at];
            if (c == '"') {
                ++m_at;
                if (m_at == m_text.size() || m_text[m_at] == ',' || m_text[m_at] == '\n')
                    return field;
                if (m_text[m_at] != '"')
                    fail(m_line, "there is text after a closing quote; a quote within a field is written twice.");
            }
            m_line += c == '\n' ? 1 : 0;
            field.push_back(c);
        }
        fail(begin, "a quote is opened here and never closed.");
    }

    const std::string& m_text;
    const std::string& m_name;
    std::size_t m_at = 0;
    std::size_t m_line = 1;
};

} // namespace

std::vector<CsvRecord> parseCsv(const std::string& text, const std::string& name) { return Parser(text, name).parse(); }

} // namespace halfscope
