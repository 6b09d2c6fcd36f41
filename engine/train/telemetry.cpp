// SPDX-License-Identifier: GPL-3.0-or-later
// The words that files and the command line use for what a run tells.
#include "engine/train/telemetry.h"

namespace halfscope {

std::string_view outcomeKey(StepOutcome o)
{
    switch (o) {
    case StepOutcome::Applied:
        return "applied";
    case StepOutcome::SkippedOverflow:
        return "skipped-overflow";
    case StepOutcome::SkippedNonfiniteLoss:
        return "skipped-nonfinite-loss";
    }
    return "";
}

std::string_view tapKey(Tap t)
{
    switch (t) {
    case Tap::WeightGrad:
        return "weight_grad";
    case Tap::ActivationGrad:
        return "activation_grad";
    case Tap::Activation:
        return "activation";
    }
    return "";
}

std::string_view eventKindKey(EventKind k)
{
    switch (k) {
    case EventKind::Start:
        return "start";
    case EventKind::Command:
        return "command";
    case EventKind::Rejected:
        return "rejected";
    case EventKind::Overflow:
        return "overflow";
    case EventKind::NonfiniteLoss:
        return "nonfinite-loss";
    case EventKind::Growth:
        return "growth";
    case EventKind::GrowthCapped:
        return "growth-capped";
    case EventKind::Scheduled:
        return "scheduled";
    case EventKind::AtMinimum:
        return "at-minimum";
    case EventKind::Steered:
        return "steered";
    case EventKind::TooManyOverflows:
        return "too-many-overflows";
    case EventKind::UnusableScale:
        return "unusable-scale";
    case EventKind::WeightsLost:
        return "weights-lost";
    case EventKind::ForwardSaturated:
        return "forward-saturated";
    case EventKind::Injected:
        return "injected";
    case EventKind::Epoch:
        return "epoch";
    case EventKind::HeadSwapped:
        return "head-swapped";
    case EventKind::Paused:
        return "paused";
    case EventKind::Finished:
        return "finished";
    case EventKind::Failed:
        return "failed";
    case EventKind::Continued:
        return "continued";
    case EventKind::Note:
        return "note";
    }
    return "";
}

} // namespace halfscope
