// SPDX-License-Identifier: GPL-3.0-or-later
// The scale of one FP8 tensor by the delayed-scaling recipe of NVIDIA Transformer Engine (DelayedScaling with
// amax_compute_algo "max"; _default_sf_compute of its first releases): values are multiplied by a scale found from the
// largest magnitudes of past steps, before this step's are known. The scale is a power of two,
// 2^(floor(log2(largest / amax)) - margin), so that it costs no rounding; later releases drop the floor.
#pragma once

#include <vector>

#include "engine/numerics/float_format.h"

namespace halfscope {

struct Fp8Scaling {
    bool delayed = true; // false: every scale is 1, and what does not fit overflows as in a plain cast
    int history = 1024;  // steps; as the original's amax_history_len
    int margin = 0;      // octaves left free above the largest
    bool operator==(const Fp8Scaling&) const = default;
};

class DelayedScale {
public:
    float scale() const { return m_scale; } // of the current step; 1 in the first
    // The largest magnitude of the tensor in the current step; the larger one when there are several.
    void observe(float amax);
    // At the end of the step. One whose largest magnitude is 0, or that had none, changes nothing and is not entered,
    // as in the original (2026); a history whose maximum is not finite leaves the scale as it is.
    void advance(const Fp8Scaling& recipe, FormatId format);

private:
    float m_scale = 1.0F;
    float m_current = 0.0F;
    std::vector<float> m_history; // newest first
};

// 2^(floor(log2(largest / amax)) - margin), held within 2^-100 and 2^100. amax > 0, finite.
float fp8Scale(FormatId format, float amax, int margin);

} // namespace halfscope
