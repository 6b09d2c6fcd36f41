// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/thread_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace halfscope {

namespace {

// About 20-60 us, depending on what a pause costs: longer than the gap between two operations of a training step,
// shorter than anyone would notice in a list of busy processes.
constexpr int kSpins = 2000;

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
    for (int spin = 0; spin < kSpins && m_pending.load() != 0; ++spin) {
        pauseBriefly();
    }
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
        bool work = false;
        for (int spin = 0; spin < kSpins && !work; ++spin) {
            pauseBriefly();
            work = chunksLeft() || m_stop.load(std::memory_order_relaxed);
        }
        if (!work) {
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
