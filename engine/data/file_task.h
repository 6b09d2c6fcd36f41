// SPDX-License-Identifier: GPL-3.0-or-later
// What somebody brings, from a file manager say: which task it is for.
#pragma once

#include <string>

#include "engine/data/dataset_registry.h"

namespace halfscope {

struct FileTask {
    std::string task; // a TaskInfo::key: "language-model", "csv" or "idx"
    std::string path; // for DatasetRequest::textPath of the first, dataPath of the others
};

// A folder, or a file that begins as IDX or gzip do, is for "idx"; of a file of labels it is the images beside it. What
// is called *.csv is for "csv", anything else a text. Only the beginning of the file is read. Throws std::runtime_error
// with one sentence: it is not there, a picture, no regular file.
FileTask fileTask(const std::string& path);

// The same, and that the task can be trained on it: all of it is read, which may take seconds. `request` says how
// (context, patches). Throws what makeDataset() throws, and that a table which is not label,text may be opened as text.
FileTask usableFileTask(const std::string& path, DatasetRequest request);

} // namespace halfscope
