// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels are told about the data they read and store, and what they report. No device code: the backend's host
// code, which an ordinary compiler compiles, reads this too.
#pragma once

#include "engine/backend/cuda/kernels/launch.cuh"
#include "engine/numerics/format_id.h"

namespace halfscope::cuda {

// Data in device memory, aligned to 16 bytes.
struct Source {
    const void* data;
    FormatId format;
};
struct Destination {
    void* data;
    FormatId format;
};

constexpr int kBins = 277; // one a power of two from 2^-149 to 2^127; as ExponentHistogram
constexpr int kClasses = 7;
constexpr unsigned kSaturated = 1;
constexpr unsigned kNonfinite = 2;

// What the device found out, for the host to fetch. All zero at first.
struct Record {
    unsigned long long bins[kBins];
    unsigned long long classes[kClasses];
    unsigned long long unscaledToInfinity;
    double sum; // of the blocks' sums, in order
    double sumSquares;
    unsigned largest;          // FP32 pattern of the largest unscaled magnitude
    unsigned smallestInverted; // 0x7FFFFFFF minus that of the smallest nonzero one; 0: there is none
    unsigned flags;
    unsigned padding;
};

struct BlockSums {
    double sum;
    double squares;
};

// Where a kernel leaves results. Without a record it leaves none.
struct Report {
    Record* record = nullptr;
    BlockSums* sums = nullptr; // one a block
};

// What a Sink does with values besides rounding them.
struct Probe {
    Report report;
    bool measure = false;
    float inverseScale = 1.0F;
    float factor = 1.0F;
    float clampTo =
        0.0F; // the largest number of the destination's format, if finite values beyond it become that; else 0
    // FP32 patterns of magnitudes: bounds between the classes of the format that counts (numerics/cast_kernels.h).
    unsigned flushUpTo = 0;
    unsigned normalFrom = 0;
    unsigned saturatingFrom = 0x7F800000U;
};

// A Sink's shared memory.
struct SinkMemory {
    double sums[2][kWarps];
    unsigned bins[kWarps][kBins];
    unsigned larger[kClasses];
    unsigned lost;
    unsigned largest;
    unsigned smallestInverted;
};
constexpr unsigned kSinkBytes = (sizeof(SinkMemory) + 15) / 16 * 16;
inline unsigned sinkBytes(const Probe& probe) { return probe.measure ? kSinkBytes : 0; }

} // namespace halfscope::cuda
