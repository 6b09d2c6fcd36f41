// SPDX-License-Identifier: GPL-3.0-or-later
// What operations find out on the GPU, on its way to the host: the statistics of probes, the finiteness and norm of
// gradients, the loss. Each operation leaves it in a record of its own. There are two banks of records: a full one is
// sent to the host while the next operations use the other, so nobody waits for it before both are full or the stream
// is waited for anyway; then records are handed out in the order of the operations.
#pragma once

#include <array>
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

    // Before an operation: sends the bank on its way if there might be too little room in it for the operation's
    // records.
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

    struct Bank {
        std::shared_ptr<void> records; // on the GPU, all zero but for those in use
        std::shared_ptr<void> sums;
        std::shared_ptr<void> ranges;
        std::shared_ptr<void> fetched; // pinned: records
        std::shared_ptr<void> sent;    // pinned: ranges
        std::shared_ptr<CUevent_st> arrived;
        std::vector<Receiver> receivers;
        std::size_t sumsUsed = 0;
        bool onItsWay = false;
    };

    Bank makeBank();
    Bank& current() { return m_banks[m_current]; }
    Bank& other() { return m_banks[1 - m_current]; }
    Report take(Receiver to, unsigned blocks);
    void send(Bank& bank);
    void receive(Bank& bank); // waits for it alone
    void handOut(const Record& record, const Receiver& to);

    cudaStream_t m_stream;
    std::array<Bank, 2> m_banks;
    std::size_t m_current = 0;
};

} // namespace halfscope::cuda
