// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/backend_registry.h"

#include <map>
#include <mutex>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/cuda_loader.h"
#include "engine/backend/onednn/onednn_backend.h"

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

std::unique_ptr<Backend> makeBackend(const std::string& key, int threads)
{
    std::string keys;
    for (const BackendInfo& backend : listBackends()) {
        if (backend.key == key && !backend.available) {
            throw BackendError(backend.name + " cannot be used: " + backend.reason);
        }
        keys += (keys.empty() ? "" : ", ") + backend.key;
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
    if (key == "cuda") {
        return makeCudaBackend(0);
    }
    throw BackendError("There is no backend \"" + key + "\"; there are: " + keys + ".");
}

} // namespace halfscope
