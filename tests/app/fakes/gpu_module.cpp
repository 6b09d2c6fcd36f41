// SPDX-License-Identifier: GPL-3.0-or-later
// A CUDA module whose GPUs are made up and compute as the CPU does. Through the environment it is told what there is:
// HALFSCOPE_FAKE_FREE, bytes of memory that are free; HALFSCOPE_FAKE_FAULT, "operation:calls that go well", for good.
#include <cstdlib>
#include <string>

#include "engine/backend/cuda/cuda_module.h"
#include "tests/support/faulty_backend.h"

namespace {

using namespace halfscope;

std::vector<CudaDevice> devices()
{
    return {{0, "Old GPU", "0000:01:00", 16e9, 7, 5}, {1, "New GPU", "0000:c1:00", 80e9, 9, 0}};
}

class NamedBackend final : public test::FaultyBackend {
public:
    NamedBackend(std::shared_ptr<test::Faults> faults, CudaDevice device)
        : FaultyBackend(std::move(faults)), m_device(std::move(device))
    {
    }
    std::string name() const override { return "CUDA"; }
    std::string description() const override { return "CUDA · " + m_device.name + " (" + m_device.place + ")"; }

private:
    CudaDevice m_device;
};

std::unique_ptr<Backend> make(int device)
{
    auto faults = std::make_shared<test::Faults>();
    if (const char* free = std::getenv("HALFSCOPE_FAKE_FREE"))
        faults->room = std::atof(free);
    if (const char* fault = std::getenv("HALFSCOPE_FAKE_FAULT")) {
        const std::string text = fault;
        const std::size_t colon = text.find(':');
        faults->arm(text.substr(0, colon), std::stoi(text.substr(colon + 1)), true);
    }
    return std::make_unique<NamedBackend>(faults, devices().at(static_cast<std::size_t>(device)));
}

bool multipliesNatively(const CudaDevice& device, FormatId inputs)
{
    return inputs == FormatId::Fp32 || inputs == FormatId::Fp16 || (inputs == FormatId::Bf16 && device.major >= 8);
}

} // namespace

#define HALFSCOPE_EXPORT extern "C" __attribute__((visibility("default")))
HALFSCOPE_EXPORT const char* halfscopeCudaSeam() { return HALFSCOPE_CUDA_SEAM; }
HALFSCOPE_EXPORT const halfscope::CudaModule* halfscopeCudaModule()
{
    static const halfscope::CudaModule module = {devices, make, multipliesNatively};
    return &module;
}
