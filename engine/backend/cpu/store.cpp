// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/backend/cpu/element_kernels.h"
#include "engine/numerics/cast.h"

namespace halfscope::cpu {

namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000U;

bool holdsFloats(FormatId format) { return format == FormatId::Fp32 || format == FormatId::Tf32; }

// The bits of the smallest finite magnitude that does not survive rounding into `format` as finite; the bits of
// infinity where every finite value does.
std::uint32_t overflowBits(FormatId format)
{
    if (format == FormatId::Fp32) {
        return kInfinityBits;
    }
    const double from = floatFormat(format).overflowFrom;
    if (!(from <= static_cast<double>(std::numeric_limits<float>::max()))) {
        return kInfinityBits;
    }
    auto value = static_cast<float>(from);
    if (static_cast<double>(value) < from) {
        value = std::nextafter(value, std::numeric_limits<float>::infinity());
    }
    return std::bit_cast<std::uint32_t>(value);
}

std::size_t bytesOf(FormatId format, std::int64_t n)
{
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(floatFormat(format).storageBytes);
}

} // namespace

const void* elementAddress(const Tensor& t, std::int64_t index)
{
    return static_cast<const std::byte*>(t.data()) + bytesOf(t.format(), index);
}

void* elementAddress(Tensor& t, std::int64_t index)
{
    return static_cast<std::byte*>(t.data()) + bytesOf(t.format(), index);
}

const float* readElements(const Tensor& t, std::int64_t first, std::int64_t n, float* temporary)
{
    if (holdsFloats(t.format())) {
        return t.as<float>() + first;
    }
    widenArray(t.format(), elementAddress(t, first), temporary, static_cast<std::size_t>(n));
    return temporary;
}

float* resultPlace(Tensor& t, std::int64_t first, float* temporary)
{
    return t.format() == FormatId::Fp32 ? t.as<float>() + first : temporary;
}

bool anyNonfinite(const float* x, std::int64_t n)
{
    return (elementKernels().castFlags(x, static_cast<std::size_t>(n), kInfinityBits) & kFlagNonfinite) != 0;
}

void Sink::write(float* values, void* to, std::int64_t n)
{
    if (to == nullptr || (to == values && m_format == FormatId::Fp32)) {
        return;
    }
    if (m_probe != nullptr && m_probe->clamp) {
        elementKernels().clamp(values, static_cast<std::size_t>(n), static_cast<float>(floatFormat(m_format).largest));
    }
    castArray(m_format, values, to, static_cast<std::size_t>(n));
}

void Sink::count(float* values, void* to, std::int64_t n)
{
    const auto size = static_cast<std::size_t>(n);
    if (m_probe == nullptr) {
        write(values, to, n);
        return;
    }
    if (m_probe->factor != 1.0F) {
        elementKernels().scale(values, size, m_probe->factor);
    }
    const FormatId counted = m_probe->countedAs.value_or(m_format);
    const bool asStored = counted == m_format && !m_probe->clamp;
    if (m_probe->measure) {
        castAndMeasure(counted, values, asStored ? to : nullptr, size, m_probe->inverseScale, m_slot->statistics);
        if (!asStored) {
            write(values, to, n);
        }
        return;
    }
    const unsigned flags = elementKernels().castFlags(values, size, overflowBits(counted));
    m_slot->saturated |= (flags & kFlagSaturated) != 0 && !m_probe->clamp;
    m_slot->nonfinite |= (flags & kFlagNonfinite) != 0;
    write(values, to, n);
}

void Sink::store(float* values, void* to, std::int64_t n) { count(values, to, n); }

void Sink::storeBlock(float* values, std::int64_t valuesStride, std::int64_t rows, std::int64_t cols, void* to,
                      std::int64_t stride, void* packed)
{
    const auto lineOf = [&](std::int64_t row) { return static_cast<std::byte*>(to) + bytesOf(m_format, row * stride); };
    if (m_probe == nullptr || !m_probe->measure) {
        if (cols == stride && cols == valuesStride) {
            count(values, to, rows * cols);
            return;
        }
        for (std::int64_t row = 0; row < rows; ++row) {
            count(values + row * valuesStride, lineOf(row), cols);
        }
        return;
    }
    if (cols != valuesStride) {
        for (std::int64_t row = 1; row < rows; ++row) {
            std::copy_n(values + row * valuesStride, cols, values + row * cols);
        }
    }
    if (cols == stride) {
        count(values, to, rows * cols);
        return;
    }
    if (m_format == FormatId::Fp32) {
        count(values, nullptr, rows * cols);
        packed = values;
    } else {
        count(values, packed, rows * cols);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        std::memcpy(lineOf(row), static_cast<const std::byte*>(packed) + bytesOf(m_format, row * cols),
                    bytesOf(m_format, cols));
    }
}

bool Sink::roundInPlace(FormatId format, float* x, std::int64_t n, void* packed)
{
    if (format == FormatId::Fp32) {
        return false;
    }
    const auto size = static_cast<std::size_t>(n);
    const bool saturated = (elementKernels().castFlags(x, size, overflowBits(format)) & kFlagSaturated) != 0;
    castArray(format, x, packed, size);
    widenArray(format, packed, x, size);
    return saturated;
}

ProbeSlots::ProbeSlots(std::vector<ProbeSlot>& slots, CastProbe* probe, std::int64_t count)
    : m_slots(slots), m_probe(probe), m_count(count)
{
    if (probe != nullptr && m_slots.size() < static_cast<std::size_t>(count)) {
        m_slots.resize(static_cast<std::size_t>(count));
    }
}

Sink ProbeSlots::sink(FormatId format, std::int64_t index)
{
    if (m_probe == nullptr) {
        return {format, nullptr, nullptr};
    }
    ProbeSlot& slot = m_slots[static_cast<std::size_t>(index)];
    slot.saturated = slot.nonfinite = false;
    if (m_probe->measure) {
        slot.statistics.reset();
    }
    return {format, m_probe, &slot};
}

void ProbeSlots::finish()
{
    if (m_probe == nullptr) {
        return;
    }
    for (std::int64_t i = 0; i < m_count; ++i) {
        const ProbeSlot& slot = m_slots[static_cast<std::size_t>(i)];
        m_probe->saturated |= slot.saturated;
        m_probe->nonfinite |= slot.nonfinite;
        if (m_probe->measure) {
            m_probe->statistics.merge(slot.statistics);
            m_probe->saturated |= slot.statistics.saturated() && !m_probe->clamp;
            m_probe->nonfinite |= slot.statistics.nonfinite();
        }
    }
}

} // namespace halfscope::cpu
