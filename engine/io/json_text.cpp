// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/json_text.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "engine/core/number_text.h"

namespace halfscope {

namespace {

[[noreturn]] void fail(const std::string& sentence) { throw std::runtime_error(sentence); }

std::string position(std::string_view text, std::size_t byte)
{
    std::uint64_t line = 1;
    std::uint64_t column = 1;
    for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
        ++column;
        if (text[i] == '\n') {
            ++line;
            column = 1;
        }
    }
    return "line " + numberText(line) + ", column " + numberText(column);
}

} // namespace

Json parseJson(std::string_view text)
{
    // A key given twice would silently lose its first value.
    std::vector<std::set<std::string>> open;
    const auto watch = [&](int, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::object_start) {
            open.emplace_back();
        } else if (event == Json::parse_event_t::object_end) {
            open.pop_back();
        } else if (event == Json::parse_event_t::key) {
            const std::string key = value.get<std::string>();
            if (!open.back().insert(key).second)
                fail("The key " + inQuotes(key) + " is there twice; keep one.");
        }
        return true;
    };
    try {
        return Json::parse(text, watch);
    } catch (const Json::parse_error& e) {
        fail("This is not JSON: something is wrong at " + position(text, e.byte) + ".");
    } catch (const Json::exception&) {
        fail("This is not JSON that can be read: a number in it is out of range.");
    }
}

std::string inQuotes(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string readTextFile(const std::filesystem::path& file, const std::string& what)
{
    const std::string name = file.string();
    std::error_code error;
    if (std::filesystem::is_directory(file, error))
        fail(name + " is a folder; name a " + what + " file.");
    std::ifstream in(file, std::ios::binary);
    if (!in)
        fail("The " + what + " " + name + " cannot be read: " + std::generic_category().message(errno) + ".");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace halfscope
