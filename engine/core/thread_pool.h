// SPDX-License-Identifier: GPL-3.0-or-later
// The one thread pool of the numeric code: fork and join, with chunks claimed dynamically.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace halfscope {

// parallelFor() cuts a job into chunks; the caller and the workers each claim the next chunk until none is left. What a
// chunk computes must depend on its index alone, then the result does not depend on the number of threads. A worker
// that gets no processor delays nobody: it holds no chunk until it runs. Waiting threads spin for 40 microseconds and
// then sleep in the kernel, so an idle pool costs nothing.
//
// One thread at a time may call parallelFor(); calls from inside a chunk run inline.
class ThreadPool {
public:
    explicit ThreadPool(int threads); // including the caller; 0 or less: one for each processor
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    ~ThreadPool();

    int threads() const { return m_threads; }

    // Jobs estimated to be shorter than this run on the caller alone: waking others would cost more than it saves.
    static constexpr double kInlineNanoseconds = 20'000.0;

    // body(std::int64_t chunk, int worker) for every chunk in [0, chunks); worker is in [0, threads()) and no two
    // chunks run with the same worker at once, so it may index scratch memory. `nanoseconds` is the estimated work of
    // all chunks on one thread. If chunks throw, the rest are not begun and one of the exceptions is thrown here.
    template <typename Body>
    void parallelFor(std::int64_t chunks, double nanoseconds, Body&& body)
    {
        using Plain = std::remove_reference_t<Body>;
        run(chunks, nanoseconds, const_cast<void*>(static_cast<const void*>(&body)),
            [](void* context, std::int64_t chunk, int worker) { (*static_cast<Plain*>(context))(chunk, worker); });
    }

private:
    using Invoke = void (*)(void* context, std::int64_t chunk, int worker);

    void run(std::int64_t chunks, double nanoseconds, void* context, Invoke invoke);
    void fork(std::int64_t chunks, void* context, Invoke invoke);
    bool claim(std::uint32_t& chunk);
    void execute(std::uint32_t chunk, int worker);
    bool chunksLeft() const;
    void workerLoop(int worker);

    int m_threads = 1;
    std::vector<std::thread> m_workers;

    // The job under way. Written only while no chunk is claimed, read only by holders of one.
    void* m_context = nullptr;
    Invoke m_invoke = nullptr;
    std::exception_ptr m_exception;
    std::mutex m_exceptionMutex;
    std::atomic<bool> m_failed{false};

    alignas(64) std::atomic<std::uint64_t> m_ticket{0};  // next chunk in the high half, number of chunks in the low one
    alignas(64) std::atomic<std::uint32_t> m_pending{0}; // chunks not finished
    alignas(64) std::atomic<std::uint32_t> m_epoch{0};   // changes when there may be something to do
    std::atomic<int> m_sleepers{0};                      // workers about to wait for m_epoch, or waiting
    std::atomic<bool> m_stop{false};
};

} // namespace halfscope
