// SPDX-License-Identifier: GPL-3.0-or-later
// Runs CUDA kernels on the processor, for tests: every CUDA thread of a block is a fiber. One block at a time; fibers
// take turns only at barriers and warp collectives, in an order that a test may choose. Global and dynamic shared
// memory are heap blocks of the exact size, filled with NaNs, so that the address sanitizer sees overruns and everybody
// sees what was never written. Waiting at different barriers, or for threads that have returned, is an error with file
// and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Ordinary variables, set by the scheduler whenever it switches to a thread.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;

namespace simt {

inline constexpr unsigned kWarp = 32;

// A kernel broke a rule of the device.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Order { Forward, Reverse, Shuffled };
struct Options {
    Order order = Order::Forward; // in which threads that can go on take turns, and blocks run
    std::uint64_t seed = 1;       // of Shuffled
};
Options& options();

// Since the program began.
struct Totals {
    std::uint64_t launches = 0;
    std::uint64_t threads = 0;
};
Totals& totals();

void runGrid(dim3 grid, dim3 block, std::size_t sharedBytes, const std::function<void()>& body);
void* dynamicShared();

// The reduction of `predicate` over the block.
struct Votes {
    bool any;
    bool all;
    int count;
};
Votes barrier(bool predicate, const char* file, int line);

// Publishes `value`, waits for the other lanes of `mask` (one warp), fills got[32]; returns the lanes that took part.
unsigned exchange(unsigned mask, std::uint64_t value, std::uint64_t got[kWarp], unsigned& lane, const char* file,
                  int line);
[[noreturn]] void fail(const char* what, const char* file, int line);

template <class T>
std::uint64_t pack(T value)
{
    static_assert(sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
T unpack(std::uint64_t bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// `pick` tells from which lane of its `width` lanes a lane takes the value.
template <class T, class Pick>
T shuffle(unsigned mask, T value, int width, const char* file, int line, Pick pick)
{
    std::uint64_t got[kWarp];
    unsigned lane = 0;
    const unsigned present = exchange(mask, pack(value), got, lane, file, line);
    const int base = static_cast<int>(lane) / width * width;
    const int source = pick(static_cast<int>(lane) - base, width);
    if (source < 0 || source >= width)
        return value;
    if ((present >> (base + source) & 1U) == 0)
        fail("a shuffle reads a lane outside its mask", file, line);
    return unpack<T>(got[base + source]);
}

} // namespace simt
