// SPDX-License-Identifier: GPL-3.0-or-later
// tests/gpu's check with the stand-in for a device. A second argument is the reason why there would be none.
#include <iostream>

#include "check.h"

int main(int argc, char** argv)
{
    using namespace halfscope::gpu;
    if (argc != 2 && argc != 3) {
        std::cerr << "usage: gpu_check_on_standin REPORT.md [PROBLEM]\n";
        return kWrongUsage;
    }
    Workload work;
    work.title = "The CUDA backend on its stand-in";
    work.cases = "Fp8."; // test_cuda itself runs all of them
    const Size smallest = {"smallest", 16, 1, 2, 8, 2, 16};
    work.sizes = {smallest, smallest, smallest};
    work.determinismSteps = 2;
    work.modelsDropped = 3;
    work.elements = 1000;
    work.productWidth = 16;
    work.turns = 1;
    work.timedSteps = 2;
    return checkDevice(work, argc == 3 ? argv[2] : "", argv[1]);
}
