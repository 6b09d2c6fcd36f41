// SPDX-License-Identifier: GPL-3.0-or-later
// What each generation of NVIDIA's processors computes in which format. From the manufacturer's documents; nothing here
// is measured.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace halfscope {

enum class GpuSupport : std::uint8_t {
    None,        // values can be stored and converted at best; products are computed in FP32
    Slow,        // scalar arithmetic, at 1/64 of FP32's rate: there to test with
    Arithmetic,  // scalar arithmetic, no matrix instruction
    TensorCores, // matrix products with FP32 accumulation by an instruction of their own
};
std::string_view gpuSupportText(GpuSupport s); // "tensor cores", "no"

enum class GpuFormat : std::uint8_t { Fp16, Bf16, Tf32, Fp8 }; // FP8: E4M3 and E5M2
inline constexpr int kGpuFormatCount = 4;
std::string_view gpuFormatName(GpuFormat f); // "FP16"

struct GpuGeneration {
    std::string_view name;              // "Ampere"
    std::string_view year;              // of the first product
    std::string_view computeCapability; // "8.0, 8.6"
    std::string_view examples;          // "A100, RTX 30"
    std::array<GpuSupport, kGpuFormatCount> support;

    GpuSupport of(GpuFormat f) const { return support[static_cast<std::size_t>(f)]; }
};

std::span<const GpuGeneration> gpuGenerations(); // oldest first
std::string_view gpuGenerationsNote();           // what the table leaves out
std::string_view gpuGenerationsSource();         // where it is from

} // namespace halfscope
