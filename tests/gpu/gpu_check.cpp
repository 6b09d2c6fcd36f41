// SPDX-License-Identifier: GPL-3.0-or-later
// The check on a GPU, in one program. scripts/gpu-check.sh builds and runs it.
#include <iostream>

#include "check.h"
#include "engine/backend/cuda/cuda_loader.h"

int main(int argc, char** argv)
{
    using namespace halfscope;
    if (argc != 2) {
        std::cerr << "usage: gpu_check REPORT.md\n";
        return gpu::kWrongUsage;
    }
    gpu::Workload work;
    work.title = "The CUDA backend on hardware";
    work.sizes = {{"tiny", 64, 2, 2, 32, 8, 96},
                  {"S", 128, 4, 4, 64, 16, 96},
                  {"M", 256, 4, 4, 128, 16, 96},
                  {"large, which fills the device", 1024, 12, 16, 512, 16, 8192}};
    return gpu::checkDevice(work, cudaProblem(), argv[1]);
}
