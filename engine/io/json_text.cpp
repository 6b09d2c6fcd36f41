// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/json_text.h"

#include <cerrno>
#include <fstream>
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

nlohmann::json parseJson(std::string_view text)
{
    // A key given twice would silently lose its first value.
    std::vector<std::set<std::string>> open;
    const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
        if (event == nlohmann::json::parse_event_t::object_start) {
            open.emplace_back();
        } else if (event == nlohmann::json::parse_event_t::object_end) {
            open.pop_back();
        } else if (event == nlohmann::json::parse_event_t::key) {
            const std::string key = value.get<std::string>();
            if (!open.back().insert(key).second)
                fail("The key " + inQuotes(key) + " is there twice; keep one.");
        }
        return true;
    };
    try {
        return nlohmann::json::parse(text, watch);
    } catch (const nlohmann::json::parse_error& e) {
        fail("This is not JSON: something is wrong at " + position(text, e.byte) + ".");
    } catch (const nlohmann::json::exception&) {
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
    constexpr std::size_t kMost = 64U << 20U; // also of what has no end, as a device
    std::string text;
    std::vector<char> chunk(1U << 16U);
    while (text.size() <= kMost &&
           (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0))
        text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMost)
        fail("The " + what + " " + name + " is larger than 64 MiB; is it the right file?");
    return text;
}

} // namespace halfscope
