// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "engine/data/utf8.h"

namespace halfscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what)
{
    throw std::runtime_error("\"" + path + "\" " + what);
}

std::string reason(int error) { return std::generic_category().message(error); }

std::string lineNumber(std::string_view bytes, std::size_t offset)
{
    return std::to_string(1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

void checkKind(const std::string& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        fail(path, "does not exist; check the name of the text file.");
    if (status.type() == fs::file_type::none)
        fail(path, "cannot be opened: " + error.message() + ".");
    if (fs::is_directory(status))
        fail(path, "is a folder; choose a text file in it.");
    if (!fs::is_regular_file(status))
        fail(path, "is not a regular file; copy its text into a file and open that.");
}

std::string readBytes(const std::string& path)
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
    if (!file)
        fail(path, "cannot be opened: " + reason(errno) + ".");
    // Read to the end instead of trusting the size: it may grow meanwhile, and special files say 0.
    std::string bytes;
    std::array<char, 1U << 16U> block{};
    while (const std::size_t n = std::fread(block.data(), 1, block.size(), file.get())) {
        bytes.append(block.data(), n);
        if (bytes.size() > kMaxTextBytes) {
            fail(path, "is larger than " + std::to_string(kMaxTextBytes >> 20U) +
                           " MiB, the most HalfScope takes; cut it to a part of that size.");
        }
    }
    if (std::ferror(file.get()) != 0)
        fail(path, "cannot be read: " + reason(errno) + ".");
    return bytes;
}

void checkText(const std::string& path, std::string_view bytes)
{
    if (bytes.empty())
        fail(path, "is empty; choose a file with text in it.");
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))
        fail(path, "is UTF-16 text; save it as UTF-8 and open it again.");
    if (const std::size_t zero = bytes.find('\0'); zero != std::string_view::npos) {
        fail(path, "is not text but binary data (a zero byte at position " + std::to_string(zero) +
                       "); choose a UTF-8 text file.");
    }
    if (const auto bad = firstInvalidUtf8(bytes)) {
        std::array<char, 8> hex{};
        std::snprintf(hex.data(), hex.size(), "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(bytes[*bad])));
        fail(path, "is not UTF-8: byte " + std::string(hex.data()) + " at position " + std::to_string(*bad) +
                       " (line " + lineNumber(bytes, *bad) + ") does not fit; save it as UTF-8 and open it again.");
    }
}

std::string unixLineEnds(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r') {
            out.push_back(text[i]);
            continue;
        }
        out.push_back('\n');
        if (i + 1 < text.size() && text[i + 1] == '\n')
            ++i;
    }
    return out;
}

std::string_view trimBlankLines(std::string_view text)
{
    // Keep the indentation of the first line: cut at line ends only.
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size() && (text[i] == ' ' || text[i] == '\n'); ++i) {
        if (text[i] == '\n')
            begin = i + 1;
    }
    text.remove_prefix(begin);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n'))
        text.remove_suffix(1);
    return text;
}

std::size_t lineEndAfter(std::string_view text, std::size_t from)
{
    const std::size_t end = text.find('\n', from);
    return end == std::string_view::npos ? text.size() : end + 1;
}

} // namespace

std::string readTextFile(const std::string& path)
{
    checkKind(path);
    std::string bytes = readBytes(path);
    checkText(path, bytes);
    std::string_view text = bytes;
    if (text.starts_with("\xEF\xBB\xBF"))
        text.remove_prefix(3);
    if (text.empty())
        fail(path, "is empty; choose a file with text in it.");
    return unixLineEnds(text);
}

std::string stripPublisherText(const std::string& text)
{
    std::string_view body = text;
    for (const std::string_view marker :
         {"*** START OF THIS PROJECT GUTENBERG", "*** START OF THE PROJECT GUTENBERG"}) {
        if (const std::size_t at = body.find(marker); at != std::string_view::npos)
            body.remove_prefix(lineEndAfter(body, at));
    }
    // The end is announced once in prose and once by a marker; whichever comes first closes the book.
    std::size_t end = body.size();
    for (const std::string_view marker : {"\nEnd of the Project Gutenberg", "\nEnd of Project Gutenberg",
                                          "\n*** END OF THIS PROJECT GUTENBERG", "\n*** END OF THE PROJECT GUTENBERG"})
        end = std::min(end, body.find(marker));
    body = trimBlankLines(body.substr(0, end));
    if (body.starts_with("Produced by ")) { // a paragraph of credits
        const std::size_t paragraphEnd = body.find("\n\n");
        body = paragraphEnd == std::string_view::npos ? std::string_view() : trimBlankLines(body.substr(paragraphEnd));
    }
    return body.empty() ? std::string() : std::string(body) + "\n";
}

} // namespace halfscope
