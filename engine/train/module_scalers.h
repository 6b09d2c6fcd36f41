// SPDX-License-Identifier: GPL-3.0-or-later
// A loss scale for each module that can have one (scale-per-module): the rule of the run's scaler, once a module.
#pragma once

#include <span>
#include <vector>

#include "engine/amp/loss_scaler.h"
#include "engine/model/transformer.h"

namespace halfscope {

class ModuleScalers {
public:
    bool active() const { return !m_scalers.empty(); }
    // All begin at `scale`, rounded down to a power of two: what moves between modules is then exact.
    void start(const ScalerConfig& config, std::size_t modules, double scale);
    void stop();
    void reconfigure(const ScalerConfig& config);
    void setScale(double scale); // all of them

    // By module, as Transformer::StepOptions wants them; empty when not active.
    std::span<const float> scales() const { return m_scales; }
    // After a step. Without found_inf every module had a clean step. Otherwise the step was skipped: those whose own
    // tensors saturated back off, the others were not judged. Whether some module, or else the run's scale, was to
    // blame: false means that nothing with a scale of its own saturated.
    bool update(const Transformer& model, bool foundInf);

private:
    void refresh();

    std::vector<LossScaler> m_scalers;
    std::vector<float> m_scales;
};

} // namespace halfscope
