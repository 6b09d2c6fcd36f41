// SPDX-License-Identifier: GPL-3.0-or-later
// What a trainer has learned so far, read back from its backend.
#pragma once

#include <cstring>
#include <vector>

#include "engine/model/transformer.h"
#include "engine/train/trainer.h"

namespace halfscope {

inline std::vector<float> values(Backend& backend, const Tensor& tensor)
{
    std::vector<float> values(static_cast<std::size_t>(tensor.size()));
    backend.download(tensor, values);
    return values;
}

// The weights that are updated, parameter after parameter.
inline std::vector<float> weightsOf(Trainer& trainer)
{
    std::vector<float> all;
    for (const Parameter& p : trainer.model().parameters()) {
        const std::vector<float> one = values(trainer.backend(), p.master);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

// All bits of the training state: weights and moments, three tensors a parameter.
inline std::vector<std::vector<float>> stateBits(Trainer& trainer)
{
    std::vector<std::vector<float>> all;
    for (const Parameter& p : trainer.model().parameters()) {
        for (const Tensor* t : {&p.master, &p.moment1, &p.moment2})
            all.push_back(values(trainer.backend(), *t));
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
