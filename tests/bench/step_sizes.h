// SPDX-License-Identifier: GPL-3.0-or-later
// The three sizes of training step that are measured, on text that does not depend on what is installed.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "engine/data/text_dataset.h"
#include "engine/train/run_config.h"

namespace halfscope {

struct Size {
    const char* name;
    int width, depth, heads, context, batch;
};
inline constexpr Size kSizes[] = {{"tiny", 64, 2, 2, 32, 8}, {"S", 128, 4, 4, 64, 16}, {"M", 256, 4, 4, 128, 16}};

// A file with the generator's text.
inline const std::string& textPath()
{
    static const struct File {
        std::string path =
            (std::filesystem::temp_directory_path() / ("halfscope-bench-" + std::to_string(::getpid()) + ".txt"))
                .string();
        File() { std::ofstream(path, std::ios::binary) << generatedText(1).text; }
        ~File()
        {
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
        }
    } file;
    return file.path;
}

enum class Statistics { Off, Weights, All };

inline RunConfig configuration(const Size& size, int threads, const char* precision, Statistics statistics)
{
    RunConfig config;
    config.text = textPath();
    config.threads = threads;
    config.precision = precision;
    config.validationInterval = 0;
    config.model.width = size.width;
    config.model.depth = size.depth;
    config.model.heads = size.heads;
    config.model.context = size.context;
    config.model.batch = size.batch;
    config.scaler.initialScale = 1024.0; // nothing overflows, so every step is applied
    config.statisticsInterval = statistics == Statistics::Off ? 1'000'000 : 1; // Off: the first, which is not timed
    config.measureActivationGrads = statistics == Statistics::All;
    return config;
}

} // namespace halfscope
