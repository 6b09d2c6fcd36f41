// SPDX-License-Identifier: GPL-3.0-or-later
// The records of a run's steps in little memory: the latest 2^20 steps whole and exact to the bit, older ones thinned.
// Of 64 old steps (of 1024, once they are 2^24 steps back) those are kept, exactly, that had the least and greatest
// loss and gradient, the last one, and every step that was skipped, moved the scale or was followed by a look at the
// held-out examples. Nothing is averaged. About 45 bytes a whole step; a copy costs next to nothing, for it shares.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "engine/train/telemetry.h"

namespace halfscope {

// Up to 1024 records, column by column, each in as few bits as its values need. Immutable.
class StepChunk {
public:
    explicit StepChunk(const std::vector<StepRecord>& records);
    std::size_t size() const { return m_size; }
    StepRecord at(std::size_t index) const;
    std::int64_t stepAt(std::size_t index) const;
    std::size_t bytes() const;

private:
    struct Column {
        std::uint64_t base = 0; // value = base + (bits << shift)
        std::uint32_t bitOffset = 0;
        std::uint8_t width = 0;
        std::uint8_t shift = 0;
        bool narrowed = false; // a double that is a float in every row
    };
    std::uint64_t bitsOf(const Column& column, std::size_t index) const;

    std::size_t m_size = 0;
    std::vector<Column> m_columns;
    std::vector<std::uint64_t> m_words;
};

class StepHistory {
public:
    static constexpr std::size_t kChunk = 1024;
    static constexpr std::size_t kWholeSteps = std::size_t{1} << 20;
    static constexpr std::size_t kThinSteps = std::size_t{1} << 24; // older ones are thinned again
    static constexpr std::size_t kGroup = 64;
    static constexpr std::size_t kOldGroup = 1024;

    // The step of a record must be the number of records pushed, itself included; std::invalid_argument otherwise.
    void push_back(const StepRecord& record);
    void append(const std::vector<StepRecord>& records);
    void clear();

    std::size_t size() const { return m_chunks.size() * kChunk + m_tail.size(); } // steps, kept or not
    bool empty() const { return size() == 0; }
    // Of step index + 1 or, where that one was thinned away, of the last kept step before it (or, before the first kept
    // one of its thousand, of that). Its `step` says which. std::out_of_range beyond the end.
    StepRecord operator[](std::size_t index) const;
    StepRecord back() const;
    // Steps from here on (as indices) are all kept.
    std::size_t firstWhole() const { return m_thinned * kChunk; }

    // All kept records in their order.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = StepRecord;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = StepRecord;
        Iterator() = default;
        StepRecord operator*() const;
        Iterator& operator++();
        void operator++(int) { ++*this; }
        bool operator==(const Iterator& other) const { return m_chunk == other.m_chunk && m_index == other.m_index; }

    private:
        friend class StepHistory;
        Iterator(const StepHistory* of, std::size_t chunk, std::size_t index) : m_of(of), m_chunk(chunk), m_index(index)
        {
        }
        const StepHistory* m_of = nullptr;
        std::size_t m_chunk = 0; // m_of->m_chunks.size(): the tail
        std::size_t m_index = 0;
    };
    Iterator begin() const { return {this, 0, 0}; }
    Iterator end() const { return {this, m_chunks.size(), m_tail.size()}; }
    Iterator from(std::int64_t step) const; // the first kept record of that step or a later one

    std::size_t bytes() const;

private:
    std::vector<std::shared_ptr<const StepChunk>> m_chunks; // kChunk steps each
    std::vector<StepRecord> m_tail;
    std::size_t m_thinned = 0; // chunks
    std::size_t m_thinnedAgain = 0;
};

} // namespace halfscope
