// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/adamw_factors.h"

#include <cmath>

#include "engine/backend/backend.h"

namespace halfscope {

AdamWFactors adamWFactors(const AdamW& hyper, FormatId weights, FormatId moment1, FormatId moment2)
{
    const double rate = static_cast<double>(hyper.learningRate);
    AdamWFactors factors{};
    factors.gradientFactor = hyper.gradientFactor;
    factors.decay = static_cast<float>(1.0 - rate * static_cast<double>(hyper.weightDecay));
    factors.beta1 = static_cast<float>(hyper.beta1);
    factors.oneMinusBeta1 = static_cast<float>(1.0 - hyper.beta1);
    factors.beta2 = static_cast<float>(hyper.beta2);
    factors.oneMinusBeta2 = static_cast<float>(1.0 - hyper.beta2);
    factors.rootCorrection2 = static_cast<float>(std::sqrt(static_cast<double>(hyper.biasCorrection2)));
    factors.epsilon = hyper.epsilon;
    factors.stepSize = static_cast<float>(rate / static_cast<double>(hyper.biasCorrection1));
    factors.every = weights == moment1 && weights == moment2 ? weights : FormatId::Fp32;
    return factors;
}

} // namespace halfscope
