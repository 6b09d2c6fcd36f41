// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/packed_row.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/train/histogram_history.h"

namespace halfscope {

void PackedRow::Writer::number(std::uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m_tap[m_length++] = static_cast<std::uint8_t>(value | 0x80);
    m_tap[m_length++] = static_cast<std::uint8_t>(value);
}

template <typename T>
void PackedRow::Writer::raw(T value)
{
    std::memcpy(m_tap.data() + m_length, &value, sizeof(value));
    m_length += sizeof(value);
}

void PackedRow::Writer::header(FormatId format, float ownScale, const ClassCounts& classes, float absMin, float absMax,
                               double sum, double sumSquares, std::uint64_t unscaledToInfinity)
{
    m_length = 0;
    m_tap[m_length++] = static_cast<std::uint8_t>(format);
    raw(ownScale);
    for (const std::uint64_t count : classes.of)
        number(count);
    raw(absMin);
    raw(absMax);
    raw(sum);
    raw(sumSquares);
    number(unscaledToInfinity);
}

void PackedRow::Writer::close()
{
    std::size_t length = m_length;
    for (; length >= 0x80; length >>= 7)
        m_bytes.push_back(static_cast<std::uint8_t>(length | 0x80));
    m_bytes.push_back(static_cast<std::uint8_t>(length));
    m_bytes.insert(m_bytes.end(), m_tap.begin(), m_tap.begin() + static_cast<std::ptrdiff_t>(m_length));
}

void PackedRow::Writer::add(const SparseHistogram& tap)
{
    if (tap.classes.total() == 0) {
        addEmpty();
        return;
    }
    header(tap.format, tap.ownScale, tap.classes, tap.absMin, tap.absMax, tap.sum, tap.sumSquares,
           tap.unscaledToInfinity);
    number(static_cast<std::uint64_t>(tap.firstExponent - ExponentHistogram::kMinExponent));
    number(tap.counts.size());
    for (const std::uint64_t count : tap.counts)
        number(count);
    close();
}

void PackedRow::Writer::add(const TapStatistics& tap)
{
    const TensorStatistics& s = tap.statistics;
    if (s.count() == 0) {
        addEmpty();
        return;
    }
    header(tap.format, tap.ownScale, s.classes, s.absMin, s.absMax, s.sum, s.sumSquares, s.unscaledToInfinity);
    const OccupiedBins bins = occupiedBins(s.histogram);
    number(static_cast<std::uint64_t>(bins.firstExponent - ExponentHistogram::kMinExponent));
    number(bins.counts.size());
    for (const std::uint64_t count : bins.counts)
        number(count);
    close();
}

void PackedRow::Writer::addEmpty() { m_bytes.push_back(0); }

PackedRow PackedRow::Writer::take()
{
    m_bytes.shrink_to_fit();
    PackedRow row;
    row.m_bytes = std::make_shared<const std::vector<std::uint8_t>>(std::exchange(m_bytes, {}));
    return row;
}

std::uint64_t PackedRow::Reader::number()
{
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const std::uint8_t byte = *m_at++;
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80)
            return value;
    }
}

template <typename T>
T PackedRow::Reader::raw()
{
    T value;
    std::memcpy(&value, m_at, sizeof(value));
    m_at += sizeof(value);
    return value;
}

void PackedRow::Reader::skip()
{
    const std::uint64_t length = number();
    m_at += length;
}

// The fields of Writer::header() in a SparseHistogram, whose counts are left alone.
template <typename Into>
void PackedRow::Reader::header(Into into)
{
    into.format = static_cast<FormatId>(*m_at++);
    into.ownScale = raw<float>();
    for (std::uint64_t& count : into.classes.of)
        count = number();
    into.absMin = raw<float>();
    into.absMax = raw<float>();
    into.sum = raw<double>();
    into.sumSquares = raw<double>();
    into.unscaledToInfinity = number();
}

namespace {

struct Header {
    FormatId& format;
    float& ownScale;
    ClassCounts& classes;
    float& absMin;
    float& absMax;
    double& sum;
    double& sumSquares;
    std::uint64_t& unscaledToInfinity;
};

} // namespace

OccupiedBins occupiedBins(const ExponentHistogram& histogram)
{
    const auto occupied = [](std::uint64_t n) { return n != 0; };
    const auto first = std::ranges::find_if(histogram.bins, occupied);
    if (first == histogram.bins.end())
        return {};
    const auto last = std::find_if(histogram.bins.rbegin(), histogram.bins.rend(), occupied).base();
    return {ExponentHistogram::kMinExponent + static_cast<int>(first - histogram.bins.begin()), {first, last}};
}

void PackedRow::Reader::read(SparseHistogram& into)
{
    if (number() == 0) {
        into = {};
        return;
    }
    header(Header{into.format, into.ownScale, into.classes, into.absMin, into.absMax, into.sum, into.sumSquares,
                  into.unscaledToInfinity});
    into.firstExponent = static_cast<std::int16_t>(static_cast<int>(number()) + ExponentHistogram::kMinExponent);
    into.counts.resize(number());
    for (std::uint64_t& count : into.counts)
        count = number();
}

bool PackedRow::Reader::addTo(HistogramSum& sum, std::optional<FormatId> only)
{
    const std::uint64_t length = number();
    if (length == 0)
        return false;
    if (only && static_cast<FormatId>(*m_at) != *only) {
        m_at += length;
        return false;
    }
    ClassCounts classes;
    float absMin = 0.0F;
    float absMax = 0.0F;
    double total = 0.0;
    double squares = 0.0;
    std::uint64_t toInfinity = 0;
    header(Header{sum.m_format, sum.m_ownScale, classes, absMin, absMax, total, squares, toInfinity});
    if (!sum.m_any) { // taken, not added: -0.0 stays -0.0
        sum.m_any = true;
        sum.m_classes = classes;
        sum.m_absMin = absMin;
        sum.m_absMax = absMax;
        sum.m_sum = total;
        sum.m_sumSquares = squares;
    } else {
        for (std::size_t i = 0; i < classes.of.size(); ++i)
            sum.m_classes.of[i] += classes.of[i];
        if (absMax > 0.0F) { // 0: no nonzero finite value
            sum.m_absMin = sum.m_absMax > 0.0F ? std::min(sum.m_absMin, absMin) : absMin;
            sum.m_absMax = std::max(sum.m_absMax, absMax);
        }
        sum.m_sum += total;
        sum.m_sumSquares += squares;
    }
    sum.m_unscaledToInfinity += toInfinity;
    const auto first = static_cast<int>(number());
    const auto count = static_cast<int>(number());
    for (int i = 0; i < count; ++i)
        sum.m_bins[static_cast<std::size_t>(first + i)] += number();
    if (count > 0) {
        sum.m_low = std::min(sum.m_low, first);
        sum.m_high = std::max(sum.m_high, first + count - 1);
    }
    return true;
}

SparseHistogram HistogramSum::result() const
{
    SparseHistogram h;
    if (m_low <= m_high) {
        h.firstExponent = static_cast<std::int16_t>(m_low + ExponentHistogram::kMinExponent);
        h.counts.assign(m_bins.begin() + m_low, m_bins.begin() + m_high + 1);
    }
    h.classes = m_classes;
    h.absMin = m_absMin;
    h.absMax = m_absMax;
    h.sum = m_sum;
    h.sumSquares = m_sumSquares;
    h.unscaledToInfinity = m_unscaledToInfinity;
    h.format = m_format;
    h.ownScale = m_ownScale;
    return h;
}

} // namespace halfscope
