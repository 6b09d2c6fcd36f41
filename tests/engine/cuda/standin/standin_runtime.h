// SPDX-License-Identifier: GPL-3.0-or-later
// The runtime's functions that the backend calls. Every one asks standin::answer() first, so that a test can have any
// call fail in any way the device's would. What a kernel does has happened when the launch returns; errors that would
// come back later, on synchronising, can be planted all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorECCUncorrectable = 214,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchFailure = 719,
    cudaErrorUnknown = 999,
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr {};
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

struct cudaDeviceProp {
    char name[256];
    int major;
    int minor;
    int multiProcessorCount;
    int pciDomainID;
    int pciBusID;
    int pciDeviceID;
    std::size_t totalGlobalMem;
};

namespace standin {

// Lets the `skip` next calls of a function through and then has it return `error`: once, or, where `sticky`, from every
// function from then on, as after a kernel that failed. `function` "*" is any of them.
void plant(const char* function, cudaError_t error, int skip = 0, bool sticky = false);
// All is well again; memory the device has for itself. Allocations beyond it fail as on the device.
void reset();
void setMemory(std::size_t bytes);
// Compute capability times ten; 80 after reset().
void setCapability(int capability);
int capability();
// What a function that begins must return instead of doing its work; cudaSuccess: go on.
cudaError_t answer(const char* function);
std::uint64_t calls(const char* function); // since reset()
std::uint64_t allCalls();                  // of functions that can fail
std::size_t bytesInUse();
// The kernels that were launched, by address; who wants to know from when on clears it.
std::set<const void*>& launchedKernels();

} // namespace standin

const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** p, std::size_t bytes);
cudaError_t cudaFree(void* p);
cudaError_t cudaMallocHost(void** p, std::size_t bytes);
cudaError_t cudaFreeHost(void* p);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
