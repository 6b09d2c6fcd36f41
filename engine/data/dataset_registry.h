// SPDX-License-Identifier: GPL-3.0-or-later
// The tasks a model can be trained on, and the data set of each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/data/dataset.h"

namespace halfscope {

inline constexpr int kPatchRows = 0;      // a patch is one row of the image
inline constexpr int kSuitablePatch = -1; // what suits the task: TaskInfo::suitablePatch

struct TaskInfo {
    std::string_view key;         // "fashion-mnist": in settings, files and on the command line
    std::string_view name;        // "Fashion-MNIST"
    std::string_view description; // one sentence for people who choose
    bool classifies = true;       // false: the next token is predicted
    bool needsFile = false;       // DatasetRequest::dataPath says what to read
    bool usesText = false;        // DatasetRequest::textPath may name a text
    bool usesContext = false;     // examples are DatasetRequest::context long; otherwise the task decides
    bool hasImage = false;        // cut up as DatasetRequest::patchSize says
    int suitablePatch = kPatchRows;
};

std::span<const TaskInfo> tasks(); // in the order to offer them; the first is what a first start trains
const TaskInfo* findTask(std::string_view key);

struct DatasetRequest {
    std::string task = "language-model"; // a TaskInfo::key
    std::string dataPath;                // csv: the file. idx: the file of images, or the folder it is in
    std::string textPath;                // language-model: a UTF-8 file; empty: the novels, or generated text
    int context = 64;                    // tokens of an example
    int patchSize = kSuitablePatch;      // n: squares of n x n pixels, n divides width and height; or kPatchRows
};

// What is held out does not depend on the run's seed, so that runs with different seeds can be compared.
// Throws std::runtime_error with one sentence: unknown task, no file, a file that cannot be read or does not hold what
// the task needs, a context too short for it, patches that do not fit the image. Reads whole files; may take seconds.
std::unique_ptr<Dataset> makeDataset(const DatasetRequest& request);

} // namespace halfscope
