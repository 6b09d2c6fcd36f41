// SPDX-License-Identifier: GPL-3.0-or-later
// The measuring cast: one pass that rounds and stores, counts classes and exponents, and sums.
//
// Blocks of up to 2048 values are taken as "ordinary" first: no value saturates or is nonfinite, and unscaling keeps
// every nonzero value a normal, finite FP32 number. Then three comparisons and the extremes say all there is to say,
// and since the product with a positive factor preserves order, the extremes of the scaled values are enough. The
// extremes also tell afterwards whether the block was ordinary; if it was not, its counts and sums are thrown away and
// it is measured again without assumptions.
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

// Stores and measures `chunks` * 64 values. False: the block is not ordinary, and only what was stored counts.
template <class Tag, bool store>
bool measureOrdinary(const float* src, typename Tag::Element* dst, int chunks, float inverseScale,
                     const ClassBounds& bounds, Sums& sums, MeasureTotals& totals)
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
            if constexpr (store)
                Tag::Lanes::store(scaled, dst + c * kChunk + i * 16);
            kept = kept + asInt(magnitude > flushUpTo);
            normal = normal + asInt(magnitude > belowNormal);
            largest = maxSigned(largest, magnitude);
            smallest = minSigned(smallest, magnitude + I32x16::broadcast(INT32_MAX));
            fields[i] = bitsOf(value).template shiftLeft<1>().template shiftRight<24>();
        }
        packBytes(fields[0], fields[1], fields[2], fields[3], exponents + c * kChunk);
    }

    // Only now the sums: together with the counters they would not fit into the registers.
    const int count = chunks * kChunk;
    Sums local = sums;
    for (int i = 0; i < count; i += 16) {
        const F32x16 value = F32x16::load(src + i) * factor;
        local.sum.add(value);
        local.squares.addProduct(value, value);
    }

    const std::int32_t largestBits = maximumInt(largest);
    const bool ordinaryFactor = inverseScale > 0.0F && inverseScale <= 0x1.fffffep127F;
    if (!ordinaryFactor || largestBits >= bounds.saturatingFrom)
        return false;
    if (largestBits == 0) {
        totals.classes[static_cast<int>(ValueClass::Zero)] += static_cast<unsigned>(count);
        sums = local;
        return true;
    }
    const std::int32_t smallestBits = static_cast<std::int32_t>(static_cast<std::uint32_t>(minimumInt(smallest)) -
                                                                static_cast<std::uint32_t>(INT32_MAX));
    const float minimum = floatOfBits(smallestBits) * inverseScale;
    const float maximum = floatOfBits(largestBits) * inverseScale;
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
    sums = local;
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
    I32x16 largest = I32x16::zero();
    I32x16 smallest = I32x16::broadcast(INT32_MAX);
    std::uint32_t fields[256] = {};
    for (int i = 0; i < chunks * kChunk; i += 16) {
        const F32x16 scaled = F32x16::load(src + i);
        const I32x16 magnitude = bitsOf(scaled) & I32x16::broadcast(kAbs);
        for (int k = 0; k < 6; ++k)
            larger[k] = larger[k] + asInt(magnitude > I32x16::broadcast(above[k]));
        const F32x16 product = scaled * factor;
        const F32x16 value = select(isFinite(product), product, F32x16::zero());
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
    if (const std::int32_t largestBits = maximumInt(largest); largestBits != 0) {
        const auto smallestBits =
            static_cast<std::uint32_t>(minimumInt(smallest)) - static_cast<std::uint32_t>(INT32_MAX);
        addExtremes(floatOfBits(static_cast<std::int32_t>(smallestBits)), floatOfBits(largestBits), totals);
    }
}

template <class Tag, bool store>
void measureBlock(const float* src, typename Tag::Element* dst, int chunks, float inverseScale,
                  const ClassBounds& bounds, Sums& sums, MeasureTotals& totals)
{
    if constexpr (store && sizeof(typename Tag::Element) == sizeof(float)) {
        // In place, storing destroys what a second look would need.
        if (static_cast<const void*>(src) == static_cast<const void*>(dst)) {
            float copy[kBlock];
            __builtin_memcpy(copy, src, static_cast<std::size_t>(chunks) * kChunk * sizeof(float));
            measureBlock<Tag, store>(copy, dst, chunks, inverseScale, bounds, sums, totals);
            return;
        }
    }
    if (!measureOrdinary<Tag, store>(src, dst, chunks, inverseScale, bounds, sums, totals))
        measureAny(src, chunks, inverseScale, bounds, sums, totals);
}

template <class Tag, bool store>
void measureAll(const float* src, typename Tag::Element* dst, std::size_t n, float inverseScale,
                const ClassBounds& bounds, MeasureTotals& totals)
{
    using Element = typename Tag::Element;
    Sums sums;
    std::size_t i = 0;
    while (n - i >= kChunk) {
        const std::size_t chunks = (n - i < kBlock ? n - i : kBlock) / kChunk;
        measureBlock<Tag, store>(src + i, store ? dst + i : nullptr, static_cast<int>(chunks), inverseScale, bounds,
                                 sums, totals);
        i += chunks * kChunk;
    }
    if (i < n) {
        // Filled up with zeros, which change nothing but the count of zeros.
        float from[kChunk] = {};
        Element to[kChunk];
        __builtin_memcpy(from, src + i, (n - i) * sizeof(float));
        measureBlock<Tag, store>(from, to, 1, inverseScale, bounds, sums, totals);
        totals.classes[static_cast<int>(ValueClass::Zero)] -= kChunk - (n - i);
        if constexpr (store)
            __builtin_memcpy(dst + i, to, (n - i) * sizeof(Element));
    }
    totals.sum = sumLanes(sums.sum);
    totals.sumSquares = sumLanes(sums.squares);
}

void measure(FormatId format, const float* src, void* dst, std::size_t n, float inverseScale, const ClassBounds& bounds,
             MeasureTotals& totals)
{
    if (dst == nullptr) {
        measureAll<FormatTag<FormatId::Fp32>, false>(src, nullptr, n, inverseScale, bounds, totals);
        return;
    }
    withFormat(format, [&](auto tag) {
        using Tag = decltype(tag);
        measureAll<Tag, true>(src, static_cast<typename Tag::Element*>(dst), n, inverseScale, bounds, totals);
    });
}

} // namespace

const MeasureKernels measureKernels = {measure};

} // namespace halfscope::HALFSCOPE_SIMD_NAMESPACE
