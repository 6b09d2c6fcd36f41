// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/task.h"

#include <algorithm>
#include <set>

namespace halfscope {

DatasetRequest datasetRequest(const RunConfig& config)
{
    DatasetRequest request;
    request.task = config.task;
    request.dataPath = config.data;
    request.textPath = config.text;
    request.context = config.model.context;
    request.patchSize = config.patchSize;
    return request;
}

TransformerConfig modelFor(const RunConfig& config, const DatasetInfo& data)
{
    TransformerConfig model = config.model;
    model.vocabulary = data.vocabulary;
    model.patches = data.patches;
    model.patchWidth = data.patchWidth;
    model.classes = data.classes;
    model.context = data.context();
    model.pretraining = data.classes > 0 && config.pretrainSteps > 0;
    return model;
}

TransformerConfig expectedModel(const RunConfig& config)
{
    TransformerConfig model = config.model;
    const TaskInfo* task = findTask(config.task);
    if (task == nullptr)
        return model;
    if (task->classifies)
        model.classes = std::max(model.classes, 1);
    if (task->hasImage && model.patches == 0) {
        model.patches = model.patchWidth = 1;
        model.vocabulary = std::max(model.vocabulary, 1);
    }
    model.pretraining = task->classifies && config.pretrainSteps > 0;
    return model;
}

RunConfig configForTask(RunConfig config, const TaskInfo& task, const std::string& path)
{
    config.task = task.key;
    (task.usesText ? config.text : config.data) = path;
    if (!task.classifies || task.hasImage)
        config.pretrainSteps = 0;
    if (task.classifies)
        config.model.tiedHead = false;
    config.patchSize = RunConfig().patchSize;
    forgetMissingModules(config);
    return config;
}

void forgetMissingModules(RunConfig& config)
{
    std::set<std::string> names;
    for (const ModuleInfo& module : listModules(expectedModel(config)))
        names.insert(module.name);
    std::erase_if(config.modulePrecision, [&](const auto& own) { return !names.contains(own.first); });
    std::erase_if(config.precisionSchedule, [&](const ScheduledPrecision& entry) {
        return !entry.module.empty() && !names.contains(entry.module);
    });
}

Transformer::Batch batchOf(const TransformerConfig& model, Examples& examples)
{
    if (model.pretraining) {
        const auto length = static_cast<std::size_t>(model.context);
        examples.targets.assign(examples.tokens.size(), -1);
        for (std::size_t i = 0; i + 1 < examples.tokens.size(); ++i) {
            if (i % length + 1 < length) // of an example's last token the next is not known
                examples.targets[i] = examples.tokens[i + 1];
        }
    }
    return {examples.tokens, examples.targets, examples.patches};
}

Hits countHits(std::span<const std::int32_t> columns, std::span<const std::int32_t> targets)
{
    Hits hits;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        hits.of += targets[i] >= 0 ? 1 : 0;
        hits.right += targets[i] >= 0 && targets[i] == columns[i] ? 1 : 0;
    }
    return hits;
}

} // namespace halfscope
