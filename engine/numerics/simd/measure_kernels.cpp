// SPDX-License-Identifier: GPL-3.0-or-later
// The measuring cast: counts classes and exponents, sums, then rounds and stores, block by block, so that memory is
// read once (a block stays in the first-level cache) and a cast in place overwrites nothing that is still needed.
//
// Blocks of up to 2048 values are taken as "ordinary" first: no value saturates or is nonfinite, and unscaling keeps
// every nonzero value a normal, finite FP32 number. Then two comparisons and the extremes say all there is to say, and
// since the product with a positive factor preserves order, the extremes of the scaled values are enough. They also
// tell whether the block was ordinary; if it was not, it is measured again without assumptions.
#include "engine/numerics/cast_kernels.h"

#include "engine/numerics/simd/exponent_counter.h"
#include "engine/numerics/simd/format_lanes.h"

namespace halfscope::HALFSCOPE_SIMD_NAMESPACE {
namespace {

constexpr int kChunk = 64;
constexpr int kBlock = 2048;
constexpr std::int32_t kAbs = 0x7FFFFFFF;
constexpr std::int32_t kInfinity = 0x7F800000;
constexpr int kFirstBin = -149;               // ExponentHistogram::kMinExponent
constexpr int kBinOfField = -127 - kFirstBin; // bin of a normal number = its exponent field + this

struct Sums {
    F64x16 sum = F64x16::zero();
    F64x16 squares = F64x16::zero();
};

float floatOfBits(std::int32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

int sumInts(I32x16 a)
{
    std::int32_t lanes[16];
    a.store(lanes);
    int sum = 0;
    for (const std::int32_t lane : lanes)
        sum += lane;
    return sum;
}

int minimumInt(I32x16 a)
{
    std::int32_t lanes[16];
    a.store(lanes);
    int minimum = lanes[0];
    for (const std::int32_t lane : lanes)
        minimum = lane < minimum ? lane : minimum;
    return minimum;
}

int maximumInt(I32x16 a) { return -1 - minimumInt(I32x16::broadcast(-1) - a); }

void addExtremes(float minimum, float maximum, MeasureTotals& totals)
{
    if (totals.maximum == 0.0F || minimum < totals.minimum)
        totals.minimum = minimum;
    if (maximum > totals.maximum)
        totals.maximum = maximum;
}

// Measures `chunks` * 64 values. False: the block is not ordinary, and nothing was counted.
bool measureOrdinary(const float* src, int chunks, float inverseScale, const ClassBounds& bounds, Sums& sums,
                     MeasureTotals& totals)
{
    const F32x16 factor = F32x16::broadcast(inverseScale);
    const I32x16 flushUpTo = I32x16::broadcast(bounds.flushUpTo);
    const I32x16 belowNormal = I32x16::broadcast(bounds.normalFrom - 1);
    I32x16 kept = I32x16::zero();   // minus the number of values larger than flushUpTo
    I32x16 normal = I32x16::zero(); // minus the number of normal values
    I32x16 largest = I32x16::zero();
    // Of pattern + INT32_MAX, which wraps: a zero becomes the largest of all, the others keep their order below it.
    I32x16 smallest = I32x16::broadcast(INT32_MAX);
    std::uint8_t exponents[kBlock];
    for (int c = 0; c < chunks; ++c) {
        I32x16 fields[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const F32x16 scaled = F32x16::load(src + c * kChunk + i * 16);
            const F32x16 value = scaled * factor;
            const I32x16 magnitude = bitsOf(scaled) & I32x16::broadcast(kAbs);
            kept = kept + asInt(magnitude > flushUpTo);
            normal = normal + asInt(magnitude > belowNormal);
            largest = maxSigned(largest, magnitude);
            smallest = minSigned(smallest, magnitude + I32x16::broadcast(INT32_MAX));
            fields[i] = bitsOf(value).shiftLeft<1>().shiftRight<24>();
        }
        packBytes(fields[0], fields[1], fields[2], fields[3], exponents + c * kChunk);
    }

    const int count = chunks * kChunk;
    const std::int32_t largestBits = maximumInt(largest);
    if (largestBits >= bounds.saturatingFrom)
        return false;
    if (largestBits == 0) {
        totals.classes[static_cast<int>(ValueClass::Zero)] += static_cast<unsigned>(count);
        return true;
    }
    const std::int32_t smallestBits = static_cast<std::int32_t>(static_cast<std::uint32_t>(minimumInt(smallest)) -
                                                                static_cast<std::uint32_t>(INT32_MAX));
    const float minimum = floatOfBits(smallestBits) * inverseScale;
    const float maximum = floatOfBits(largestBits) * inverseScale;
    // Also false for a factor that is zero, negative or not finite.
    if (!(minimum >= 0x1p-126F && maximum <= 0x1.fffffep127F))
        return false;

    const auto field = [](float x) {
        std::uint32_t bits;
        __builtin_memcpy(&bits, &x, sizeof bits);
        return static_cast<int>(bits >> 23);
    };
    const unsigned zeros = countExponents(exponents, count, field(minimum), field(maximum), totals.bins + kBinOfField);
    const auto keptCount = static_cast<unsigned>(-sumInts(kept));
    const auto normalCount = static_cast<unsigned>(-sumInts(normal));
    totals.classes[static_cast<int>(ValueClass::Zero)] += zeros;
    totals.classes[static_cast<int>(ValueClass::Flushed)] += static_cast<unsigned>(count) - zeros - keptCount;
    totals.classes[static_cast<int>(ValueClass::Subnormal)] += keptCount - normalCount;
    totals.classes[static_cast<int>(ValueClass::Normal)] += normalCount;
    addExtremes(minimum, maximum, totals);
    // The sums in a loop of their own: together with the counters they would not fit into the registers.
    for (int i = 0; i < count; i += 16) {
        const F32x16 value = F32x16::load(src + i) * factor;
        sums.sum.add(value);
        sums.squares.addProduct(value, value);
    }
    return true;
}

// Measures `chunks` * 64 values of any kind. Infinite and NaN products take no part in sums, extremes and bins.
__attribute__((noinline)) void measureAny(const float* src, int chunks, float inverseScale, const ClassBounds& bounds,
                                          Sums& sums, MeasureTotals& totals)
{
    const F32x16 factor = F32x16::broadcast(inverseScale);
    const std::int32_t above[6] = {
        0, bounds.flushUpTo, bounds.normalFrom - 1, bounds.saturatingFrom - 1, kInfinity - 1, kInfinity};
    I32x16 larger[6]; // minus the number of magnitudes larger than each of these
    for (I32x16& counter : larger)
        counter = I32x16::zero();
    I32x16 summed = I32x16::zero(); // minus the number of finite products and zeros
    I32x16 largest = I32x16::zero();
    I32x16 smallest = I32x16::broadcast(INT32_MAX);
    std::uint32_t fields[256] = {};
    for (int i = 0; i < chunks * kChunk; i += 16) {
        const F32x16 scaled = F32x16::load(src + i);
        const I32x16 magnitude = bitsOf(scaled) & I32x16::broadcast(kAbs);
        for (int k = 0; k < 6; ++k)
            larger[k] = larger[k] + asInt(magnitude > I32x16::broadcast(above[k]));
        const F32x16 product = scaled * factor;
        const Mask16 finite = isFinite(product);
        const F32x16 value = select(finite, product, F32x16::zero());
        summed = summed + asInt(finite | (magnitude == I32x16::zero())); // zeros are no loss, whatever the factor
        sums.sum.add(value);
        sums.squares.addProduct(value, value);
        const I32x16 bits = bitsOf(value) & I32x16::broadcast(kAbs);
        largest = maxSigned(largest, bits);
        smallest = minSigned(smallest, bits + I32x16::broadcast(INT32_MAX));
        std::int32_t lanes[16];
        bits.store(lanes);
        for (const std::int32_t lane : lanes) {
            if (lane >= 0x00800000)
                ++fields[lane >> 23];
            else if (lane != 0) // subnormal: the bin is the number of the highest bit
                ++totals.bins[31 - __builtin_clz(static_cast<unsigned>(lane))];
        }
    }
    for (int field = 1; field < 255; ++field)
        totals.bins[field + kBinOfField] += fields[field];

    std::uint64_t count[7];
    count[0] = static_cast<unsigned>(chunks * kChunk);
    for (int k = 0; k < 6; ++k)
        count[k + 1] = static_cast<unsigned>(-sumInts(larger[k]));
    // The classes are the ValueClass enumerators in order: zero, flushed, subnormal, normal, saturating, inf, nan.
    for (int k = 0; k < 6; ++k)
        totals.classes[k] += count[k] - count[k + 1];
    totals.classes[6] += count[6];
    totals.unscaledToInfinity += count[0] - count[5] - static_cast<unsigned>(-sumInts(summed)); // count[5]: inf and NaN
    if (const std::int32_t largestBits = maximumInt(largest); largestBits != 0) {
        const auto smallestBits =
            static_cast<std::uint32_t>(minimumInt(smallest)) - static_cast<std::uint32_t>(INT32_MAX);
        addExtremes(floatOfBits(static_cast<std::int32_t>(smallestBits)), floatOfBits(largestBits), totals);
    }
}

void measureChunks(const float* src, int chunks, float inverseScale, const ClassBounds& bounds, Sums& sums,
                   MeasureTotals& totals)
{
    if (!measureOrdinary(src, chunks, inverseScale, bounds, sums, totals))
        measureAny(src, chunks, inverseScale, bounds, sums, totals);
}

void measure(FormatId format, const float* src, void* dst, std::size_t n, float inverseScale, const ClassBounds& bounds,
             MeasureTotals& totals)
{
    const std::size_t elementBytes =
        withFormat(format, [](auto tag) { return sizeof(typename decltype(tag)::Element); });
    Sums sums;
    for (std::size_t i = 0; i < n; i += kBlock) {
        const std::size_t size = n - i < kBlock ? n - i : kBlock;
        const std::size_t chunks = size / kChunk;
        const std::size_t rest = size % kChunk;
        if (chunks > 0)
            measureChunks(src + i, static_cast<int>(chunks), inverseScale, bounds, sums, totals);
        if (rest > 0) {
            // Filled up with zeros, which change nothing but the count of zeros.
            float filled[kChunk] = {};
            __builtin_memcpy(filled, src + i + chunks * kChunk, rest * sizeof(float));
            measureChunks(filled, 1, inverseScale, bounds, sums, totals);
            totals.classes[static_cast<int>(ValueClass::Zero)] -= kChunk - rest;
        }
        if (dst != nullptr)
            castKernels.cast(format, src + i, static_cast<char*>(dst) + i * elementBytes, size);
    }
    totals.sum = sumLanes(sums.sum);
    totals.sumSquares = sumLanes(sums.squares);
}

} // namespace

const MeasureKernels measureKernels = {measure};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
