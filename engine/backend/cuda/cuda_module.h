// SPDX-License-Identifier: GPL-3.0-or-later
// The seam between the program and its CUDA module, libhalfscope_cuda.so, which is loaded only where there is a GPU.
//
// The module hands out a Backend as it is, rather than a table of C functions that would repeat every operation of
// backend.h twice. That needs both sides to have been compiled from the same headers by the same compiler; so the first
// thing asked of a module, in plain C, is its seam: a text made by the build from the compiler, its flags and the
// contents of the headers that both sides share. A module with another one is not used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"

namespace halfscope {

// A GPU, as the runtime numbers them.
struct CudaDevice {
    int index = 0;
    std::string name;  // "NVIDIA H200"
    std::string place; // "0000:01:00", its PCI domain, bus and device
    double bytes = 0;  // of memory, all of it
    int major = 0;     // compute capability
    int minor = 0;
};

struct CudaModule {
    // The devices that the module can use; throws BackendError.
    std::vector<CudaDevice> (*devices)();
    std::unique_ptr<Backend> (*make)(int device);                          // throws BackendError
    bool (*multipliesNatively)(const CudaDevice& device, FormatId inputs); // as the device's backend would say
};

// What the module exports, under these names.
using CudaSeamFunction = const char*();
using CudaModuleFunction = const CudaModule*();
inline constexpr const char* kCudaSeamName = "halfscopeCudaSeam";
inline constexpr const char* kCudaModuleName = "halfscopeCudaModule";

} // namespace halfscope
