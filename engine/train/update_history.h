// SPDX-License-Identifier: GPL-3.0-or-later
// The past of what updates did to the weights, in bounded memory, kept as HistogramHistory keeps the gradients: the
// latest rows whole, older ones merged 4:1 by exact addition. There is nothing in it, and it takes no memory, as long
// as updates are not measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/train/telemetry.h"

namespace halfscope {

// ModuleUpdates with the occupied exponents only.
struct SparseUpdates {
    std::int16_t module = 0;
    std::int16_t firstExponent = 0;
    FormatId format = FormatId::Fp32; // of the latest step merged into it
    std::uint64_t weights = 0;
    std::uint64_t unchanged = 0;
    std::uint64_t fromZero = 0;
    std::uint64_t nonfinite = 0;
    std::uint64_t lost = 0;
    std::vector<std::uint64_t> ratios; // from firstExponent on

    static SparseUpdates from(const ModuleUpdates& updates);
    ModuleUpdates expand() const;
};

struct UpdateRow {
    std::int64_t firstStep = 0;
    std::int64_t lastStep = 0;
    std::int64_t measuredSteps = 0;
    std::vector<SparseUpdates> modules; // forward order
};

class UpdateHistory {
public:
    void append(const Snapshot& snapshot); // nothing, where it has no updates; in the order of their steps
    void clear();

    std::size_t rowCount() const;
    const UpdateRow& row(std::size_t index) const; // 0 is the oldest
    std::size_t bytes() const;

private:
    std::vector<std::deque<UpdateRow>> m_levels; // [0] is the newest, whole rows
};

} // namespace halfscope
