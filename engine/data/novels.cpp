// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/novels.h"

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "engine/data/text_file.h"
#include "engine/data/utf8.h"

namespace halfscope {
std::optional<std::string> findNovel(const Novel& novel, std::span<const std::string> folders)
{
    for (const std::string& folder : folders) {
        const std::filesystem::path path = std::filesystem::path(folder) / novel.fileName;
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored))
            continue;
        try {
            std::string text = stripPublisherText(readTextFile(path.string()));
            if (countUtf8Characters(text) >= kMinTextCharacters)
                return text;
        } catch (const std::runtime_error&) {
            // Damaged: as good as missing. The notice says which novel is not there.
        }
    }
    return std::nullopt;
}

std::span<const std::string> novelFolders()
{
    static const std::vector<std::string> folders = {
        "/usr/share/gocode/src/github.com/pierrec/lz4/testdata",
        "/usr/share/gocode/src/github.com/pierrec/lz4/v4/testdata",
        "/usr/share/gocode/src/github.com/pierrec/lz4/fuzz/corpus",
        "/usr/share/gocode/src/github.com/bkaradzic/go-lz4/testdata",
    };
    return folders;
}

std::optional<TextSource> loadNovels(std::span<const std::string> folders)
{
    TextSource source;
    std::string missing;
    for (const Novel& novel : kNovels) {
        const auto text = findNovel(novel, folders);
        if (!text) {
            missing += std::string(missing.empty() ? "" : ", ") + "\"" + novel.title + "\"";
            continue;
        }
        if (!source.text.empty())
            source.text += "\n\n";
        source.text += *text;
        source.title += std::string(source.title.empty() ? "" : " · ") + novel.title;
    }
    if (source.text.empty())
        return std::nullopt;
    if (!missing.empty()) {
        source.notice = missing + " was not found, so training uses the rest; installing the package " +
                        kNovelsPackage + " again brings it back.";
    }
    return source;
}

TextSource defaultTextFrom(std::span<const std::string> folders)
{
    if (auto novels = loadNovels(folders))
        return *std::move(novels);
    TextSource source = generatedText();
    source.notice = std::string("The novels are not installed, so generated text is used; install the package ") +
                    kNovelsPackage + " for real English, or open a text file of your own.";
    return source;
}

TextSource defaultText() { return defaultTextFrom(novelFolders()); }

} // namespace halfscope
