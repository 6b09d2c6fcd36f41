// SPDX-License-Identifier: GPL-3.0-or-later
// What operations find out on the GPU, on its way to the host: the statistics of probes, the finiteness and norm of
// gradients, the loss. Each operation leaves it in a record of its own; when somebody waits for the stream all records
// are fetched at once and handed out in the order of the operations.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/device_memory.h"
#include "engine/backend/cuda/kernels/optimizer.cuh"

namespace halfscope::cuda {

class Results {
public:
    explicit Results(cudaStream_t stream);

    // Before an operation: waits and collects if there might be too little room for its records.
    void makeRoom();

    // The kernel's view of a probe for values that it rounds into `format`; nothing for a null probe. The kernel has
    // `blocks` blocks, all in x. The pointer must be valid until collect().
    Probe probe(CastProbe* to, FormatId format, unsigned blocks);
    Report report(Backend::Unscaled* to, unsigned blocks);
    Report report(double* to, unsigned blocks); // the sum
    Report report(float* to);                   // the largest magnitude
    Report report(UpdateProbe* to);

    // Waits for the stream and hands out everything.
    void collect();
    // Hands out nothing of what is on its way.
    void forget() noexcept;

private:
    using Receiver = std::variant<CastProbe*, Backend::Unscaled*, double*, float*, UpdateProbe*>;

    Report take(Receiver to, unsigned blocks);
    void handOut(const Record& record, const Receiver& to);

    cudaStream_t m_stream;
    std::shared_ptr<void> m_records; // on the GPU, all zero but for those in use
    std::shared_ptr<void> m_sums;
    std::shared_ptr<void> m_ranges;
    std::shared_ptr<void> m_fetched; // pinned: records
    std::shared_ptr<void> m_sent;    // pinned: ranges
    std::vector<Receiver> m_receivers;
    std::size_t m_sumsUsed = 0;
};

} // namespace halfscope::cuda
