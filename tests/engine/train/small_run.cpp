// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/train/small_run.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "engine/data/text_dataset.h"

namespace halfscope {

namespace {

// Written once a process; removed at its end.
struct GeneratedFile {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("halfscope-test-" + std::to_string(::getpid()) + ".txt");
    GeneratedFile() { std::ofstream(path, std::ios::binary) << generatedText(1).text; }
    ~GeneratedFile()
    {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
};

} // namespace

RunConfig smallRun()
{
    static const GeneratedFile file;
    RunConfig config;
    config.text = file.path.string();
    config.threads = 2;
    config.model.width = 32;
    config.model.depth = 2;
    config.model.heads = 2;
    config.model.context = 16;
    config.model.batch = 4;
    config.optimizer.learningRate = 3e-3F;
    return config;
}

} // namespace halfscope
