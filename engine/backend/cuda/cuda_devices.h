// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/backend/cuda/cuda_module.h"

namespace halfscope::cuda {

std::vector<CudaDevice> listDevices(); // throws BackendError
CudaDevice describeDevice(int index);  // throws BackendError
bool multipliesNatively(const CudaDevice& device, FormatId inputs);
std::string driverVersion(); // of CUDA, that the driver supports: "13.0"; throws BackendError

} // namespace halfscope::cuda
