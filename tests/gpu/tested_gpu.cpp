// SPDX-License-Identifier: GPL-3.0-or-later
// The backend on the GPU as the one that is tested; its counterparts are tests/engine/backend/tested_cpu.cpp and
// tests/engine/cuda/tested_standin.cpp.
#include "engine/backend/cuda/cuda_loader.h"
#include "support.h"

namespace halfscope::test {

Backend& cpu()
{
    static const std::unique_ptr<Backend> backend = makeCudaBackend(0);
    return *backend;
}

// Again and again on the same device: all must be equal.
void expectSameBytes(const std::function<std::string(Backend&)>& work)
{
    std::string first;
    for (int turn = 0; turn < 3; ++turn) {
        const std::string bytes = work(cpu());
        if (first.empty())
            first = bytes;
        const bool same = bytes == first;
        EXPECT_TRUE(same) << "turn " << turn << " gives another result";
    }
}

} // namespace halfscope::test
