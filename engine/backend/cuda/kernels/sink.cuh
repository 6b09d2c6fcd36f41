// SPDX-License-Identifier: GPL-3.0-or-later
// How every kernel stores its results: multiplied by the probe's factor, counted, rounded once. CPU twin:
// backend/cpu/store.h with numerics/simd/measure_kernels.cpp; counts, classes, bins and extremes are the same numbers.
//
// Counting is fused with the store. A warp has a histogram of its own in shared memory, so that its 32 lanes alone can
// meet in a bin; at its end a block adds its integers to the record by atomics (integers add up to the same in any
// order) and writes its sums into a place of its own, which finishRecords() adds up in order.
#pragma once

#include "engine/backend/cuda/kernels/elements.cuh"
#include "engine/backend/cuda/kernels/probe.cuh"
#include "engine/backend/cuda/kernels/reduce.cuh"

namespace halfscope::cuda {

// Finite values alone.
__device__ inline float clamped(float x, float largest)
{
    const unsigned magnitude = __float_as_uint(x) & 0x7FFFFFFFU;
    if (magnitude >= 0x7F800000U || magnitude <= __float_as_uint(largest))
        return x;
    return x < 0.0F ? -largest : largest;
}

class Sink {
public:
    // All threads of a block, together. `shared` holds sinkBytes(probe) bytes.
    __device__ Sink(const Probe& probe, const Destination& to, void* shared)
        : m_probe(probe), m_to(to), m_shared(static_cast<SinkMemory*>(shared))
    {
        if (!m_probe.measure)
            return;
        auto* words = reinterpret_cast<unsigned*>(m_shared);
        for (unsigned i = threadIdx.x; i < sizeof(SinkMemory) / sizeof(unsigned); i += kThreads)
            words[i] = 0;
        __syncthreads();
    }

    // Stores v[0 .. count) times the factor as elements `index` and following; v becomes what was counted.
    __device__ void store(long long index, int count, float (&v)[8])
    {
        if (m_probe.report.record != nullptr) {
            if (m_probe.factor != 1.0F) { // a product would make another NaN of a NaN
                for (int i = 0; i < 8; ++i)
                    v[i] *= m_probe.factor;
            }
            for (int i = 0; i < count; ++i)
                take(v[i]);
        }
        if (m_probe.clampTo > 0.0F) {
            for (int i = 0; i < 8; ++i)
                v[i] = clamped(v[i], m_probe.clampTo);
        }
        storeGroup(m_to, index, count, v);
    }

    // All threads of a block, together, when nothing more is to come.
    __device__ void finish()
    {
        if (m_probe.report.record == nullptr)
            return;
        if (m_probe.measure)
            finishMeasuring();
        else
            finishFlags();
    }

    __device__ void noteSaturated(bool saturated) { m_flags |= saturated ? kSaturated : 0U; }

private:
    __device__ void take(float value)
    {
        const unsigned magnitude = __float_as_uint(value) & 0x7FFFFFFFU;
        if (!m_probe.measure) {
            m_flags |= magnitude >= 0x7F800000U ? kNonfinite : magnitude >= m_probe.saturatingFrom ? kSaturated : 0U;
            return;
        }
        m_larger[0] += 1;
        m_larger[1] += magnitude > 0 ? 1 : 0;
        m_larger[2] += magnitude > m_probe.flushUpTo ? 1 : 0;
        m_larger[3] += magnitude >= m_probe.normalFrom ? 1 : 0;
        m_larger[4] += magnitude >= m_probe.saturatingFrom ? 1 : 0;
        m_larger[5] += magnitude >= 0x7F800000U ? 1 : 0;
        m_larger[6] += magnitude > 0x7F800000U ? 1 : 0;
        const float unscaled = value * m_probe.inverseScale;
        const unsigned bits = __float_as_uint(unscaled) & 0x7FFFFFFFU;
        if (bits >= 0x7F800000U) { // takes no part in sums, extremes and bins; a zero is no loss, whatever the scale
            m_lost += magnitude != 0 && magnitude < 0x7F800000U ? 1 : 0;
            return;
        }
        const auto wide = static_cast<double>(unscaled);
        m_sum += wide;
        m_squares += wide * wide; // exact products, so contraction into fma would change nothing
        if (bits == 0)
            return;
        m_largest = bits > m_largest ? bits : m_largest;
        const unsigned inverted = 0x7FFFFFFFU - bits;
        m_smallestInverted = inverted > m_smallestInverted ? inverted : m_smallestInverted;
        // A subnormal's bin is the number of its highest bit.
        const unsigned bin = bits >= 0x00800000U ? (bits >> 23) + 22U : 31U - static_cast<unsigned>(__clz(bits));
        atomicAdd(&m_shared->bins[threadIdx.x / kLanes][bin], 1U);
    }

    __device__ void finishFlags()
    {
        const int saturated = __syncthreads_or((m_flags & kSaturated) != 0);
        const int nonfinite = __syncthreads_or((m_flags & kNonfinite) != 0);
        if (threadIdx.x == 0 && (saturated != 0 || nonfinite != 0))
            atomicOr(&m_probe.report.record->flags,
                     (saturated != 0 ? kSaturated : 0U) | (nonfinite != 0 ? kNonfinite : 0U));
    }

    __device__ void finishMeasuring()
    {
        const bool first = threadIdx.x % kLanes == 0;
        for (int k = 0; k < kClasses; ++k) {
            const unsigned count = warpSum(m_larger[k]);
            if (first)
                atomicAdd(&m_shared->larger[k], count);
        }
        const unsigned lost = warpSum(m_lost);
        const unsigned largest = warpMaxBits(m_largest);
        const unsigned smallest = warpMaxBits(m_smallestInverted);
        if (first) {
            atomicAdd(&m_shared->lost, lost);
            atomicMax(&m_shared->largest, largest);
            atomicMax(&m_shared->smallestInverted, smallest);
        }
        const double sum = blockSum(m_sum, m_shared->sums[0]);
        const double squares = blockSum(m_squares, m_shared->sums[1]); // and a barrier: all counts are there
        Record& record = *m_probe.report.record;
        for (int bin = threadIdx.x; bin < kBins; bin += kThreads) {
            unsigned count = 0;
            for (int warp = 0; warp < kWarps; ++warp)
                count += m_shared->bins[warp][bin];
            if (count != 0)
                atomicAdd(&record.bins[bin], static_cast<unsigned long long>(count));
        }
        if (threadIdx.x < kClasses) {
            const unsigned above = threadIdx.x + 1 < kClasses ? m_shared->larger[threadIdx.x + 1] : 0;
            const unsigned count = m_shared->larger[threadIdx.x] - above;
            if (count != 0)
                atomicAdd(&record.classes[threadIdx.x], static_cast<unsigned long long>(count));
        }
        if (threadIdx.x == 0) {
            m_probe.report.sums[blockIdx.x] = {sum, squares};
            atomicMax(&record.largest, m_shared->largest);
            atomicMax(&record.smallestInverted, m_shared->smallestInverted);
            if (m_shared->lost != 0)
                atomicAdd(&record.unscaledToInfinity, static_cast<unsigned long long>(m_shared->lost));
        }
        if ((m_flags & kSaturated) != 0) // only what noteSaturated() said; the rest is in the classes
            atomicOr(&record.flags, kSaturated);
    }

    const Probe m_probe;
    const Destination m_to;
    SinkMemory* m_shared;
    unsigned m_larger[kClasses] = {}; // how many values have at least this class
    unsigned m_lost = 0;
    unsigned m_largest = 0;
    unsigned m_smallestInverted = 0;
    unsigned m_flags = 0;
    double m_sum = 0.0;
    double m_squares = 0.0;
};

} // namespace halfscope::cuda
