// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cpu/scratch.h"

namespace halfscope::cpu {

void attentionForward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                      Tensor& probabilities, CastProbe* probe);
void attentionBackward(Context& context, const AttentionShape& shape, FormatId format, const Tensor& dOut,
                       const Tensor& qkv, const Tensor& probabilities, Tensor& dQkv, CastProbe* probe);

} // namespace halfscope::cpu
