// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of tasks share: small runs of each kind, and the bits of a training state.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "engine/model/transformer.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {

// A small model for a task that needs no files.
inline RunConfig smallTask(const std::string& task)
{
    RunConfig config = smallRun();
    config.task = task;
    config.model.batch = 8;
    config.precision = "mixed-fp16";
    return config;
}

// All bits of the training state.
inline std::vector<std::vector<float>> stateBits(Trainer& trainer)
{
    std::vector<std::vector<float>> all;
    for (const Parameter& p : trainer.model().parameters()) {
        for (const Tensor* t : {&p.master, &p.moment1, &p.moment2}) {
            std::vector<float> values(static_cast<std::size_t>(t->size()));
            trainer.backend().download(*t, values);
            all.push_back(std::move(values));
        }
    }
    return all;
}

inline bool sameBits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b)
{
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].size() != b[i].size() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0)
            return false;
    }
    return true;
}

} // namespace halfscope
