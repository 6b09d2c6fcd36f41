// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/step_history.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <stdexcept>
#include <type_traits>

namespace halfscope {

namespace {

// Every field, once. `visit(record.field)` for each in a fixed order; the first is the step.
template <typename Record, typename Visit>
void eachField(Record& r, Visit visit)
{
    visit(r.step);
    visit(r.outcome);
    visit(r.scaleEvent);
    visit(r.foundInf);
    visit(r.overflowModule);
    visit(r.overflowTap);
    visit(r.forwardSaturatedModule);
    visit(r.lostWeightsModule);
    visit(r.loss);
    visit(r.scale);
    visit(r.scaleNext);
    visit(r.growthTracker);
    visit(r.hysteresisLeft);
    visit(r.gradNorm);
    visit(r.learningRate);
    visit(r.appliedSteps);
    visit(r.skippedSteps);
    visit(r.accuracy);
    visit(r.validationLoss);
    visit(r.validationAccuracy);
    visit(r.gradAbsMin);
    visit(r.gradAbsMax);
    visit(r.gradLowQuantile);
    visit(r.bandFormat);
    visit(r.bandAbsMin);
    visit(r.bandAbsMax);
    visit(r.bandLowQuantile);
    visit(r.shadowLoss);
    visit(r.stepMs);
    visit(r.forwardMs);
    visit(r.backwardMs);
    visit(r.optimizerMs);
    visit(r.statisticsMs);
    visit(r.shadowMs);
}

constexpr std::size_t kColumns = 34;
static_assert(sizeof(StepRecord) == 176, "A field of StepRecord was added or taken away: eachField() has to follow.");

template <typename T>
std::uint64_t toBits(T value)
{
    if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<std::uint64_t>(value);
    else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<std::uint32_t>(value);
    else // integers, flags and enumerations
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

template <typename T>
T fromBits(std::uint64_t bits)
{
    if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<double>(bits);
    else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    else
        return static_cast<T>(static_cast<std::int64_t>(bits));
}

// Whether a double's bits come back from a float's.
bool isFloat(std::uint64_t bits)
{
    const auto value = std::bit_cast<double>(bits);
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value))) == bits;
}

} // namespace

StepChunk::StepChunk(const std::vector<StepRecord>& records) : m_size(records.size())
{
    std::vector<std::vector<std::uint64_t>> values(kColumns);
    std::vector<bool> doubles(kColumns);
    for (auto& column : values)
        column.reserve(records.size());
    for (const StepRecord& record : records) {
        std::size_t column = 0;
        eachField(record, [&](const auto& field) {
            doubles[column] = std::is_same_v<std::remove_cvref_t<decltype(field)>, double>;
            values[column++].push_back(toBits(field));
        });
    }
    m_columns.resize(kColumns);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kColumns; ++i) {
        Column& column = m_columns[i];
        std::vector<std::uint64_t>& of = values[i];
        if (of.empty())
            continue;
        column.narrowed = doubles[i] && std::ranges::all_of(of, isFloat);
        if (column.narrowed) {
            for (std::uint64_t& v : of)
                v = toBits(static_cast<float>(std::bit_cast<double>(v)));
        }
        column.base = *std::ranges::min_element(of);
        std::uint64_t used = 0;
        for (std::uint64_t& v : of)
            used |= v -= column.base;
        column.shift = used == 0 ? 0 : static_cast<std::uint8_t>(std::countr_zero(used));
        column.width = static_cast<std::uint8_t>(std::bit_width(used >> column.shift));
        column.bitOffset = static_cast<std::uint32_t>(bits);
        bits += std::uint64_t{column.width} * of.size();
    }
    m_words.assign(bits / 64 + 2, 0); // one beyond, so that a value can be read across a border
    for (std::size_t i = 0; i < kColumns; ++i) {
        const Column& column = m_columns[i];
        std::uint64_t at = column.bitOffset;
        for (std::size_t row = 0; column.width > 0 && row < values[i].size(); ++row, at += column.width) {
            const std::uint64_t v = values[i][row] >> column.shift;
            m_words[at / 64] |= v << (at % 64);
            if (at % 64 != 0)
                m_words[at / 64 + 1] |= v >> (64 - at % 64);
        }
    }
}

std::uint64_t StepChunk::bitsOf(const Column& column, std::size_t index) const
{
    if (column.width == 0)
        return column.base;
    const std::uint64_t at = column.bitOffset + std::uint64_t{column.width} * index;
    std::uint64_t v = m_words[at / 64] >> (at % 64);
    if (at % 64 != 0)
        v |= m_words[at / 64 + 1] << (64 - at % 64);
    if (column.width < 64)
        v &= (std::uint64_t{1} << column.width) - 1;
    return column.base + (v << column.shift);
}

StepRecord StepChunk::at(std::size_t index) const
{
    StepRecord record;
    const Column* column = m_columns.data();
    eachField(record, [&](auto& field) {
        using Field = std::remove_cvref_t<decltype(field)>;
        const std::uint64_t bits = bitsOf(*column, index);
        if (column->narrowed)
            field = static_cast<Field>(fromBits<float>(bits));
        else
            field = fromBits<Field>(bits);
        ++column;
    });
    return record;
}

std::int64_t StepChunk::stepAt(std::size_t index) const
{
    return fromBits<std::int64_t>(bitsOf(m_columns.front(), index));
}

std::size_t StepChunk::bytes() const
{
    return sizeof(*this) + m_columns.capacity() * sizeof(Column) + m_words.capacity() * sizeof(std::uint64_t);
}

namespace {

// Whether thinning may not take this one away.
bool matters(const StepRecord& r)
{
    return r.outcome != StepOutcome::Applied || r.scaleEvent != ScaleEvent::None || r.scaleNext != r.scale ||
           std::isfinite(r.validationLoss) || std::isfinite(r.validationAccuracy);
}

std::shared_ptr<const StepChunk> thinned(const StepChunk& whole, std::size_t group)
{
    std::vector<StepRecord> kept;
    std::vector<StepRecord> members;
    const auto close = [&] {
        if (members.empty())
            return;
        std::set<std::size_t> chosen{members.size() - 1};
        // The first with the least of what `of` says; NaN for those that do not take part.
        const auto least = [&](auto of) {
            std::size_t best = members.size();
            for (std::size_t i = 0; i < members.size(); ++i) {
                const double value = of(members[i]);
                if (std::isfinite(value) && (best == members.size() || value < of(members[best])))
                    best = i;
            }
            if (best < members.size())
                chosen.insert(best);
        };
        const auto measured = [](float value) { return value > 0 ? static_cast<double>(value) : std::nan(""); };
        least([](const StepRecord& r) { return r.loss; });
        least([](const StepRecord& r) { return -r.loss; });
        least([&](const StepRecord& r) { return measured(r.gradAbsMin); });
        least([&](const StepRecord& r) { return -measured(r.gradAbsMax); });
        least([&](const StepRecord& r) { return measured(r.bandAbsMin); });
        least([&](const StepRecord& r) { return -measured(r.bandAbsMax); });
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (matters(members[i]))
                chosen.insert(i);
        }
        for (const std::size_t i : chosen)
            kept.push_back(members[i]);
        members.clear();
    };
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const StepRecord record = whole.at(i);
        const auto number = static_cast<std::size_t>(record.step - 1) / group;
        if (!members.empty() && static_cast<std::size_t>(members.front().step - 1) / group != number)
            close();
        members.push_back(record);
    }
    close();
    return std::make_shared<const StepChunk>(kept);
}

} // namespace

void StepHistory::push_back(const StepRecord& record)
{
    if (record.step != static_cast<std::int64_t>(size()) + 1)
        throw std::invalid_argument("Steps must be recorded one after the other.");
    m_tail.push_back(record);
    if (m_tail.size() < kChunk)
        return;
    m_chunks.push_back(std::make_shared<const StepChunk>(m_tail));
    m_tail.clear();
    for (; (m_chunks.size() - m_thinned) * kChunk > kWholeSteps; ++m_thinned)
        m_chunks[m_thinned] = thinned(*m_chunks[m_thinned], kGroup);
    for (; (m_chunks.size() - m_thinnedAgain) * kChunk > kThinSteps; ++m_thinnedAgain)
        m_chunks[m_thinnedAgain] = thinned(*m_chunks[m_thinnedAgain], kOldGroup);
}

void StepHistory::append(const std::vector<StepRecord>& records)
{
    for (const StepRecord& record : records)
        push_back(record);
}

void StepHistory::clear()
{
    m_chunks.clear();
    m_tail.clear();
    m_thinned = m_thinnedAgain = 0;
}

namespace {

// The first of a chunk's records at `step` or later.
std::size_t firstFrom(const StepChunk& chunk, std::int64_t step)
{
    std::size_t low = 0;
    std::size_t high = chunk.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (chunk.stepAt(middle) < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

} // namespace

StepRecord StepHistory::operator[](std::size_t index) const
{
    const std::size_t chunk = index / kChunk;
    if (chunk >= m_chunks.size())
        return m_tail.at(index - m_chunks.size() * kChunk);
    const StepChunk& in = *m_chunks[chunk];
    if (chunk >= m_thinned)
        return in.at(index % kChunk);
    const std::size_t after = firstFrom(in, static_cast<std::int64_t>(index) + 2);
    return in.at(after == 0 ? 0 : after - 1);
}

StepRecord StepHistory::back() const { return (*this)[size() - 1]; }

StepHistory::Iterator StepHistory::from(std::int64_t step) const
{
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(step, 1)) - 1;
    if (index >= size())
        return end();
    const std::size_t chunk = index / kChunk;
    if (chunk >= m_chunks.size())
        return {this, m_chunks.size(), index - m_chunks.size() * kChunk};
    Iterator at(this, chunk, firstFrom(*m_chunks[chunk], step));
    if (at.m_index == m_chunks[chunk]->size()) // a chunk's last step is always kept, so this is for safety alone
        at = Iterator(this, chunk + 1, 0);
    return at;
}

StepRecord StepHistory::Iterator::operator*() const
{
    return m_chunk < m_of->m_chunks.size() ? m_of->m_chunks[m_chunk]->at(m_index) : m_of->m_tail[m_index];
}

StepHistory::Iterator& StepHistory::Iterator::operator++()
{
    ++m_index;
    if (m_chunk < m_of->m_chunks.size() && m_index == m_of->m_chunks[m_chunk]->size()) {
        ++m_chunk;
        m_index = 0;
    }
    return *this;
}

std::size_t StepHistory::bytes() const
{
    std::size_t total = sizeof(*this) + m_tail.capacity() * sizeof(StepRecord) +
                        m_chunks.capacity() * sizeof(std::shared_ptr<const StepChunk>);
    for (const auto& chunk : m_chunks)
        total += chunk->bytes();
    return total;
}

} // namespace halfscope
