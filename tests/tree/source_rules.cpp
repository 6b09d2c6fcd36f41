// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/tree/source_rules.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace halfscope::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 700;

bool isCpp(const std::string& path)
{
    static const std::set<std::string> kExtensions = {".cpp", ".h", ".cu", ".cuh"};
    return kExtensions.contains(fs::path(path).extension().string());
}

bool isBuildFile(const std::string& path)
{
    const fs::path name = fs::path(path).filename();
    return name == "CMakeLists.txt" || name == "CMakePresets.json" || name.extension() == ".cmake";
}

bool isScript(const std::string& path)
{
    const std::string extension = fs::path(path).extension().string();
    return extension == ".sh" || extension == ".py" || path == ".ci/run";
}

std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

// The file an #include names, or nothing.
std::string includedFile(const std::string& line)
{
    static const std::regex include(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
    std::smatch match;
    return std::regex_search(line, match, include) ? match[1].str() : std::string();
}

bool isCudaHeader(const std::string& header)
{
    static const std::array<std::string_view, 9> kPrefixes = {"cuda", "cublas", "curand",  "cudnn", "cusparse",
                                                              "nvtx", "nvml",   "thrust/", "cub/"};
    return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return header.starts_with(prefix); }) ||
           header == "cooperative_groups.h";
}

std::string brokenInclude(const std::string& path, const std::string& header)
{
    const bool inEngine = path.starts_with("engine/");
    if (inEngine && (header.starts_with("Q") || header == "qcustomplot.h"))
        return "includes Qt's \"" + header + "\"; the engine knows no Qt";
    if (inEngine && (header.starts_with("ui/") || header.starts_with("app/")))
        return "includes \"" + header + "\", which lies above the engine";
    if (path.starts_with("ui/") && header.starts_with("app/"))
        return "includes \"" + header + "\", which lies above the window";
    if (isCudaHeader(header) && !path.starts_with("engine/backend/cuda/") && !path.starts_with("tests/engine/cuda/"))
        return "includes \"" + header + "\"; CUDA stays below engine/backend/cuda/";
    return {};
}

// What a line of a build file or a pragma asks the compiler for, comments left out.
bool asksForLooseArithmetic(const std::string& path, const std::string& line)
{
    static const std::regex loose("fast[-_]math|-Ofast|unsafe-math-optim|finite-math-only|associative-math|"
                                  "reciprocal-math|-fno-signed-zeros|-ftz=true|-ffp-contract=fast|FP_CONTRACT ON");
    static const std::regex comment("#.*$");
    static const std::regex pragma(R"re(^\s*#\s*pragma|__attribute__|_Pragma|set_flush_zero|SET_FLUSH_ZERO)re");
    if (isCpp(path))
        return std::regex_search(line, pragma) && std::regex_search(line, loose);
    if (!isBuildFile(path) && !isScript(path))
        return false;
    return std::regex_search(std::regex_replace(line, comment, ""), loose);
}

} // namespace

std::vector<SourceFile> readTree(const fs::path& root)
{
    std::vector<SourceFile> files;
    const auto take = [&](const fs::path& path) {
        const std::string relative = fs::relative(path, root).generic_string();
        if (!isCpp(relative) && !isBuildFile(relative) && !isScript(relative))
            return;
        std::ifstream in(path, std::ios::binary);
        files.push_back({relative, {std::istreambuf_iterator<char>(in), {}}});
    };
    for (const char* file : {"CMakeLists.txt", "CMakePresets.json", ".ci/run"})
        take(root / file);
    for (const char* folder : {"app", "cmake", "engine", "resources", "scripts", "tests", "ui"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file())
                take(entry.path());
        }
    }
    return files;
}

std::vector<std::string> brokenRules(const SourceFile& file)
{
    std::vector<std::string> broken;
    const auto complain = [&](std::size_t line, const std::string& what) {
        broken.push_back(file.path + ":" + std::to_string(line) + " " + what);
    };
    const std::vector<std::string> lines = linesOf(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (isCpp(file.path)) {
            if (const std::string what = brokenInclude(file.path, includedFile(lines[i])); !what.empty())
                complain(i + 1, what);
        }
        if (asksForLooseArithmetic(file.path, lines[i]))
            complain(i + 1, "switches on arithmetic that is not exact: " + lines[i]);
    }
    if (lines.size() > kMostLines)
        complain(lines.size(), "is longer than " + std::to_string(kMostLines) + " lines");
    const std::size_t licenceLine = !lines.empty() && lines[0].starts_with("#!") ? 1 : 0;
    const bool hasLicence = lines.size() > licenceLine &&
                            lines[licenceLine].find("SPDX-License-Identifier: GPL-3.0-or-later") != std::string::npos;
    if (!hasLicence && !file.path.ends_with(".json")) // JSON has no comments
        complain(licenceLine + 1, "does not name the licence");
    return broken;
}

} // namespace halfscope::test
