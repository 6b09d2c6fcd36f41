// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/backend_registry.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/cuda_loader.h"
#include "engine/backend/onednn/onednn_backend.h"
#include "engine/core/cpu_features.h"

namespace halfscope {

namespace {

struct Replacement {
    BackendInfo info;
    BackendFactory factory;
};

std::mutex& mutex()
{
    static std::mutex theMutex;
    return theMutex;
}

std::map<std::string, Replacement>& replacements()
{
    static std::map<std::string, Replacement> all; // by key
    return all;
}

BackendFactory replacementOf(const std::string& key)
{
    const std::scoped_lock lock(mutex());
    const auto found = replacements().find(key);
    return found == replacements().end() ? BackendFactory() : found->second.factory;
}

BackendInfo info(const std::string& key, const std::string& name, const std::string& problem)
{
    return {key, name, problem.empty(), problem};
}

} // namespace

std::vector<BackendInfo> listBackends()
{
    std::vector<BackendInfo> all = {info("cpu", "CPU", ""), info("onednn", "oneDNN", onednnProblem()),
                                    info("cuda", "CUDA", cudaProblem())};
    const std::scoped_lock lock(mutex());
    for (BackendInfo& backend : all) {
        if (const auto found = replacements().find(backend.key); found != replacements().end())
            backend = found->second.info;
    }
    return all;
}

void replaceBackend(const BackendInfo& info, BackendFactory factory)
{
    const std::scoped_lock lock(mutex());
    replacements()[info.key] = {info, std::move(factory)};
}

bool isDeviceName(std::string_view text)
{
    const auto all = [&](auto&& accepts) { return std::ranges::all_of(text, accepts); };
    const auto isHex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (text.size() <= 3)
        return all([](char c) { return c >= '0' && c <= '9'; });
    return text.size() == 10 && text[4] == ':' && text[7] == ':' &&
           all([&](const char& c) { return &c == &text[4] || &c == &text[7] || isHex(c); });
}

int findCudaDevice(const std::vector<CudaDevice>& devices, const std::string& device)
{
    if (devices.empty())
        throw BackendError("CUDA cannot be used: the runtime sees no GPU.");
    std::string list;
    for (const CudaDevice& one : devices) {
        if (device.empty() || device == one.place || device == std::to_string(one.index))
            return one.index;
        list += (list.empty() ? "" : ", ") + one.name + " at " + one.place;
    }
    const bool number = device.size() <= 3;
    throw BackendError((number ? "There is no GPU number " : "There is no GPU at ") + device +
                       (number ? "" : " any more") + "; there " + (devices.size() == 1 ? "is " : "are ") + list + ".");
}

namespace {

std::vector<FormatId> nativeFormats(const std::function<bool(FormatId)>& native)
{
    std::vector<FormatId> formats;
    for (const FloatFormat& format : floatFormats()) {
        if (native(format.id))
            formats.push_back(format.id);
    }
    return formats;
}

DeviceInfo describe(const BackendInfo& info, const std::string& name)
{
    const std::unique_ptr<Backend> backend = makeBackend(info.key, 1);
    const std::optional<MemoryRoom> room = backend->memoryRoom();
    return {
        info.key, "", name, "", room ? std::optional(room->total) : std::nullopt, nativeFormats([&](FormatId format) {
            return backend->multipliesNatively(format);
        })};
}

void addDevices(const BackendInfo& info, std::vector<DeviceInfo>& all)
{
    if (info.key != kGpuBackend || replacementOf(info.key)) {
        all.push_back(describe(info, info.key == kGpuBackend ? info.name
                                     : info.key == "cpu"     ? cpuName()
                                                             : cpuName() + ", by " + info.name));
        return;
    }
    for (const CudaDevice& device : listCudaDevices())
        all.push_back({info.key, device.place, device.name, "", device.bytes,
                       nativeFormats([&](FormatId format) { return cudaMultipliesNatively(device, format); })});
}

} // namespace

std::vector<DeviceInfo> listDevices()
{
    std::vector<DeviceInfo> all;
    for (const BackendInfo& info : listBackends()) {
        std::string reason = info.reason;
        if (info.available) {
            try {
                addDevices(info, all);
                continue;
            } catch (const BackendError& e) {
                reason = e.what();
            }
        }
        all.push_back({info.key, "", info.name, reason, {}, {}});
    }
    return all;
}

std::unique_ptr<Backend> makeBackend(const std::string& key, int threads, const std::string& device)
{
    if (key == kAutomaticBackend) {
        try {
            return makeBackend(kGpuBackend, threads, device);
        } catch (const BackendError&) {
            return makeBackend(kFallbackBackend, threads);
        }
    }
    std::string keys = kAutomaticBackend;
    for (const BackendInfo& backend : listBackends()) {
        if (backend.key == key && !backend.available) {
            throw BackendError(backend.name + " cannot be used: " + backend.reason);
        }
        keys += ", " + backend.key;
    }
    if (const BackendFactory factory = replacementOf(key)) {
        return factory(threads);
    }
    if (key == "cpu") {
        return std::make_unique<CpuBackend>(threads);
    }
    if (key == "onednn") {
        return makeOnednnBackend(threads);
    }
    if (key == kGpuBackend) {
        return makeCudaBackend(findCudaDevice(listCudaDevices(), device));
    }
    throw BackendError("There is no backend \"" + key + "\"; there are: " + keys + ".");
}

} // namespace halfscope
