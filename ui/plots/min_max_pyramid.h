// SPDX-License-Identifier: GPL-3.0-or-later
// Least and greatest value of any stretch of a growing series in logarithmic time: what makes a million steps drawable
// in a frame without dropping a peak.
#pragma once

#include <cstddef>
#include <vector>

namespace halfscope {

class MinMaxPyramid {
public:
    struct Extent {
        float min = 0.0F;
        float max = 0.0F;
        bool valid = false; // false: no finite value in the stretch
        void include(float value);
        void include(const Extent& other);
    };

    void clear();
    void append(float value); // anything not finite is a gap
    std::size_t size() const { return m_values.size(); }
    float value(std::size_t index) const { return m_values[index]; }
    Extent extent(std::size_t begin, std::size_t end) const; // [begin, end)

private:
    static constexpr std::size_t kFan = 16;
    std::vector<float> m_values;
    std::vector<std::vector<Extent>> m_levels; // m_levels[k][i] covers kFan^(k+1) values from i * kFan^(k+1)
};

} // namespace halfscope
