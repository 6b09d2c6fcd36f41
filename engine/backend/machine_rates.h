// SPDX-License-Identifier: GPL-3.0-or-later
// How fast this machine multiplies matrices in each format, and what it could do at best.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/numerics/float_format.h"

namespace halfscope {

// Of repeated runs, each timed by itself.
struct Rate {
    double median = 0.0; // a second
    double low = 0.0;
    double high = 0.0;
    int runs = 0; // 0: not measured
};

// C (m, n) in FP32 = A (m, k) B (k, n), A and B in the format: 2 m n k operations.
struct ProductShape {
    std::int64_t m = 512;
    std::int64_t n = 512;
    std::int64_t k = 512;
    double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

struct ProductRate {
    std::string backend; // its key, "cpu"
    FormatId format = FormatId::Fp32;
    bool native = false; // otherwise emulated exactly: the rate is the emulation's and says nothing about hardware
    Rate rate;           // operations a second
    std::string problem; // one sentence where it could not be measured
};

struct MachineRates {
    int threads = 0;
    ProductShape shape;
    Rate multiplyAdd; // FP32 operations a second of fused multiply-adds on registers, all threads
    Rate copy;        // bytes read and written a second, between blocks of memory of `copyBytes` each
    double copyBytes = 0.0;
    std::vector<ProductRate> products; // in the order of backends, then of formats
    bool complete = false;             // false: it was given up

    const ProductRate* find(std::string_view backend, FormatId format) const; // null: not there
};

struct RateOptions {
    ProductShape shape;
    double seconds = 0.8; // for each thing that is measured, about
    int threads = 0;      // 0: one a processor
    // Asked before each run; share is 0 to 1, what is "FP16 on cpu". False: give up; what there is so far is returned.
    std::function<bool(double share, const std::string& what)> goOn;
};

MachineRates measureMachine(const RateOptions& options);

} // namespace halfscope
