// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/file_task.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace halfscope {

namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view kGzip = "\x1F\x8B"sv;
constexpr std::string_view kIdxBytes = "\0\0\x08"sv;

std::string lowerExtension(const fs::path& path)
{
    std::string extension = path.extension().string();
    std::ranges::transform(extension, extension.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

bool isPicture(std::string_view head)
{
    return std::ranges::any_of(std::array{"\x89PNG"sv, "\xFF\xD8\xFF"sv, "GIF8"sv, "BM"sv, "II*\0"sv, "MM\0*"sv},
                               [&](std::string_view magic) {
                                   // A text may begin with BM; a picture has bytes that no text has.
                                   return head.starts_with(magic) && (magic != "BM"sv || head.find('\0') != head.npos);
                               });
}

// The images that a file of labels belongs to, where they are there.
std::string imagesOf(const fs::path& labels)
{
    std::string name = labels.filename().string();
    const auto replace = [&name](std::string_view word, std::string_view with) {
        if (const std::size_t at = name.find(word); at != std::string::npos)
            name.replace(at, word.size(), with);
    };
    replace("labels", "images");
    replace("idx1", "idx3");
    std::error_code ignored;
    const fs::path images = labels.parent_path() / name;
    return fs::exists(images, ignored) ? images.string() : labels.string();
}

} // namespace

FileTask fileTask(const std::string& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        throw std::runtime_error("\"" + path + "\" is not there any more.");
    if (fs::is_directory(status))
        return {"idx", path};
    if (!fs::is_regular_file(status))
        throw std::runtime_error("\"" + path + "\" is not a regular file; copy what it holds into one.");
    std::array<char, 64> bytes{};
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), bytes.size());
    const std::string_view head(bytes.data(), static_cast<std::size_t>(file.gcount()));
    if (isPicture(head))
        throw std::runtime_error("\"" + path +
                                 "\" is a picture; images to train on come as IDX files, as MNIST does, or a folder "
                                 "with them.");
    if (head.starts_with(kGzip) || head.starts_with(kIdxBytes))
        return {"idx", imagesOf(path)};
    return {lowerExtension(path) == ".csv" ? "csv" : "language-model", path};
}

FileTask usableFileTask(const std::string& path, DatasetRequest request)
{
    FileTask found = fileTask(path);
    request.task = found.task;
    (found.task == "language-model" ? request.textPath : request.dataPath) = found.path;
    request.patchSize = kSuitablePatch;
    try {
        makeDataset(request);
    } catch (const std::runtime_error& e) {
        if (found.task != "csv")
            throw;
        std::string why = e.what();
        if (why.ends_with('.'))
            why.pop_back();
        throw std::runtime_error(why + "; to train on the table as text, open it as a text.");
    }
    return found;
}

} // namespace halfscope
