// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/run_config.h"

namespace halfscope {

RunConfig defaultExperiment()
{
    RunConfig config; // the model and optimizer of run_config.h and transformer_config.h
    // From scale 1 part of the activations' gradients is flushed to zero; growing every 20 steps the window slides over
    // the whole distribution and meets the first overflow some 20 octaves, 400 steps, later.
    config.scaler.initialScale = 1.0;
    config.scaler.growthInterval = 20;
    return config;
}

} // namespace halfscope
