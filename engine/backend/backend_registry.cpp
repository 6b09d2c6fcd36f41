// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/backend_registry.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/onednn/onednn_backend.h"

namespace halfscope {

std::vector<BackendInfo> listBackends()
{
    const std::string onednn = onednnProblem();
    return {{"cpu", "CPU", true, ""},
            {"onednn", "oneDNN", onednn.empty(), onednn},
            {"cuda", "CUDA", false, "This build of HalfScope has no CUDA backend."}};
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
    if (key == "cpu") {
        return std::make_unique<CpuBackend>(threads);
    }
    if (key == "onednn") {
        return makeOnednnBackend(threads);
    }
    throw BackendError("There is no backend \"" + key + "\"; there are: " + keys + ".");
}

} // namespace halfscope
