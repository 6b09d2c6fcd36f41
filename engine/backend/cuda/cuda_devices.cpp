// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/cuda_devices.h"

#include <cstdio>

#include "engine/backend/cuda/errors.h"

namespace halfscope::cuda {

CudaDevice describeDevice(int index)
{
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "asking the GPU's name");
    char place[32];
    std::snprintf(place, sizeof place, "%04x:%02x:%02x", static_cast<unsigned>(properties.pciDomainID),
                  static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
    return {index,           properties.name, place, static_cast<double>(properties.totalGlobalMem), properties.major,
            properties.minor};
}

std::vector<CudaDevice> listDevices()
{
    int count = 0; // left alone by a failure
    const cudaError_t answer = cudaGetDeviceCount(&count);
    if (answer != cudaErrorNoDevice)
        check(answer, "looking for GPUs");
    std::vector<CudaDevice> devices;
    for (int i = 0; i < count; ++i)
        devices.push_back(describeDevice(i));
    return devices;
}

bool multipliesNatively(const CudaDevice& device, FormatId inputs)
{
    switch (inputs) {
    case FormatId::Fp32:
    case FormatId::Fp16:
        return true;
    case FormatId::Tf32:
    case FormatId::Bf16:
        return device.major >= 8;
    default:
        return device.major > 8 || (device.major == 8 && device.minor >= 9); // FP8
    }
}

std::string driverVersion()
{
    int version = 0;
    check(cudaDriverGetVersion(&version), "asking the driver's version");
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

} // namespace halfscope::cuda
