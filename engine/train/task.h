// SPDX-License-Identifier: GPL-3.0-or-later
// From a task to a model and its batches: what of the model the data decide, and what the model is given of an example.
#pragma once

#include "engine/data/dataset_registry.h"
#include "engine/model/transformer.h"
#include "engine/train/run_config.h"

namespace halfscope {

DatasetRequest datasetRequest(const RunConfig& config);

// config.model with what the data decide.
TransformerConfig modelFor(const RunConfig& config, const DatasetInfo& data);
// The same before the data are there, for the names of the modules: sizes that only the data know are 1. A task with
// images may turn out to have no tokens.
TransformerConfig expectedModel(const RunConfig& config);

// Another task for a configuration, as somebody who brings `path` wants it: what the task has no use for goes back to
// its default, formats of modules that it has not are forgotten. `path` is the text of a task that uses one, else the
// data.
RunConfig configForTask(RunConfig config, const TaskInfo& task, const std::string& path);
// Forgets the formats, and the schedule's, of modules that the configuration's model has not.
void forgetMissingModules(RunConfig& config);

// What a model is given of these examples. In pretraining their classes give way to the next tokens.
Transformer::Batch batchOf(const TransformerConfig& model, Examples& examples);

// How many of the predictions in `columns` (see Backend::argmax()) are right, and how many there are.
struct Hits {
    std::int64_t right = 0;
    std::int64_t of = 0;
    double share() const { return static_cast<double>(right) / static_cast<double>(of); }
};
Hits countHits(std::span<const std::int32_t> columns, std::span<const std::int32_t> targets);

} // namespace halfscope
