// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace halfscope {

namespace {

// Longer than the gap between two operations of a training step, shorter than the time after which the kernel takes the
// processor from a thread: who waits longer waits for a thread that does not run, and leaves it the processor. Spinning
// is measured in time because a pause takes from 10 to 140 cycles.
constexpr std::chrono::microseconds kSpin(40);
constexpr int kPausesPerLook = 8; // at the clock

// The chunk that is running on this thread, if any.
struct Running {
    const void* pool = nullptr;
    int worker = 0;
};
thread_local Running running;

void pauseBriefly()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits for done() without sleeping, for a while.
template <typename Done>
bool spinUntil(Done&& done)
{
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < kPausesPerLook; ++i) {
            if (done()) {
                return true;
            }
            pauseBriefly();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

class RunningChunk {
public:
    RunningChunk(const void* pool, int worker) : m_before(running) { running = {pool, worker}; }
    RunningChunk(const RunningChunk&) = delete;
    RunningChunk& operator=(const RunningChunk&) = delete;
    ~RunningChunk() { running = m_before; }

private:
    Running m_before;
};

} // namespace

ThreadPool::ThreadPool(int threads)
{
    if (threads <= 0) {
        threads = static_cast<int>(std::thread::hardware_concurrency());
    }
    m_threads = std::max(1, threads);
    m_workers.reserve(static_cast<std::size_t>(m_threads - 1));
    try {
        for (int worker = 1; worker < m_threads; ++worker) {
            m_workers.emplace_back([this, worker] { workerLoop(worker); });
        }
    } catch (const std::system_error&) { // the system gives no more threads: work with those there are
        m_threads = static_cast<int>(m_workers.size()) + 1;
    }
}

ThreadPool::~ThreadPool()
{
    m_stop.store(true);
    m_epoch.fetch_add(1);
    m_epoch.notify_all();
    for (std::thread& worker : m_workers) {
        worker.join();
    }
}

void ThreadPool::run(std::int64_t chunks, double nanoseconds, void* context, Invoke invoke)
{
    const bool nested = running.pool != nullptr;
    if (chunks <= 1 || m_threads == 1 || nanoseconds < kInlineNanoseconds || nested || chunks > 0xFFFFFFFFLL) {
        const int worker = running.pool == this ? running.worker : 0;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            invoke(context, chunk, worker);
        }
        return;
    }
    fork(chunks, context, invoke);
}

void ThreadPool::fork(std::int64_t chunks, void* context, Invoke invoke)
{
    const auto count = static_cast<std::uint32_t>(chunks);
    m_context = context;
    m_invoke = invoke;
    m_failed.store(false, std::memory_order_relaxed);
    m_pending.store(count, std::memory_order_relaxed);
    // Sequentially consistent from here on: either a worker that goes to sleep sees the new ticket, or this thread sees
    // the sleeper.
    m_ticket.store(count);
    m_epoch.fetch_add(1);
    if (m_sleepers.load() > 0) {
        m_epoch.notify_all();
    }

    std::uint32_t chunk = 0;
    while (claim(chunk)) {
        execute(chunk, 0);
    }
    spinUntil([this] { return m_pending.load() == 0; });
    for (std::uint32_t pending = m_pending.load(); pending != 0; pending = m_pending.load()) {
        m_pending.wait(pending);
    }
    if (m_failed.load(std::memory_order_relaxed)) {
        std::rethrow_exception(std::exchange(m_exception, nullptr));
    }
}

// A successful claim pins the job: the caller cannot finish, nor start another, before the chunk is executed. That is
// why it does not matter how long ago `ticket` was read, and why the job's fields may be read afterwards.
bool ThreadPool::claim(std::uint32_t& chunk)
{
    std::uint64_t ticket = m_ticket.load();
    for (;;) {
        const auto next = static_cast<std::uint32_t>(ticket >> 32);
        const auto count = static_cast<std::uint32_t>(ticket);
        if (next >= count) {
            return false;
        }
        if (m_ticket.compare_exchange_weak(ticket, ticket + (std::uint64_t{1} << 32))) {
            chunk = next;
            return true;
        }
    }
}

void ThreadPool::execute(std::uint32_t chunk, int worker)
{
    if (!m_failed.load(std::memory_order_relaxed)) {
        const RunningChunk guard(this, worker);
        try {
            m_invoke(m_context, chunk, worker);
        } catch (...) {
            const std::lock_guard lock(m_exceptionMutex);
            if (!m_exception) {
                m_exception = std::current_exception();
            }
            m_failed.store(true, std::memory_order_relaxed);
        }
    }
    if (m_pending.fetch_sub(1) == 1 && worker != 0) {
        m_pending.notify_one();
    }
}

bool ThreadPool::chunksLeft() const
{
    const std::uint64_t ticket = m_ticket.load();
    return static_cast<std::uint32_t>(ticket >> 32) < static_cast<std::uint32_t>(ticket);
}

void ThreadPool::workerLoop(int worker)
{
    std::uint32_t chunk = 0;
    for (;;) {
        while (claim(chunk)) {
            execute(chunk, worker);
        }
        if (!spinUntil([this] { return chunksLeft() || m_stop.load(std::memory_order_relaxed); })) {
            const std::uint32_t epoch = m_epoch.load();
            m_sleepers.fetch_add(1);
            if (!chunksLeft() && !m_stop.load()) {
                m_epoch.wait(epoch);
            }
            m_sleepers.fetch_sub(1);
        }
        if (m_stop.load()) {
            return;
        }
    }
}

} // namespace halfscope
