// SPDX-License-Identifier: GPL-3.0-or-later
// What the processor has, what GPUs have, and the report about both.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "engine/core/cpu_features.h"
#include "engine/core/gpu_generations.h"
#include "engine/io/machine_report.h"

namespace halfscope {
namespace {

using testing::HasSubstr;

std::set<std::string> present(const CpuidWords& words)
{
    std::set<std::string> names;
    for (const CpuFeature& feature : cpuFeatures(words)) {
        if (feature.present)
            names.emplace(feature.name);
    }
    return names;
}

// The kernel reads the same bits by itself.
TEST(CpuFeatures, AreThoseTheKernelSees)
{
    std::ifstream file("/proc/cpuinfo");
    std::set<std::string> flags;
    for (std::string line; flags.empty() && std::getline(file, line);) {
        if (line.starts_with("flags")) {
            std::istringstream words(line.substr(line.find(':') + 1));
            for (std::string word; words >> word;)
                flags.insert(word);
        }
    }
    if (flags.empty())
        GTEST_SKIP() << "no /proc/cpuinfo with flags";
    const std::map<std::string, std::string> kernelName = {{"F16C", "f16c"},
                                                           {"FMA", "fma"},
                                                           {"AVX2", "avx2"},
                                                           {"AVX-512", "avx512f"},
                                                           {"AVX512-FP16", "avx512_fp16"},
                                                           {"AVX512-BF16", "avx512_bf16"},
                                                           {"AMX-BF16", "amx_bf16"},
                                                           {"AMX-INT8", "amx_int8"},
                                                           {"AMX-FP16", "amx_fp16"}};
    for (const CpuFeature& feature : cpuFeatures()) {
        const std::string name(feature.name);
        if (name == "AMX-FP16" && !flags.contains("amx_fp16"))
            continue; // kernels before 6.2 have no word for it
        EXPECT_EQ(feature.present, flags.contains(kernelName.at(name))) << name;
    }
}

// Leaf 1 ECX, leaf 7 EBX and EDX, leaf 7.1 EAX and XCR0 of a processor with AMX, and of lesser ones.
TEST(CpuFeatures, OfOtherProcessors)
{
    const CpuidWords withTiles = {0x7FFEFBBF, 0xF3BFB7EF, 0xFFDD4432, 0x00001C30, 0x602E7};
    EXPECT_THAT(present(withTiles), testing::UnorderedElementsAre("F16C", "FMA", "AVX2", "AVX-512", "AVX512-FP16",
                                                                  "AVX512-BF16", "AMX-BF16", "AMX-INT8"));
    CpuidWords withoutTiles = withTiles; // an older kernel on the same processor
    withoutTiles.xcr0 = 0x2E7;
    EXPECT_FALSE(present(withoutTiles).contains("AMX-BF16"));
    EXPECT_TRUE(present(withoutTiles).contains("AVX512-BF16"));
    CpuidWords onlySse = withTiles; // no AVX state saved: nothing of all that may be used
    onlySse.xcr0 = 0x3;
    EXPECT_TRUE(present(onlySse).empty());
    EXPECT_TRUE(present(CpuidWords{}).empty());
}

TEST(CpuFeatures, AgreeWithTheKernelsThatRun)
{
    const std::set<std::string> names = present(cpuidWords());
    const bool avx2 = names.contains("AVX2") && names.contains("FMA") && names.contains("F16C");
    EXPECT_EQ(bestSimdLevel() >= SimdLevel::Avx2, avx2);
    if (bestSimdLevel() == SimdLevel::Avx512) {
        EXPECT_TRUE(names.contains("AVX-512"));
    }
    EXPECT_FALSE(cpuName().empty());
}

// The rule behind the table, from the target notes of PTX's mma: FP16 from 7.0, BF16 and TF32 from 8.0, FP8 from 8.9.
TEST(GpuGenerations, FollowTheInstructionSet)
{
    EXPECT_EQ(gpuGenerations().size(), 8U);
    double before = 0;
    for (const GpuGeneration& g : gpuGenerations()) {
        const double capability = std::stod(std::string(g.computeCapability)); // the first of several
        EXPECT_GT(capability, before) << g.name;
        before = capability;
        const auto tensor = [&](GpuFormat f) { return g.of(f) == GpuSupport::TensorCores; };
        EXPECT_EQ(tensor(GpuFormat::Fp16), capability >= 7.0) << g.name;
        EXPECT_EQ(tensor(GpuFormat::Bf16), capability >= 8.0) << g.name;
        EXPECT_EQ(tensor(GpuFormat::Tf32), capability >= 8.0) << g.name;
        EXPECT_EQ(tensor(GpuFormat::Fp8), capability >= 8.9) << g.name;
    }
    EXPECT_EQ(gpuGenerations()[0].of(GpuFormat::Fp16), GpuSupport::Arithmetic);
    EXPECT_EQ(gpuGenerations()[1].of(GpuFormat::Fp16), GpuSupport::Slow);
}

MachineRates example()
{
    MachineRates rates;
    rates.threads = 2;
    rates.complete = true;
    rates.multiplyAdd = {100e9, 90e9, 101e9, 7};
    rates.copy = {20e9, 19e9, 21e9, 5};
    rates.copyBytes = 128.0 * 1048576.0;
    rates.products = {{"cpu", FormatId::Fp32, true, {80e9, 70e9, 81e9, 9}, ""},
                      {"cpu", FormatId::Fp16, false, {60e9, 50e9, 61e9, 9}, ""},
                      {"onednn", FormatId::Fp32, true, {80e9, 70e9, 81e9, 9}, ""},
                      {"onednn", FormatId::Bf16, true, {240e9, 70e9, 81e9, 9}, ""},
                      {"onednn", FormatId::Tf32, false, {}, "It broke."}};
    return rates;
}

TEST(MachineReport, MakesNoClaimOfWhatIsEmulated)
{
    const MachineRates rates = example();
    EXPECT_EQ(ratioText(rates, rates.products[0]), "1.00");
    EXPECT_EQ(ratioText(rates, rates.products[1]), "");
    EXPECT_EQ(ratioText(rates, rates.products[3]), "3.00");
    const std::string text = machineText(&rates);
    EXPECT_THAT(text, testing::ContainsRegex("cpu +FP32 +native +80.0 +70.0 to 81.0 +9 +1.00 +80 %"));
    EXPECT_THAT(text, testing::ContainsRegex("cpu +FP16 +emulated exactly +60.0 +50.0 to 61.0 +9 +- +-\n"));
    EXPECT_THAT(text, HasSubstr("It broke."));
    EXPECT_THAT(text, HasSubstr("says nothing"));
    EXPECT_THAT(machineText(nullptr), testing::Not(HasSubstr("GFLOP/s")));
}

TEST(MachineReport, EveryRowOfTheTableHasEveryColumn)
{
    const MachineRates rates = example();
    std::istringstream in(machineCsv(&rates));
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "quantity,name,format,value,unit,low,high,runs,computed,note");
    std::size_t rows = 0;
    while (std::getline(in, line)) {
        ++rows;
        bool quoted = false;
        int commas = 0;
        for (const char c : line) {
            quoted = quoted != (c == '"');
            commas += !quoted && c == ',' ? 1 : 0;
        }
        EXPECT_EQ(commas, 9) << line;
    }
    EXPECT_EQ(rows, static_cast<std::size_t>(kCpuFeatureCount) + 8 * kGpuFormatCount + 2 + rates.products.size());
    EXPECT_THAT(machineCsv(&rates), HasSubstr("product,cpu,FP16,60,GFLOP/s,50,61,9,emulated,512 x 512 by 512 x 512"));
}

} // namespace
} // namespace halfscope
