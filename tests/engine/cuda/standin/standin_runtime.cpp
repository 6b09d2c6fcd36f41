// SPDX-License-Identifier: GPL-3.0-or-later
#include "standin_runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace standin {

namespace {

struct Fault {
    std::string function;
    cudaError_t error = cudaSuccess;
    int skip = 0;
    bool sticky = false;
};

constexpr std::size_t kMemory = std::size_t{4} << 30;

struct State {
    std::vector<Fault> faults;
    cudaError_t sticky = cudaSuccess;
    cudaError_t last = cudaSuccess;
    std::map<std::string, std::uint64_t> calls;
    std::map<void*, std::size_t> blocks;
    std::size_t inUse = 0;
    std::size_t memory = kMemory;
    int capability = 80;
};

State& state()
{
    static State all;
    return all;
}

} // namespace

void plant(const char* function, cudaError_t error, int skip, bool sticky)
{
    state().faults.push_back({function, error, skip, sticky});
}

void reset()
{
    state().faults.clear();
    state().sticky = state().last = cudaSuccess;
    state().calls.clear();
    state().memory = kMemory;
    state().capability = 80;
}

void setCapability(int capability) { state().capability = capability; }

int capability() { return state().capability; }

void setMemory(std::size_t bytes) { state().memory = bytes; }

cudaError_t answer(const char* function)
{
    State& s = state();
    ++s.calls[function];
    if (s.sticky != cudaSuccess)
        return s.last = s.sticky;
    for (Fault& fault : s.faults) {
        if (fault.error == cudaSuccess || (fault.function != "*" && fault.function != function))
            continue;
        if (fault.skip-- > 0)
            continue;
        const cudaError_t error = fault.error;
        fault.error = cudaSuccess;
        if (fault.sticky)
            s.sticky = error;
        return s.last = error;
    }
    return cudaSuccess;
}

std::uint64_t calls(const char* function) { return state().calls[function]; }

std::uint64_t allCalls()
{
    std::uint64_t sum = 0;
    for (const auto& [function, count] : state().calls)
        sum += count;
    return sum;
}

std::size_t bytesInUse() { return state().inUse; }

std::set<const void*>& launchedKernels()
{
    static std::set<const void*> all;
    return all;
}

} // namespace standin

const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    case cudaErrorECCUncorrectable:
        return "uncorrectable ECC error encountered";
    default:
        return "another error";
    }
}

const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }

cudaError_t cudaGetLastError()
{
    const cudaError_t last = standin::state().last;
    standin::state().last = cudaSuccess;
    return standin::state().sticky != cudaSuccess ? standin::state().sticky : last;
}

#define STANDIN_ANSWER(function)                                                                                       \
    if (const cudaError_t planted = standin::answer(function); planted != cudaSuccess)                                 \
    return planted

cudaError_t cudaGetDeviceCount(int* count)
{
    STANDIN_ANSWER("cudaGetDeviceCount");
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    STANDIN_ANSWER("cudaSetDevice");
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int)
{
    STANDIN_ANSWER("cudaGetDeviceProperties");
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "stand-in");
    properties->major = standin::capability() / 10;
    properties->minor = standin::capability() % 10;
    properties->multiProcessorCount = 1;
    properties->pciBusID = 1;
    properties->totalGlobalMem = standin::state().memory;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version)
{
    STANDIN_ANSWER("cudaDriverGetVersion");
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version)
{
    STANDIN_ANSWER("cudaRuntimeGetVersion");
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    STANDIN_ANSWER("cudaMemGetInfo");
    *total = standin::state().memory;
    *free = *total > standin::state().inUse ? *total - standin::state().inUse : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, std::size_t bytes)
{
    STANDIN_ANSWER("cudaMalloc");
    standin::State& s = standin::state();
    if (bytes > s.memory || s.inUse > s.memory - bytes)
        return s.last = cudaErrorMemoryAllocation;
    // The device's blocks begin at multiples of 256; the exact size lets the address sanitizer see what lies behind.
    if (posix_memalign(p, 256, bytes) != 0)
        return s.last = cudaErrorMemoryAllocation;
    std::memset(*p, 0xFF, bytes); // NaNs: device memory is not zeroed
    s.blocks[*p] = bytes;
    s.inUse += bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void* p)
{
    // Before a planted answer: the memory must go, whatever the device says.
    standin::State& s = standin::state();
    if (const auto block = s.blocks.find(p); block != s.blocks.end()) {
        s.inUse -= block->second;
        s.blocks.erase(block);
        std::free(p);
    }
    STANDIN_ANSWER("cudaFree");
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void** p, std::size_t bytes)
{
    STANDIN_ANSWER("cudaMallocHost");
    *p = std::malloc(bytes);
    return *p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void* p)
{
    std::free(p);
    STANDIN_ANSWER("cudaFreeHost");
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    STANDIN_ANSWER("cudaMemcpyAsync");
    std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t)
{
    STANDIN_ANSWER("cudaMemsetAsync");
    std::memset(p, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
    STANDIN_ANSWER("cudaStreamCreateWithFlags");
    *stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{16});
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t)
{
    STANDIN_ANSWER("cudaStreamDestroy");
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    STANDIN_ANSWER("cudaStreamSynchronize");
    return cudaSuccess;
}

// What was launched before has been done, so an event is the time of the call.
struct CUevent_st {
    std::chrono::steady_clock::time_point when;
};

cudaError_t cudaEventCreate(cudaEvent_t* event)
{
    STANDIN_ANSWER("cudaEventCreate");
    *event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned)
{
    STANDIN_ANSWER("cudaEventCreateWithFlags");
    *event = new CUevent_st;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    STANDIN_ANSWER("cudaEventDestroy");
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    STANDIN_ANSWER("cudaEventRecord");
    event->when = std::chrono::steady_clock::now();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    STANDIN_ANSWER("cudaEventSynchronize");
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    STANDIN_ANSWER("cudaEventElapsedTime");
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
    return cudaSuccess;
}
