// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/snapshot_pool.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace halfscope {

// Snapshots, and the blocks in which shared pointers count. All blocks are of one size, because all pointers are made
// by the same line.
struct SnapshotPool::Shelf {
    Shelf()
    {
        snapshots.reserve(kMostKept);
        blocks.reserve(kMostKept);
    }
    Shelf(const Shelf&) = delete;
    Shelf& operator=(const Shelf&) = delete;
    ~Shelf()
    {
        for (void* block : blocks)
            ::operator delete(block);
    }

    std::mutex mutex;
    std::vector<std::unique_ptr<Snapshot>> snapshots;
    std::vector<void*> blocks;
};

struct SnapshotPool::PutBack {
    std::shared_ptr<Shelf> shelf;

    void operator()(Snapshot* snapshot) const noexcept
    {
        std::unique_ptr<Snapshot> owner(snapshot);
        const std::lock_guard lock(shelf->mutex);
        if (shelf->snapshots.size() < kMostKept)
            shelf->snapshots.push_back(std::move(owner));
    }
};

template <typename T>
struct SnapshotPool::Blocks {
    using value_type = T;

    std::shared_ptr<Shelf> shelf;

    explicit Blocks(std::shared_ptr<Shelf> s) : shelf(std::move(s)) {}
    template <typename U>
    explicit Blocks(const Blocks<U>& other) : shelf(other.shelf)
    {
    }

    T* allocate(std::size_t n)
    {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        const std::lock_guard lock(shelf->mutex);
        if (n != 1 || shelf->blocks.empty())
            return static_cast<T*>(::operator new(n * sizeof(T)));
        void* block = shelf->blocks.back();
        shelf->blocks.pop_back();
        return static_cast<T*>(block);
    }
    void deallocate(T* block, std::size_t n) noexcept
    {
        {
            const std::lock_guard lock(shelf->mutex);
            if (n == 1 && shelf->blocks.size() < kMostKept) {
                shelf->blocks.push_back(block);
                return;
            }
        }
        ::operator delete(block);
    }
    template <typename U>
    bool operator==(const Blocks<U>& other) const
    {
        return shelf == other.shelf;
    }
};

SnapshotPool::SnapshotPool() : m_shelf(std::make_shared<Shelf>()) {}

std::shared_ptr<Snapshot> SnapshotPool::take()
{
    std::unique_ptr<Snapshot> snapshot;
    {
        const std::lock_guard lock(m_shelf->mutex);
        if (!m_shelf->snapshots.empty()) {
            snapshot = std::move(m_shelf->snapshots.back());
            m_shelf->snapshots.pop_back();
        }
    }
    if (!snapshot) {
        snapshot = std::make_unique<Snapshot>();
    } else {
        Snapshot fresh;
        fresh.taps = std::move(snapshot->taps);
        fresh.updates = std::move(snapshot->updates);
        fresh.taps.clear();
        fresh.updates.clear();
        *snapshot = std::move(fresh);
    }
    return {snapshot.release(), PutBack{m_shelf}, Blocks<Snapshot>(m_shelf)};
}

} // namespace halfscope
