// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/finding_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

#include "ui/models/setting_labels.h"
#include "ui/number_text.h"

namespace halfscope {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Finding", text); }

// "h0.mlp.fc, h1.mlp.fc and 3 more"
QString names(const std::vector<std::int16_t>& modules, const std::vector<ModuleInfo>& all, std::size_t shown = 3)
{
    QStringList list;
    const std::size_t count = modules.size() == shown + 1 ? modules.size() : std::min(modules.size(), shown);
    for (std::size_t i = 0; i < count; ++i) {
        const auto module = static_cast<std::size_t>(modules[i]);
        list << (module < all.size() ? QString::fromStdString(all[module].name) : tr("a module"));
    }
    const QString text = list.join(QStringLiteral(", "));
    return count < modules.size()
               ? tr("%1 and %2 more").arg(text, stepText(static_cast<qint64>(modules.size() - count)))
               : text;
}

QString percent(double share) { return shareText(share, 1.0); }

QString flushing(const Finding& f, const QString& where)
{
    QString text = f.modules.size() > 1
                       ? tr("Up to %1 of the %2 of %3 become zero at scale %4.")
                             .arg(percent(f.share), moduleTapLabel(f.tap), where, shortScaleText(f.scale))
                       : tr("%1 of the %2 of %3 become zero at scale %4.")
                             .arg(percent(f.share), moduleTapLabel(f.tap), where, shortScaleText(f.scale));
    text += QLatin1Char(' ');
    if (f.count > 0) {
        text += f.count == 1
                    ? tr("One of these is in FP32, but its gradient comes from the layer that reads its output.")
                    : tr("%1 of these are in FP32, but their gradients come from the layers that read their outputs.")
                          .arg(stepText(f.count));
        text += QLatin1Char(' ');
    }
    return text + (f.limit > 0 ? tr("They are smaller than the format can hold; a larger scale lifts them.")
                               : tr("They are smaller than the format can hold, and at a larger scale the largest "
                                    "gradients would overflow."));
}

QString streak(const Finding& f, const QString& where)
{
    const QString skips = stepText(f.count);
    if (f.atStart) {
        return tr("%1 steps skipped before the first was applied, scale %2 → %3. The initial scale is far too high; "
                  "the scaler is on its way down.")
            .arg(skips, shortScaleText(f.scaleFrom), shortScaleText(f.scale));
    }
    return (f.injected ? tr("%1 steps skipped in a row, scale %2 → %3, most recently by %4. The scale was raised above "
                            "what the gradients allow; the scaler is on its way down.")
                       : tr("%1 steps skipped in a row, scale %2 → %3, most recently by %4. The gradients have grown "
                            "suddenly, or the scale is far too high."))
        .arg(skips, shortScaleText(f.scaleFrom), shortScaleText(f.scale), where.isEmpty() ? tr("a tensor") : where);
}

QString lostWeights(const Finding& f, const QString& where)
{
    return tr("The weights of %1 are not finite, and nor is anything that is computed from them.").arg(where) +
           QLatin1Char(' ') +
           (f.value > 0 ? tr("Adam's epsilon of %1 is zero in the format of the moments: where a second moment is zero "
                             "too, the update was 0/0. Set another epsilon or keep FP32 masters, then restart.")
                              .arg(valueText(static_cast<float>(f.value)))
                        : tr("The updates were too large, or not finite. Only a restart brings them back."));
}

QString atFloor(const Finding& f, const QString& where)
{
    const QString who = where.isEmpty() ? tr("a tensor") : where;
    if (f.limit > 0) {
        return tr("The scale is at its smallest, %1, and %2 still overflows (skips in a row: %3). Lowering the scale "
                  "cannot help any more.")
            .arg(shortScaleText(f.limit), who, stepText(f.count));
    }
    return tr("The scale has fallen to %1 and %2 still overflows (skips in a row: %3). Even unscaled these gradients "
              "are too large for the format, or not finite to begin with.")
        .arg(shortScaleText(f.scale), who, stepText(f.count));
}

QString capped(const Finding& f)
{
    QString text = f.limit > 0 ? tr("The scale stays at %1, the largest allowed.").arg(shortScaleText(f.scale))
                               : tr("The scale stays at %1, the largest FP32 can hold.").arg(shortScaleText(f.scale));
    text += QLatin1Char(' ');
    if (std::isnan(f.value)) {
        return text + tr("No gradient is left to measure it by.");
    }
    return text + (f.value > 8 ? tr("The largest gradient is %1 octaves away from overflowing: that room is not used.")
                               : tr("The largest gradient is %1 octaves away from overflowing: nothing is lost by it."))
                      .arg(octavesText(f.value));
}

QString zeroGradients(const Finding& f, const QString& where)
{
    return (f.whole ? tr("All weight gradients are zero: nothing is learned.")
                    : tr("All weight gradients of %1 are zero.").arg(where)) +
           QLatin1Char(' ') +
           (f.share > 0 ? tr("They, or the gradients they come from, were not zero before they were rounded.")
                        : tr("They were zero before they were rounded: no gradient arrives there."));
}

QString forwardOverflow(const Finding& f, const QString& where)
{
    return (f.lossLost ? tr("%1 overflows in the forward pass and takes the loss with it (%2 of the last %3 steps).")
                       : tr("%1 overflows in the forward pass (%2 of the last %3 steps)."))
               .arg(where, stepText(f.count), stepText(f.of)) +
           QLatin1Char(' ') +
           tr("The loss scale multiplies gradients alone: no scale mends this, a wider format does.");
}

} // namespace

QString severityLabel(Severity severity)
{
    switch (severity) {
    case Severity::Note:
        return tr("Note");
    case Severity::Advice:
        return tr("Advice");
    case Severity::Warning:
        return tr("Warning");
    case Severity::Error:
        return tr("Error");
    }
    return {};
}

QString findingTitle(const Finding& f)
{
    switch (f.kind) {
    case FindingKind::WeightsLost:
        return tr("The weights are lost");
    case FindingKind::NonfiniteLoss:
        return tr("The loss is not finite");
    case FindingKind::ForwardOverflow:
        return tr("Overflow in the forward pass");
    case FindingKind::AtFloor:
        return f.limit > 0 ? tr("Overflow at the smallest scale") : tr("The scale collapses");
    case FindingKind::ZeroGradients:
        return tr("Gradients are all zero");
    case FindingKind::BackoffStreak:
        return f.atStart ? tr("The initial scale is too high") : tr("Skip after skip");
    case FindingKind::TensorOverflow:
        return tr("One tensor overflows again and again");
    case FindingKind::ZeroOutputs:
        return f.whole ? tr("The outputs are constant") : tr("Outputs are all zero");
    case FindingKind::UpdatesLost:
        return tr("Updates are lost");
    case FindingKind::EpsilonLost:
        return tr("Adam's epsilon is lost");
    case FindingKind::LossJump:
        return tr("The loss jumped");
    case FindingKind::Flushing:
        return tr("Gradients become zero");
    case FindingKind::ShadowDeviates:
        return tr("Gradients differ from FP32's");
    case FindingKind::IntervalUnreached:
        return tr("The scale never gets to grow");
    case FindingKind::ValidationFluctuates:
        return tr("Validation goes up and down");
    case FindingKind::GrowthCapped:
        return tr("The scale may not grow further");
    case FindingKind::ProbeOverflow:
        return tr("Skips that are normal");
    case FindingKind::ScalerUseless:
        return tr("The loss scale is of no use here");
    }
    return {};
}

QString findingSentences(const Finding& f, const std::vector<ModuleInfo>& modules)
{
    const QString where = names(f.modules, modules);
    switch (f.kind) {
    case FindingKind::WeightsLost:
        if (f.count == 0)
            return lostWeights(f, where);
        return tr("Gradients that were not finite were applied (steps: %1): the weights are no longer numbers. Only a "
                  "restart brings them back.")
            .arg(stepText(f.count));
    case FindingKind::NonfiniteLoss:
        return tr("In %1 of the last %2 steps, and nothing overflowed in the forward pass. The weights have diverged; "
                  "no loss scale mends that.")
            .arg(stepText(f.count), stepText(f.of));
    case FindingKind::ForwardOverflow:
        return forwardOverflow(f, where);
    case FindingKind::AtFloor:
        return atFloor(f, where);
    case FindingKind::ZeroGradients:
        return zeroGradients(f, where);
    case FindingKind::BackoffStreak:
        return streak(f, where);
    case FindingKind::TensorOverflow:
        return tr("The %1 of %2 caused %3 of the %4 skips in the last %5 steps. This one tensor keeps the scale of all "
                  "others down.")
            .arg(moduleTapLabel(f.tap), where, stepText(f.count), stepText(f.of), stepText(f.window));
    case FindingKind::ZeroOutputs:
        return f.whole ? tr("The loss is exactly that of equal outputs for every class.")
                       : tr("All outputs of %1 are zero: nothing behind depends on the input.").arg(where);
    case FindingKind::UpdatesLost:
        return tr("Up to %1 of the updates of %2 are too small to move their weight: it is kept in a format whose "
                  "steps are larger than the updates.")
            .arg(percent(f.share), where);
    case FindingKind::EpsilonLost:
        return tr("%1 is zero in the format of the moments, as is all up to %2: where a second moment is zero too, the "
                  "update is 0/0.")
            .arg(valueText(static_cast<float>(f.value)), shortScaleText(f.limit));
    case FindingKind::LossJump:
        return tr("From %1 to %2.").arg(roundedText(f.value, 4), roundedText(f.largest, 4)) + QLatin1Char(' ') +
               (f.injected ? tr("You injected it.")
                           : tr("The step before was too large, or the batch unlike the others; the loss scale is not "
                                "the cause."));
    case FindingKind::Flushing:
        return flushing(f, where);
    case FindingKind::ShadowDeviates:
        return tr("%1: cosine %2 and relative error %3 at worst, for the same batch and weights. Rounding changes "
                  "where "
                  "the step goes.")
            .arg(where, roundedText(f.value, 3), roundedText(f.share, 2));
    case FindingKind::IntervalUnreached:
        return tr("It has not grown for %1 steps: of the %2 clean steps in a row that this takes, the most were %3, "
                  "between %4 skips.")
            .arg(stepText(f.window), stepText(f.of), stepText(static_cast<qint64>(f.value)), stepText(f.count));
    case FindingKind::ValidationFluctuates:
        return tr("Its accuracy moved between %1 and %2, with %3 changes of direction in the last %4 looks. The "
                  "learning "
                  "rate is probably too high; precision is rarely the cause.")
            .arg(percent(f.value), percent(f.largest), stepText(f.count), stepText(f.of));
    case FindingKind::GrowthCapped:
        return capped(f);
    case FindingKind::ProbeOverflow:
        return tr("%1 of the last %2 steps, as growth went one step too far. This is how the scaler finds the limit: "
                  "about 1 in %3 is normal with these settings.")
            .arg(stepText(f.count), stepText(f.window), stepText(f.of));
    case FindingKind::ScalerUseless:
        return tr(
            "No module is in a format of a smaller range than FP32's; BF16 has the same. It does no harm either.");
    }
    return {};
}

QString findingSteps(const Finding& f)
{
    if (!f.ended) {
        return tr("since step %1").arg(stepText(f.firstStep));
    }
    return f.firstStep == f.lastStep ? tr("step %1").arg(stepText(f.firstStep))
                                     : tr("steps %1 to %2").arg(stepText(f.firstStep), stepText(f.lastStep));
}

QString remedyLabel(const Remedy& r, const std::vector<ModuleInfo>& modules)
{
    const QString where = names(r.modules, modules, 1);
    switch (r.kind) {
    case RemedyKind::SetScale:
        return tr("Scale to %1").arg(shortScaleText(r.value));
    case RemedyKind::HalveScale:
        return tr("Halve the scale");
    case RemedyKind::LiftMaxScale:
        return tr("No largest scale");
    case RemedyKind::CapScale:
        return tr("Largest scale %1").arg(shortScaleText(r.value));
    case RemedyKind::LowerMinScale:
        return tr("Smallest scale %1").arg(shortScaleText(r.value));
    case RemedyKind::GrowthInterval:
        return tr("Growth interval %1").arg(stepText(static_cast<qint64>(r.value)));
    case RemedyKind::ModulesToFp32:
        return tr("%1 in FP32").arg(where);
    case RemedyKind::ModulesToBf16:
        return tr("%1 in BF16").arg(where);
    case RemedyKind::SensitiveToFp32:
        return tr("Sensitive layers in FP32");
    case RemedyKind::AllFp32:
        return tr("Mixed precision off");
    case RemedyKind::AllBf16:
        return tr("Mixed BF16");
    case RemedyKind::ScalerOn:
        return tr("Dynamic loss scale");
    case RemedyKind::ScalerOff:
        return tr("Loss scale off");
    case RemedyKind::SkipNonfinite:
        return tr("Skip such steps");
    case RemedyKind::LearningRate:
        return tr("Learning rate %1").arg(valueText(static_cast<float>(r.value)));
    case RemedyKind::ClipNorm:
        return tr("Clip the norm at %1").arg(valueText(r.value));
    case RemedyKind::Epsilon:
        return tr("Epsilon %1").arg(valueText(static_cast<float>(r.value)));
    case RemedyKind::MasterWeights:
        return tr("FP32 master weights");
    case RemedyKind::MeasureActivations:
        return tr("Measure activations");
    case RemedyKind::Restart:
        return tr("Restart");
    }
    return {};
}

QString remedyHint(const Remedy& r)
{
    QStringList lines;
    for (const Command& command : r.commands) {
        if (const auto* set = std::get_if<SetSetting>(&command)) {
            const QString key = QString::fromStdString(set->key);
            lines << tr("%1: %2").arg(settingLabel(key), settingValueText(key, set->value));
        } else if (const auto* scale = std::get_if<SetScale>(&command)) {
            lines << tr("%1: %2").arg(settingLabel(QStringLiteral("scale")), scaleText(scale->scale));
        } else {
            lines << tr("Starts the run again with the same seed and the present settings");
        }
    }
    constexpr qsizetype kMost = 8;
    if (lines.size() > kMost) {
        const auto more = lines.size() - kMost + 1;
        lines = lines.first(kMost - 1) << tr("and %1 more").arg(stepText(more));
    }
    return lines.join(QLatin1Char('\n'));
}

} // namespace halfscope
