// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/min_max_pyramid.h"

#include <algorithm>
#include <cmath>

namespace halfscope {

void MinMaxPyramid::Extent::include(float value)
{
    if (!std::isfinite(value))
        return;
    min = valid ? std::min(min, value) : value;
    max = valid ? std::max(max, value) : value;
    valid = true;
}

void MinMaxPyramid::Extent::include(const Extent& other)
{
    if (!other.valid)
        return;
    include(other.min);
    include(other.max);
}

void MinMaxPyramid::clear()
{
    m_values.clear();
    m_levels.clear();
}

void MinMaxPyramid::append(float value)
{
    const std::size_t index = m_values.size();
    m_values.push_back(value);
    std::size_t span = kFan;
    for (std::size_t level = 0;; ++level, span *= kFan) {
        if (level == m_levels.size()) {
            if (index + 1 < span)
                break; // a level is opened when its first node is full; below that the finer one is as good
            Extent whole;
            if (level == 0) {
                for (const float v : m_values)
                    whole.include(v);
            } else {
                for (const Extent& node : m_levels[level - 1])
                    whole.include(node);
            }
            m_levels.push_back({whole});
            continue;
        }
        std::vector<Extent>& nodes = m_levels[level];
        const std::size_t node = index / span;
        if (node == nodes.size())
            nodes.emplace_back();
        nodes[node].include(value);
    }
}

MinMaxPyramid::Extent MinMaxPyramid::extent(std::size_t begin, std::size_t end) const
{
    Extent result;
    end = std::min(end, m_values.size());
    while (begin < end) {
        // The largest aligned node that starts here and ends inside.
        std::size_t level = 0;
        std::size_t span = 1;
        while (level < m_levels.size() && begin % (span * kFan) == 0 && begin + span * kFan <= end) {
            span *= kFan;
            ++level;
        }
        if (level == 0)
            result.include(m_values[begin]);
        else
            result.include(m_levels[level - 1][begin / span]);
        begin += span;
    }
    return result;
}

} // namespace halfscope
