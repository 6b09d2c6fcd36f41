// SPDX-License-Identifier: GPL-3.0-or-later
#include "simt.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace simt {

Options& options()
{
    static Options all;
    return all;
}

Totals& totals()
{
    static Totals all;
    return all;
}

void fail(const char* what, const char* file, int line)
{
    throw Error(std::string(what) + " at " + file + ":" + std::to_string(line));
}

namespace {

enum class State : unsigned char { Fresh, Ready, AtBarrier, AtWarp, Done };

// One meeting of the lanes in `mask` of one warp. Values alternate between two sides: a fast lane may be at the next
// meeting before a slow one has read the values of this.
struct Exchange {
    unsigned mask = 0;
    unsigned arrived = 0;
    unsigned generation = 0;
    std::uint64_t values[2][kWarp]{};
};

struct Warp {
    std::array<Exchange, 8> meetings; // by mask
    unsigned used = 0;
};

struct Lane {
    uint3 threadIndex{};
    unsigned linear = 0;
    State state = State::Fresh;
    Fiber* fiber = nullptr;
    const char* file = "";
    int line = 0;
    Exchange* waitsFor = nullptr;
};

struct Block {
    unsigned threads = 0;
    unsigned alive = 0;
    unsigned waiting = 0; // at the barrier
    const char* file = "";
    int line = 0;
    Votes gathering{false, true, 0};
    Votes votes{};
    std::vector<Lane> lanes;
    std::vector<Warp> warps;
    void* dynamic = nullptr;
    const std::function<void()>* body = nullptr;
    std::exception_ptr error;
    unsigned barriers = 0;
    char barrierToken[2] = {}; // two: a fast thread may already be at the next barrier
    char startToken = 0;
    char endToken = 0;

    void open()
    {
        votes = gathering;
        gathering = {false, true, 0};
        waiting = 0;
        ++barriers;
        for (Lane& lane : lanes) {
            if (lane.state == State::AtBarrier)
                lane.state = State::Ready;
        }
    }
};

thread_local Block* theBlock = nullptr;
thread_local Lane* theLane = nullptr;

// Makes the fibers and gives them turns.
class Scheduler {
public:
    static Scheduler& get()
    {
        static thread_local Scheduler scheduler;
        return scheduler;
    }

    void run(Block& block, std::uint64_t salt)
    {
        std::vector<unsigned> order(block.threads);
        for (unsigned i = 0; i < block.threads; ++i)
            order[i] = i;
        std::mt19937_64 random(options().seed * 0x9E3779B97F4A7C15ULL + salt);
        if (options().order == Order::Reverse)
            std::reverse(order.begin(), order.end());
        while (block.alive > 0) {
            if (options().order == Order::Shuffled)
                std::shuffle(order.begin(), order.end(), random);
            bool moved = false;
            for (const unsigned i : order) {
                Lane& lane = block.lanes[i];
                if (lane.state == State::Fresh) {
                    assign(lane);
                    lane.state = State::Ready;
                }
                if (lane.state != State::Ready)
                    continue;
                moved = true;
                theLane = &lane;
                threadIdx = lane.threadIndex;
                lane.fiber->resume();
                if (lane.state == State::Done)
                    putBack(lane);
                if (block.error) {
                    drop(block);
                    std::rethrow_exception(block.error);
                }
            }
            if (!moved) {
                const std::string message = describe(block);
                drop(block);
                throw Error(message);
            }
        }
    }

private:
    // What a fiber does with the lane it was given.
    static void runLane()
    {
        Block& block = *theBlock;
        acquire(&block.startToken);
        try {
            (*block.body)();
        } catch (...) {
            block.error = std::current_exception();
        }
        release(&block.endToken);
        theLane->state = State::Done;
        --block.alive;
        if (block.waiting > 0 && !block.error)
            block.error = std::make_exception_ptr(Error("a thread returned while others wait at __syncthreads " +
                                                        std::string(block.file) + ":" + std::to_string(block.line)));
    }

    static std::string describe(const Block& block)
    {
        std::string message = "deadlock in block (" + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) +
                              "," + std::to_string(blockIdx.z) + "):";
        std::vector<std::pair<std::string, unsigned>> groups;
        for (const Lane& lane : block.lanes) {
            const std::string place =
                lane.state == State::Done
                    ? "returned"
                    : std::string(lane.state == State::AtBarrier ? "__syncthreads " : "warp collective ") + lane.file +
                          ":" + std::to_string(lane.line);
            const auto found = std::find_if(groups.begin(), groups.end(), [&](auto& g) { return g.first == place; });
            if (found == groups.end())
                groups.emplace_back(place, 1);
            else
                ++found->second;
        }
        for (const auto& [place, count] : groups)
            message += " " + std::to_string(count) + "x [" + place + "]";
        return message;
    }

    // After an error the fibers that are stuck are given up: their stacks go, destructors on them do not run.
    void drop(Block& block)
    {
        for (Lane& lane : block.lanes) {
            if (lane.fiber == nullptr)
                continue;
            m_all.erase(std::find_if(m_all.begin(), m_all.end(), [&](auto& f) { return f.get() == lane.fiber; }));
            lane.fiber = nullptr;
        }
#ifdef HALFSCOPE_FIBER_TSAN
        m_all.clear(); // assign() goes by place
#endif
    }

    // Under the thread sanitizer each lane has a fiber of its own, so that it sees one logical thread a lane; elsewhere
    // a lane that never waits hands its fiber to the next lane.
    void assign(Lane& lane)
    {
#ifdef HALFSCOPE_FIBER_TSAN
        while (m_all.size() <= lane.linear)
            m_all.push_back(std::make_unique<Fiber>(runLane));
        lane.fiber = m_all[lane.linear].get();
#else
        if (m_free.empty()) {
            m_all.push_back(std::make_unique<Fiber>(runLane));
            m_free.push_back(m_all.back().get());
        }
        lane.fiber = m_free.back();
        m_free.pop_back();
#endif
    }

    void putBack(Lane& lane)
    {
#ifndef HALFSCOPE_FIBER_TSAN
        m_free.push_back(lane.fiber);
#endif
        lane.fiber = nullptr;
    }

    std::vector<std::unique_ptr<Fiber>> m_all;
    std::vector<Fiber*> m_free;
};

} // namespace

void* dynamicShared() { return theBlock->dynamic; }

Votes barrier(bool predicate, const char* file, int line)
{
    Block& block = *theBlock;
    Lane& lane = *theLane;
    lane.file = file;
    lane.line = line;
    if (block.waiting == 0) {
        if (block.alive != block.threads)
            fail("__syncthreads after other threads of the block returned", file, line);
        block.file = file;
        block.line = line;
    } else if (block.line != line || std::strcmp(block.file, file) != 0) {
        throw Error("threads of one block wait at different __syncthreads: " + std::string(file) + ":" +
                    std::to_string(line) + " and " + block.file + ":" + std::to_string(block.line));
    }
    block.gathering.any |= predicate;
    block.gathering.all &= predicate;
    block.gathering.count += predicate ? 1 : 0;
    char* token = &block.barrierToken[block.barriers & 1U];
    release(token);
    if (++block.waiting == block.alive) {
        block.open();
    } else {
        lane.state = State::AtBarrier;
        lane.fiber->suspend();
    }
    acquire(token);
    return block.votes;
}

unsigned exchange(unsigned mask, std::uint64_t value, std::uint64_t got[kWarp], unsigned& laneInWarp, const char* file,
                  int line)
{
    Block& block = *theBlock;
    Lane& lane = *theLane;
    laneInWarp = lane.linear % kWarp;
    const unsigned first = lane.linear - laneInWarp;
    const unsigned inWarp = std::min(kWarp, block.threads - first);
    if (inWarp < kWarp)
        mask &= (1U << inWarp) - 1;
    if ((mask >> laneInWarp & 1U) == 0)
        fail("the calling lane is not in its mask", file, line);
    Warp& warp = block.warps[first / kWarp];
    Exchange* meeting = nullptr;
    for (unsigned i = 0; i < warp.used && meeting == nullptr; ++i) {
        if (warp.meetings[i].mask == mask)
            meeting = &warp.meetings[i];
    }
    if (meeting == nullptr) {
        if (warp.used == warp.meetings.size())
            fail("too many different masks in one warp", file, line);
        meeting = &warp.meetings[warp.used++];
        meeting->mask = mask;
        meeting->arrived = 0;
    }
    const unsigned side = meeting->generation & 1U;
    meeting->values[side][laneInWarp] = value;
    lane.file = file;
    lane.line = line;
    release(&meeting->values[side]);
    meeting->arrived |= 1U << laneInWarp;
    if (meeting->arrived == mask) {
        meeting->arrived = 0;
        ++meeting->generation;
        for (unsigned k = 0; k < inWarp; ++k) {
            Lane& other = block.lanes[first + k];
            if (other.state == State::AtWarp && other.waitsFor == meeting)
                other.state = State::Ready;
        }
    } else {
        lane.state = State::AtWarp;
        lane.waitsFor = meeting;
        lane.fiber->suspend();
    }
    acquire(&meeting->values[side]);
    std::copy_n(meeting->values[side], kWarp, got);
    return mask;
}

void runGrid(dim3 grid, dim3 size, std::size_t sharedBytes, const std::function<void()>& body)
{
    if (theBlock != nullptr)
        throw Error("a launch from inside a kernel");
    Block block;
    block.threads = size.x * size.y * size.z;
    block.body = &body;
    if (block.threads == 0 || block.threads > 1024)
        throw Error("a block of " + std::to_string(block.threads) + " threads");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFU || grid.y > 65535 || grid.z > 65535)
        throw Error("a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                    std::to_string(grid.z) + " blocks");
    if (sharedBytes > 48 * 1024)
        throw Error(std::to_string(sharedBytes) + " bytes of shared memory; without asking a kernel gets 48 KiB");
    block.lanes.resize(block.threads);
    block.warps.resize((block.threads + kWarp - 1) / kWarp);
    const auto shared = std::make_unique<unsigned char[]>(std::max<std::size_t>(sharedBytes, 1)); // aligned to 16
    block.dynamic = shared.get();
    struct Restore {
        ~Restore()
        {
            theBlock = nullptr;
            theLane = nullptr;
        }
    } const restore;
    theBlock = &block;
    blockDim = size;
    gridDim = grid;
    ++totals().launches;
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    for (std::uint64_t turn = 0; turn < blocks; ++turn) {
        const std::uint64_t n = options().order == Order::Forward ? turn : blocks - 1 - turn;
        std::fill_n(shared.get(), sharedBytes, static_cast<unsigned char>(0xFF)); // what was left there shows
        for (unsigned i = 0; i < block.threads; ++i) {
            block.lanes[i] = Lane{};
            block.lanes[i].linear = i;
            block.lanes[i].threadIndex = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        }
        for (Warp& warp : block.warps)
            warp.used = 0;
        blockIdx = {static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
                    static_cast<unsigned>(n / grid.x / grid.y)};
        release(&block.startToken);
        block.alive = block.threads;
        block.waiting = 0;
        Scheduler::get().run(block, n);
        acquire(&block.endToken);
        totals().threads += block.threads;
    }
}

} // namespace simt
