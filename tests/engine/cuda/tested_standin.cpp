// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA backend on its stand-in as the one that is tested, so that every case of the CPU backend's tests runs on it.
#include "engine/backend/cuda/cuda_backend.h"
#include "simt.h"
#include "support.h"

namespace halfscope::test {

Backend& cpu()
{
    static cuda::CudaBackend backend;
    return backend;
}

void expectSameBytes(const std::function<std::string(Backend&)>& work)
{
    const simt::Options before = simt::options();
    std::string first;
    for (const simt::Order order : {simt::Order::Forward, simt::Order::Reverse, simt::Order::Shuffled}) {
        simt::options().order = order;
        const std::string bytes = work(cpu());
        if (first.empty())
            first = bytes;
        ASSERT_FALSE(bytes.empty());
        const bool same = bytes == first;
        EXPECT_TRUE(same) << "another order of threads and blocks gives another result";
    }
    simt::options() = before;
}

} // namespace halfscope::test
