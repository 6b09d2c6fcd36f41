// SPDX-License-Identifier: GPL-3.0-or-later
// What the backend's tests share: tensors with guarded edges, comparison within a bound, all ways to run an operation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend/backend.h"
#include "engine/core/cpu_features.h"
#include "reference.h"

namespace halfscope::test {

using reference::Matrix;

// Half the distance from 1 to the next FP32 number: the largest relative error of one FP32 operation.
inline constexpr double kEps = 0x1p-24;

// The backend that is tested: the CPU's, with two threads, or, in test_cuda, the CUDA backend on its stand-in.
Backend& cpu();

// A tensor of the tested backend with 256 known bytes before and after it, and NaN bits in it until something is
// written.
class Guarded {
public:
    Guarded(FormatId format, std::int64_t rows, std::int64_t cols);
    Tensor& operator*() { return m_tensor; }
    const Tensor& operator*() const { return m_tensor; }
    Tensor* operator->() { return &m_tensor; }
    bool intact() const; // the bytes around it are as they were

private:
    std::vector<float> pattern() const; // what all of the memory holds at first
    std::shared_ptr<Tensor> m_memory;   // FP32, whose bits survive uploading and downloading
    std::size_t m_bytes = 0;
    Tensor m_tensor;
};

// Normally distributed numbers times `scale`, rounded into the format. The same for the same arguments, on every run.
Tensor randomTensor(FormatId format, std::int64_t rows, std::int64_t cols, std::uint64_t seed, double scale = 1.0);
Tensor tensorOf(FormatId format, std::int64_t rows, std::int64_t cols, std::span<const float> values);
std::vector<float> floats(const Tensor& t); // what it holds
Matrix matrix(const Tensor& t);

// Half the distance between neighbours of the format at this magnitude: the error of one rounding.
double halfUlp(FormatId format, double magnitude);

// |got - want| <= bound + the error of the one rounding on store, for every element; and the guards are intact.
// A value that cannot be represented must have become infinite.
void expectClose(const Guarded& got, const Matrix& want, const Matrix& bound, const std::string& what);
void expectClose(const Tensor& got, const Matrix& want, const Matrix& bound, const std::string& what);

// The probe saw exactly these values (those before rounding, not yet multiplied by its factor).
void expectProbe(const CastProbe& probe, const std::vector<float>& values, FormatId format, const std::string& what);
CastProbe measuringProbe(float inverseScale = 1.0F, float factor = 1.0F);

// Runs an operation that stores one tensor: into FP32 without a probe, which shows the values before rounding; then
// into every format with a probe, with and without measuring, with several factors.
void expectProbeOf(const std::function<void(Tensor& out, CastProbe* probe)>& operation, std::int64_t rows,
                   std::int64_t cols, const std::string& what);

std::vector<SimdLevel> simdLevels(); // those this machine can run
// Runs `work` on backends of 1, 2, 3 and 5 threads at every SIMD level; in test_cuda, with the threads of a block and
// the blocks of a grid in every order. It returns bytes; all must be equal.
void expectSameBytes(const std::function<std::string(Backend&)>& work);
void appendBytes(std::string& to, const Tensor& t);
void appendBytes(std::string& to, const CastProbe& probe);
void appendBytes(std::string& to, double value);

inline constexpr FormatId kFormats[] = {FormatId::Fp32, FormatId::Fp16, FormatId::Bf16};
std::string formatName(FormatId format);

} // namespace halfscope::test
