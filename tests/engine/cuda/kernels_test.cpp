// SPDX-License-Identifier: GPL-3.0-or-later
// That every kernel is executed: those that there are, from the sources and from this program's own table of symbols,
// against those that the backend's operations launch. That each does its work right is what the operations' cases are
// for; there is one for each operation.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>

#include "engine/backend/cuda/cuda_backend.h"
#include "standin_runtime.h"
#include "support.h"

namespace halfscope::test {
namespace {

struct Kernel {
    std::string name; // "softmaxKernel of attention.cu"
    const void* address;
};

std::string demangled(const char* name)
{
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                           std::free);
    return status == 0 ? text.get() : "";
}

template <typename T>
const T* at(const std::string& file, std::uint64_t offset)
{
    return reinterpret_cast<const T*>(file.data() + offset);
}

// The functions in an anonymous namespace of halfscope::cuda whose file is a .cu file and whose name ends in Kernel.
// Symbols of a file follow its own.
std::vector<Kernel> kernelsOfThisProgram()
{
    std::ifstream in("/proc/self/exe", std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    Dl_info self{};
    EXPECT_NE(dladdr(reinterpret_cast<const void*>(&standin::launchedKernels), &self), 0);
    const auto& header = *at<Elf64_Ehdr>(file, 0);
    const auto* base = header.e_type == ET_DYN ? static_cast<const char*>(self.dli_fbase) : nullptr;
    const auto* sections = at<Elf64_Shdr>(file, header.e_shoff);
    const std::regex pattern(R"(^halfscope::cuda::\(anonymous namespace\)::(\w+Kernel)\([^[{]*\)$)");
    std::vector<Kernel> kernels;
    for (int s = 0; s < header.e_shnum; ++s) {
        if (sections[s].sh_type != SHT_SYMTAB)
            continue;
        const std::uint64_t names = sections[sections[s].sh_link].sh_offset;
        std::string source;
        for (std::uint64_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
            const auto& symbol = at<Elf64_Sym>(file, sections[s].sh_offset)[i];
            const char* name = at<char>(file, names + symbol.st_name);
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE)
                source = name;
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !source.ends_with(".cu"))
                continue;
            std::smatch match;
            const std::string full = demangled(name);
            if (std::regex_match(full, match, pattern))
                kernels.push_back({match[1].str() + " of " + source, base + symbol.st_value});
        }
    }
    return kernels;
}

std::size_t kernelsInTheSources()
{
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(HALFSCOPE_SOURCE_DIR) + "/engine/backend/cuda/kernels")) {
        std::ifstream in(entry.path()); // one a line, as they are formatted
        for (std::string line; std::getline(in, line);)
            count += line.starts_with("__global__") ? 1 : 0;
    }
    return count;
}

// Every operation of backend.h once, on a device with FP8.
void executeEveryOperation()
{
    standin::setCapability(89);
    cuda::CudaBackend backend;
    const auto tensor = [&](FormatId format, std::int64_t rows, std::int64_t cols) {
        return backend.makeTensor(format, rows, cols);
    };
    constexpr std::int64_t kN = 16; // rows, and columns
    Tensor x = tensor(FormatId::Fp16, kN, kN);
    Tensor y = tensor(FormatId::Fp16, kN, kN);
    Tensor wide = tensor(FormatId::Fp32, kN, kN);
    Tensor row = tensor(FormatId::Fp32, 1, kN);
    Tensor row2 = tensor(FormatId::Fp32, 1, kN);
    Tensor column = tensor(FormatId::Fp32, kN, 1);
    Tensor column2 = tensor(FormatId::Fp32, kN, 1);
    const Tensor none = tensor(FormatId::Fp16, 0, kN);
    const std::vector<std::int32_t> ids(kN, 1);
    std::vector<std::int32_t> found(kN);
    CastProbe probe = measuringProbe();

    backend.cast(wide, x, &probe);
    EXPECT_EQ(backend.largestMagnitude(x), 0.0F);
    backend.add(x, x, y, &probe);
    backend.dropout(x, y, 0.5F, 1, &probe);
    backend.embeddingForward(ids, x, none, x, y, &probe);
    backend.tokenEmbeddingBackward(ids, x, wide, &probe);
    backend.positionEmbeddingBackward(x, wide, &probe);
    backend.gatherRows(x, ids, y, &probe);
    Tensor pooled = tensor(FormatId::Fp16, 2, kN);
    backend.meanPoolForward(x, pooled, &probe);
    backend.meanPoolBackward(pooled, y, &probe);
    backend.gemm({.a = x, .b = x, .c = y, .probe = &probe});
    const Tensor fp8 = tensor(FormatId::Fp8E4M3, kN, kN);
    backend.gemm({.a = fp8, .b = fp8, .c = y, .probe = &probe});
    backend.columnSum(x, row, &probe);
    backend.layerNormForward(x, row, row, y, column, column2, &probe);
    backend.layerNormBackward(x, x, row, column, column2, nullptr, y, &probe, row, row2, &probe);
    const AttentionShape shape{2, 8, 2, 8, true};
    const Tensor qkv = tensor(FormatId::Fp16, kN, 3 * kN);
    Tensor dQkv = tensor(FormatId::Fp16, kN, 3 * kN);
    Tensor probabilities = tensor(FormatId::Fp16, 32, 8);
    backend.attentionForward(shape, FormatId::Fp16, qkv, y, probabilities, &probe);
    backend.attentionBackward(shape, FormatId::Fp16, x, qkv, probabilities, dQkv, &probe);
    EXPECT_GT(backend.crossEntropy(x, ids, 1.0F, &y, &probe), 0.0);
    backend.argmax(x, found);
    EXPECT_FALSE(backend.unscale(x, 1.0F, wide).foundInf);
    Tensor moment1 = tensor(FormatId::Fp32, kN, kN);
    Tensor moment2 = tensor(FormatId::Fp32, kN, kN);
    backend.adamw({}, wide, x, moment1, moment2, nullptr);
    backend.synchronize();
}

TEST(Kernels, AreAllExecuted)
{
    standin::reset();
    const std::vector<Kernel> all = kernelsOfThisProgram();
    EXPECT_EQ(all.size(), kernelsInTheSources()) << "a kernel is a function in an anonymous namespace, named ...Kernel";
    EXPECT_GT(all.size(), 20U);
    standin::launchedKernels().clear();
    executeEveryOperation();
    standin::reset();
    std::set<const void*> launched = standin::launchedKernels();
    for (const Kernel& kernel : all)
        EXPECT_EQ(launched.erase(kernel.address), 1U) << kernel.name << " was not executed";
    EXPECT_TRUE(launched.empty()) << launched.size() << " kernels are not in the table";
}

} // namespace
} // namespace halfscope::test
