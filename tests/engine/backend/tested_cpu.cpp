// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU backend as the one that is tested; its counterpart is tests/engine/cuda/tested_standin.cpp.
#include "engine/backend/backend_registry.h"
#include "support.h"

namespace halfscope::test {

Backend& cpu()
{
    static const std::unique_ptr<Backend> backend = makeBackend("cpu", 2);
    return *backend;
}

std::vector<SimdLevel> simdLevels()
{
    std::vector<SimdLevel> levels;
    for (const SimdLevel level : {SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512})
        if (level <= bestSimdLevel())
            levels.push_back(level);
    return levels;
}

void expectSameBytes(const std::function<std::string(Backend&)>& work)
{
    const SimdLevel before = activeSimdLevel();
    std::string first;
    for (const SimdLevel level : simdLevels()) {
        setSimdLevel(level);
        for (const int threads : {1, 2, 3, 5}) {
            const std::unique_ptr<Backend> backend = makeBackend("cpu", threads);
            const std::string bytes = work(*backend);
            if (first.empty())
                first = bytes;
            ASSERT_FALSE(bytes.empty());
            const bool same = bytes == first;
            EXPECT_TRUE(same) << simdLevelName(level) << " with " << threads << " threads differs";
        }
    }
    setSimdLevel(before);
}

} // namespace halfscope::test
