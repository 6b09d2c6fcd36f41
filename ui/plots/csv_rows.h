// SPDX-License-Identifier: GPL-3.0-or-later
// Rows for the tables that plots export: RFC 4180, C locale, shortest numbers that read back the same.
#pragma once

#include <QByteArray>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string_view>

namespace halfscope {

class CsvRows {
public:
    explicit CsvRows(std::string_view header) { m_text.append(header.data(), qsizetype(header.size())).append("\r\n"); }

    template <typename... Fields>
    void add(const Fields&... fields)
    {
        bool first = true;
        ((first ? void(first = false) : void(m_text.append(',')), field(fields)), ...);
        m_text.append("\r\n");
    }
    const QByteArray& text() const { return m_text; }

private:
    void field(std::string_view text)
    {
        if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
            m_text.append(text.data(), qsizetype(text.size()));
            return;
        }
        m_text.append('"');
        for (const char c : text) {
            if (c == '"')
                m_text.append('"');
            m_text.append(c);
        }
        m_text.append('"');
    }
    void field(const char* text) { field(std::string_view(text)); }
    template <std::integral Integer>
    void field(Integer value)
    {
        m_text.append(QByteArray::number(value));
    }
    template <std::floating_point Float>
    void field(Float value)
    {
        if (std::isnan(value)) {
            m_text.append("nan");
        } else if (std::isinf(value)) {
            m_text.append(value > 0 ? "inf" : "-inf");
        } else {
            std::array<char, 64> buffer{};
            const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
            m_text.append(buffer.data(), end - buffer.data());
        }
    }

    QByteArray m_text;
};

} // namespace halfscope
