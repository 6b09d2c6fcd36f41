// SPDX-License-Identifier: GPL-3.0-or-later
// Products of FP8 matrices on the tensor cores of devices that have FP8 ones (compute capability 8.9 on), by cuBLASLt.
// It has them only where both factors run along k, where k and n are multiples of 16, and not for two E5M2 factors;
// whoever asks forms the others otherwise. Partial sums are FP32 to cuBLAS, fast accumulation is off; how many bits the
// device itself carries between promotions is its own affair (Hopper: 13 bits of mantissa, 128 products at a time).
#pragma once

#include <compare>
#include <map>
#include <memory>

#include <cublasLt.h>

#include "engine/backend/tensor.h"

namespace halfscope::cuda {

class Fp8Products {
public:
    // Without `native` there are none. The workspace is the caller's and that of all products on the stream.
    Fp8Products(bool native, cudaStream_t stream, void* workspace, std::size_t workspaceBytes);
    ~Fp8Products();
    Fp8Products(const Fp8Products&) = delete;
    Fp8Products& operator=(const Fp8Products&) = delete;

    bool native() const { return m_native; }

    // a (m, k) and b (n, k), row-major, in FP8 formats.
    struct Shape {
        FormatId a;
        FormatId b;
        std::int64_t m;
        std::int64_t n;
        std::int64_t k;
        auto operator<=>(const Shape&) const = default;
    };
    // Whether multiply() takes it. Asks cuBLASLt once a shape, so that a shape always has the same algorithm.
    bool has(const Shape& shape);
    // c (m, n) = a b^T in FP32. The pointers are aligned to 16 bytes.
    void multiply(const Shape& shape, const void* a, const void* b, float* c);

private:
    struct Plan;
    std::unique_ptr<Plan> makePlan(const Shape& shape); // null: there is none

    cudaStream_t m_stream;
    void* m_workspace;
    std::size_t m_workspaceBytes;
    cublasLtHandle_t m_lt = nullptr;
    std::map<Shape, std::unique_ptr<Plan>> m_plans;
    bool m_native = false;
};

} // namespace halfscope::cuda
