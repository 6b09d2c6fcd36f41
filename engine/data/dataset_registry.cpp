// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/dataset_registry.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/data/authors_dataset.h"
#include "engine/data/csv_dataset.h"
#include "engine/data/generated_digits.h"
#include "engine/data/generated_shapes.h"
#include "engine/data/image_dataset.h"
#include "engine/data/language_dataset.h"
#include "engine/data/novels.h"
#include "engine/data/sequence_tasks.h"

namespace halfscope {
namespace {

constexpr std::array<TaskInfo, 9> kTasks = {{
    {.key = "language-model",
     .name = "Language model",
     .description = "Predicts the next character of a text: the installed novels, generated text or a file of yours.",
     .classifies = false,
     .usesText = true,
     .usesContext = true},
    {.key = "authors",
     .name = "Who wrote this?",
     .description = "Tells a passage of Conan Doyle's from one of Mark Twain's, from the installed novels.",
     .usesContext = true},
    {.key = "brackets",
     .name = "Balanced brackets",
     .description = "Tells whether all brackets of ([{}]) close in order; generated, wrong ones differ in one place.",
     .usesContext = true},
    {.key = "sortedness",
     .name = "Sorted numbers",
     .description = "Tells whether a list of numbers ascends; generated, most wrong ones are sorted but for two.",
     .usesContext = true},
    {.key = "csv",
     .name = "Labelled texts (CSV)",
     .description = "Classifies the texts of a CSV file of yours with the columns label and text.",
     .needsFile = true,
     .usesContext = true},
    {.key = "digits",
     .name = "Generated digits",
     .description = "Recognises the ten digits as if written by hand, 28 x 28 pixels; generated, needs no files.",
     .hasImage = true},
    {.key = "fashion-mnist",
     .name = "Fashion-MNIST",
     .description = "Recognises ten kinds of clothing, 70,000 images of 28 x 28 pixels, from the installed package.",
     .hasImage = true},
    {.key = "idx",
     .name = "Labelled images (IDX)",
     .description = "Classifies the images of IDX files of yours, as MNIST and its relatives come, packed or not.",
     .needsFile = true,
     .hasImage = true},
    {.key = "shapes",
     .name = "Shapes and questions",
     .description =
         "Answers a question about coloured shapes in an image of 32 x 32 pixels; image and text, generated.",
     .hasImage = true,
     .suitablePatch = 8},
}};

} // namespace

std::span<const TaskInfo> tasks() { return kTasks; }

const TaskInfo* findTask(std::string_view key)
{
    const auto at = std::ranges::find(kTasks, key, &TaskInfo::key);
    return at == kTasks.end() ? nullptr : &*at;
}

std::unique_ptr<Dataset> makeDataset(const DatasetRequest& request)
{
    const TaskInfo* task = findTask(request.task);
    if (task == nullptr)
        throw std::runtime_error("There is no task \"" + request.task + "\".");
    if (task->needsFile && request.dataPath.empty()) {
        throw std::runtime_error("The task \"" + std::string(task->name) + "\" needs a file of data; choose one.");
    }
    const std::string_view key = task->key;
    if (key == "language-model") {
        return std::make_unique<LanguageDataset>(
            request.textPath.empty() ? defaultText() : loadTextFile(request.textPath), request.context);
    }
    if (key == "authors")
        return makeAuthors(novelFolders(), request.context);
    if (key == "brackets")
        return makeBrackets(request.context);
    if (key == "sortedness")
        return makeSortedness(request.context);
    if (key == "csv")
        return makeCsv(request.dataPath, request.context);
    if (key == "digits")
        return makeDigits(request.patchSize);
    if (key == "fashion-mnist")
        return makeFashionMnist(kFashionMnistFolder, request.patchSize);
    if (key == "idx")
        return makeIdx(request.dataPath, request.patchSize);
    if (key == "shapes")
        return makeShapes(request.patchSize);
    throw std::runtime_error("The task \"" + std::string(task->name) + "\" has no data set.");
}

} // namespace halfscope
