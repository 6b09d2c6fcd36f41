// SPDX-License-Identifier: GPL-3.0-or-later
// What training makes of a model, taken from one backend to another.
#include "engine/model/transformer.h"

#include <stdexcept>

namespace halfscope {

void Transformer::copyTo(HostState& state) const
{
    state.fp8 = *m_fp8;
    state.spikes.clear();
    for (const auto& [module, tap] : m_backwardOrder)
        state.spikes.push_back(probe(module, tap).factor);
}

// Every format's numbers are FP32 numbers, so that nothing is rounded on the way.
void Transformer::copyTo(Values& values) const
{
    values.resize(3 * m_parameters.size());
    std::size_t next = 0;
    for (const Parameter& p : m_parameters) {
        for (const Tensor* tensor : {&p.master, &p.moment1, &p.moment2}) {
            values[next].resize(static_cast<std::size_t>(tensor->size()));
            m_backend.download(*tensor, values[next++]);
        }
    }
}

void Transformer::restore(const HostState& state)
{
    if (state.fp8.size() != m_fp8->size() || state.spikes.size() != m_backwardOrder.size())
        throw std::logic_error("Transformer::restore: the state is another model's");
    *m_fp8 = state.fp8;
    std::size_t next = 0;
    for (const auto& [module, tap] : m_backwardOrder)
        probe(module, tap).factor = state.spikes[next++];
}

void Transformer::restore(const Values& values)
{
    if (values.size() != 3 * m_parameters.size())
        throw std::logic_error("Transformer::restore: the values are another model's");
    std::size_t next = 0;
    for (Parameter& p : m_parameters) {
        for (Tensor* tensor : {&p.master, &p.moment1, &p.moment2})
            m_backend.upload(values[next++], *tensor);
    }
    refreshCompute();
}

} // namespace halfscope
