// SPDX-License-Identifier: GPL-3.0-or-later
// From a program without any link to CUDA to a backend on a GPU, one step after another, each of which may end in one
// sentence that says why it cannot be. The driver is asked first, because that is cheap; the module with its 600 MB of
// cuBLAS is loaded only when there is a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_module.h"

namespace halfscope {

// What the driver says, by its own library.
struct CudaDriver {
    std::string problem; // why it cannot be used, one sentence; empty: it can
    int version = 0;     // of CUDA that it supports: 13000
    int devices = 0;
};
// `needed` is the oldest version that will do.
CudaDriver probeCudaDriver(const std::string& library, int needed);

// Loads a module once and for all. `problem` is the sentence when the result is null.
const CudaModule* loadCudaModule(const std::string& path, std::string& problem);

// Why CUDA cannot be used on this machine by this build, as far as can be told without loading the module; empty when
// it can. Asks the driver at the first call only.
std::string cudaProblem();

// Any thread but the window's: the first call loads the module. Throw BackendError with the reason.
std::vector<CudaDevice> listCudaDevices();
std::unique_ptr<Backend> makeCudaBackend(int device);
bool cudaMultipliesNatively(const CudaDevice& device, FormatId inputs);

} // namespace halfscope
