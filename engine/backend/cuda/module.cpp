// SPDX-License-Identifier: GPL-3.0-or-later
// What libhalfscope_cuda.so exports; everything else in it is hidden.
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/cuda_devices.h"
#include "engine/backend/cuda/cuda_module.h"

#define HALFSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

HALFSCOPE_EXPORT const char* halfscopeCudaSeam() { return HALFSCOPE_CUDA_SEAM; }

HALFSCOPE_EXPORT const halfscope::CudaModule* halfscopeCudaModule()
{
    static const halfscope::CudaModule module = {
        halfscope::cuda::listDevices,
        [](int device) -> std::unique_ptr<halfscope::Backend> {
            return std::make_unique<halfscope::cuda::CudaBackend>(device);
        },
        halfscope::cuda::multipliesNatively,
    };
    return &module;
}
