// SPDX-License-Identifier: GPL-3.0-or-later
// Snapshots whose memory is used again: a measured step hands out some 100 KB and should not ask the system for them.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/train/telemetry.h"

namespace halfscope {

class SnapshotPool {
public:
    SnapshotPool();

    // As newly made, but its vectors may have capacity. It comes back when the last pointer to it goes, in whatever
    // thread, and also after the pool has gone. Throws std::bad_alloc.
    std::shared_ptr<Snapshot> take();

    // Kept for later at most; what comes back beyond that is freed, so that a reader who held many leaves nothing.
    static constexpr std::size_t kMostKept = 16;

private:
    struct Shelf;
    struct PutBack;
    template <typename T>
    struct Blocks;
    std::shared_ptr<Shelf> m_shelf;
};

} // namespace halfscope
