// SPDX-License-Identifier: GPL-3.0-or-later
// Stand-in for NVIDIA's header: the part of the language that the kernels use, on the processor. The runtime's
// functions are in standin_runtime.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "../simt.h"
#include "../standin_runtime.h"

#define HALFSCOPE_CUDA_STANDIN 1
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local // one block at a time on a thread of the system
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

// ---- barriers and warp collectives; all know where they were called
#define __syncthreads() ((void)::simt::barrier(false, __FILE__, __LINE__))
#define __syncthreads_or(predicate) (static_cast<int>(::simt::barrier((predicate) != 0, __FILE__, __LINE__).any))
#define __syncwarp() ((void)::simt::ballot(~0U, true, __FILE__, __LINE__))
#define __shfl_xor_sync(mask, value, by) ::simt::shuffleXor(mask, value, by, __FILE__, __LINE__)
#define __ballot_sync(mask, predicate) ::simt::ballot(mask, (predicate) != 0, __FILE__, __LINE__)

namespace simt {

inline unsigned ballot(unsigned mask, bool predicate, const char* file, int line)
{
    std::uint64_t got[kWarp];
    unsigned lane = 0;
    const unsigned present = exchange(mask, predicate ? 1 : 0, got, lane, file, line);
    unsigned votes = 0;
    for (unsigned k = 0; k < kWarp; ++k) {
        if ((present >> k & 1U) != 0)
            votes |= static_cast<unsigned>(got[k] & 1U) << k;
    }
    return votes;
}

template <class T>
T shuffleXor(unsigned mask, T value, int by, const char* file, int line)
{
    return shuffle(mask, value, static_cast<int>(kWarp), file, line, [=](int lane, int) { return lane ^ by; });
}

} // namespace simt

// ---- vector types
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

// ---- device functions
using std::max;
using std::min;
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }

template <class T>
T atomicAdd(T* p, std::type_identity_t<T> v)
{
    static_assert(std::is_integral_v<T>, "sums of floats by atomics depend on the order");
    return std::atomic_ref<T>(*p).fetch_add(v, std::memory_order_relaxed);
}
template <class T>
T atomicOr(T* p, std::type_identity_t<T> v)
{
    return std::atomic_ref<T>(*p).fetch_or(v, std::memory_order_relaxed);
}
template <class T>
T atomicMax(T* p, std::type_identity_t<T> v)
{
    std::atomic_ref<T> a(*p);
    T old = a.load(std::memory_order_relaxed);
    while (old < v && !a.compare_exchange_weak(old, v, std::memory_order_relaxed)) {
    }
    return old;
}

// ---- launching
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
    dim3 gridDim{};
    dim3 blockDim{};
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned numAttrs = 0;
};

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments)
{
    if (const cudaError_t planted = standin::answer("cudaLaunchKernelEx"); planted != cudaSuccess)
        return planted;
    standin::launchedKernels().insert(reinterpret_cast<const void*>(kernel));
    std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...); // copied at launch, as on the device
    simt::runGrid(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                  [&] { std::apply([&](auto&... v) { kernel(v...); }, values); });
    return cudaSuccess;
}
