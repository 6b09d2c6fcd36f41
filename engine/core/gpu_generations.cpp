// SPDX-License-Identifier: GPL-3.0-or-later
// Tensor cores: PTX ISA, target notes of mma: .f16 needs sm_70, .bf16 and .tf32 sm_80, .e4m3 and .e5m2 sm_89. Scalar
// arithmetic: fma.f16 needs sm_53, fma.bf16 sm_80; its rates are those of the CUDA C++ Programming Guide (throughput of
// native arithmetic instructions, results a clock and multiprocessor: FP16 128 and FP32 64 on 6.0, 2 and 128 on 6.1).
// The assembler agrees: ptxas 13.0 takes mma in each format from just these targets on.
#include "engine/core/gpu_generations.h"

namespace halfscope {

namespace {

constexpr GpuSupport kNo = GpuSupport::None;
constexpr GpuSupport kTensor = GpuSupport::TensorCores;

constexpr std::array<GpuGeneration, 8> kGenerations = {{
    {"Pascal (P100)", "2016", "6.0", "Tesla P100", {GpuSupport::Arithmetic, kNo, kNo, kNo}},
    {"Pascal (others)", "2016", "6.1", "GTX 10, P4, P40", {GpuSupport::Slow, kNo, kNo, kNo}},
    {"Volta", "2017", "7.0", "V100, Titan V", {kTensor, kNo, kNo, kNo}},
    {"Turing", "2018", "7.5", "RTX 20, T4", {kTensor, kNo, kNo, kNo}},
    {"Ampere", "2020", "8.0, 8.6", "A100, RTX 30", {kTensor, kTensor, kTensor, kNo}},
    {"Ada", "2022", "8.9", "RTX 40, L4, L40S", {kTensor, kTensor, kTensor, kTensor}},
    {"Hopper", "2022", "9.0", "H100, H200", {kTensor, kTensor, kTensor, kTensor}},
    {"Blackwell", "2024", "10.0, 12.0", "B200, RTX 50", {kTensor, kTensor, kTensor, kTensor}},
}};

} // namespace

std::string_view gpuSupportText(GpuSupport s)
{
    switch (s) {
    case GpuSupport::Slow:
        return "1/64 rate";
    case GpuSupport::Arithmetic:
        return "arithmetic only";
    case GpuSupport::TensorCores:
        return "tensor cores";
    case GpuSupport::None:
        break;
    }
    return "no";
}

std::string_view gpuFormatName(GpuFormat f)
{
    switch (f) {
    case GpuFormat::Bf16:
        return "BF16";
    case GpuFormat::Tf32:
        return "TF32";
    case GpuFormat::Fp8:
        return "FP8";
    case GpuFormat::Fp16:
        break;
    }
    return "FP16";
}

std::span<const GpuGeneration> gpuGenerations() { return kGenerations; }

std::string_view gpuGenerationsNote()
{
    return "Every generation computes in FP32. Tensor cores multiply matrices of the format and sum in FP32; P100 has "
           "FP16 arithmetic at twice FP32's rate but no matrix instruction. FP8 is E4M3 and E5M2. The GTX 16 series is "
           "Turing without tensor cores.";
}

std::string_view gpuGenerationsSource()
{
    return "NVIDIA: PTX ISA (target notes of mma and fma), CUDA C++ Programming Guide (arithmetic throughput)";
}

} // namespace halfscope
