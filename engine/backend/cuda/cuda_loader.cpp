// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/cuda_loader.h"

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>

namespace halfscope {

namespace {

// The build defines these where it makes the module: its file's name, the oldest driver that it runs with.
#ifdef HALFSCOPE_CUDA_MODULE
constexpr const char* kModule = HALFSCOPE_CUDA_MODULE;
constexpr int kNeededVersion = HALFSCOPE_CUDA_VERSION;
#else
constexpr const char* kModule = nullptr;
constexpr int kNeededVersion = 0;
#endif
constexpr const char* kDriver = "libcuda.so.1";

std::string versionText(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Beside the libraries of an installation, or where the build put it. HALFSCOPE_CUDA_MODULE in the environment is
// another place.
std::string modulePath()
{
    namespace fs = std::filesystem;
    if (const char* path = std::getenv("HALFSCOPE_CUDA_MODULE"))
        return path;
    if (kModule == nullptr)
        return {};
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path name = fs::path(kModule).filename();
    for (const fs::path& folder : {program.parent_path() / "../lib/halfscope", fs::path(kModule).parent_path()}) {
        if (fs::exists(folder / name, error))
            return (folder / name).string();
    }
    return {};
}

template <typename Function>
Function* symbol(void* library, const char* name)
{
    return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string loaderError()
{
    const char* text = dlerror();
    return text == nullptr ? "unknown reason" : text;
}

} // namespace

CudaDriver probeCudaDriver(const std::string& library, int needed)
{
    CudaDriver driver;
    // Never closed: the module uses it, and a driver does not like to be unloaded.
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        driver.problem = "This machine has no NVIDIA driver (" + loaderError() + ").";
        return driver;
    }
    // As <cuda.h> declares them; 0 is success.
    auto* const init = symbol<int(unsigned)>(handle, "cuInit");
    auto* const getVersion = symbol<int(int*)>(handle, "cuDriverGetVersion");
    auto* const getCount = symbol<int(int*)>(handle, "cuDeviceGetCount");
    if (init == nullptr || getVersion == nullptr || getCount == nullptr) {
        driver.problem = "The NVIDIA driver's library " + library + " lacks functions that every version has.";
        return driver;
    }
    constexpr int kNoDevice = 100; // CUDA_ERROR_NO_DEVICE
    if (getVersion(&driver.version) != 0)
        driver.version = 0;
    if (driver.version != 0 && driver.version < needed) {
        driver.problem = "The NVIDIA driver supports CUDA " + versionText(driver.version) +
                         ", and this build of HalfScope needs CUDA " + versionText(needed) +
                         "; install a newer driver.";
        return driver;
    }
    const int answer = init(0);
    if (answer != 0 && answer != kNoDevice) {
        driver.problem = "The NVIDIA driver could not be started (its error " + std::to_string(answer) +
                         "); its kernel module may be missing or of another version.";
        return driver;
    }
    if (answer == kNoDevice || getCount(&driver.devices) != 0)
        driver.devices = 0;
    if (driver.devices == 0)
        driver.problem = "There is an NVIDIA driver, but it sees no GPU.";
    return driver;
}

const CudaModule* loadCudaModule(const std::string& path, std::string& problem)
{
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
        problem = "The CUDA module cannot be loaded (" + loaderError() + ").";
        return nullptr;
    }
    auto* const seam = symbol<CudaSeamFunction>(handle, kCudaSeamName);
    auto* const module = symbol<CudaModuleFunction>(handle, kCudaModuleName);
    if (seam == nullptr || module == nullptr) {
        problem = path + " is not a CUDA module of HalfScope.";
        return nullptr;
    }
    if (std::string(seam()) != HALFSCOPE_CUDA_SEAM) {
        problem = "The CUDA module " + path + " was built for another version of HalfScope; build both together.";
        return nullptr;
    }
    return module();
}

std::string cudaProblem()
{
    static const std::string problem = [] {
        if (modulePath().empty())
            return std::string(kModule == nullptr
                                   ? "This build of HalfScope has no CUDA module; build it where the CUDA toolkit is."
                                   : "The CUDA module that was built with HalfScope is not beside it; build or install "
                                     "HalfScope again.");
        return probeCudaDriver(kDriver, kNeededVersion).problem;
    }();
    return problem;
}

namespace {

const CudaModule& module()
{
    static std::mutex mutex;
    static const CudaModule* loaded = nullptr;
    const std::scoped_lock lock(mutex);
    std::string problem = cudaProblem();
    if (problem.empty() && loaded == nullptr)
        loaded = loadCudaModule(modulePath(), problem);
    if (!problem.empty())
        throw BackendError("CUDA cannot be used: " + problem);
    return *loaded;
}

} // namespace

std::vector<CudaDevice> listCudaDevices() { return module().devices(); }

std::unique_ptr<Backend> makeCudaBackend(int device) { return module().make(device); }

bool cudaMultipliesNatively(const CudaDevice& device, FormatId inputs)
{
    return module().multipliesNatively(device, inputs);
}

} // namespace halfscope
