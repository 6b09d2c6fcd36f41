// SPDX-License-Identifier: GPL-3.0-or-later
// Which devices there are, and why others are not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cuda_module.h"

namespace halfscope {

struct BackendInfo {
    std::string key;  // "cpu"; what makeBackend() takes
    std::string name; // what people read
    bool available = false;
    std::string reason; // one sentence when it is not available
};

std::vector<BackendInfo> listBackends();

// One that computes, as people choose it.
struct DeviceInfo {
    std::string backend;          // its key
    std::string id;               // of a GPU: its place on the PCI bus; else empty
    std::string name;             // "NVIDIA H200", "AMD EPYC 9654"
    std::string reason;           // one sentence where it cannot be used; empty: it can
    std::optional<double> bytes;  // of memory, all of it
    std::vector<FormatId> native; // formats whose products it computes itself; the others it emulates exactly
};
// All of them, and one for each backend that cannot be used. Any thread but the window's: where there is a GPU the
// first call loads the CUDA module, which takes a second.
std::vector<DeviceInfo> listDevices();

// What the setting `device` may be: empty, a number from 0 to 999, or a place on the PCI bus (0000:c1:00).
bool isDeviceName(std::string_view text);
// Which of the GPUs is meant. Throws BackendError with one sentence that names those there are.
int findCudaDevice(const std::vector<CudaDevice>& devices, const std::string& device);

// Puts a backend of another making under a key, in place of the one that is there: for tests.
using BackendFactory = std::function<std::unique_ptr<Backend>(int threads)>;
void replaceBackend(const BackendInfo& info, BackendFactory factory);

// `threads` 0: as many as the machine has processors. Throws BackendError with the reason when it is not available.
// `device` chooses among several GPUs. kAutomaticBackend is the GPU or, where it cannot be used, the CPU.
std::unique_ptr<Backend> makeBackend(const std::string& key = "cpu", int threads = 0, const std::string& device = {});

inline constexpr const char* kAutomaticBackend = "auto";
inline constexpr const char* kGpuBackend = "cuda";
// Where a run goes on when its own backend fails, or begins when that cannot be used.
inline constexpr const char* kFallbackBackend = "cpu";

} // namespace halfscope
