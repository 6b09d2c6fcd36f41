// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/setting_labels.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <array>
#include <limits>

#include "engine/train/settings_registry.h"
#include "engine/train/telemetry.h"
#include "ui/models/setting_choices.h"
#include "ui/number_text.h"

namespace halfscope {

namespace {

struct Label {
    const char* key;
    const char* text;
};

constexpr std::array kSettingLabels{
    Label{"scale", QT_TRANSLATE_NOOP("Setting", "Loss scale")},
    Label{"scaler", QT_TRANSLATE_NOOP("Setting", "Preset")},
    Label{"initial-scale", QT_TRANSLATE_NOOP("Setting", "Initial scale")},
    Label{"growth-factor", QT_TRANSLATE_NOOP("Setting", "Growth factor")},
    Label{"backoff-factor", QT_TRANSLATE_NOOP("Setting", "Backoff factor")},
    Label{"growth-interval", QT_TRANSLATE_NOOP("Setting", "Growth interval")},
    Label{"min-scale", QT_TRANSLATE_NOOP("Setting", "Smallest scale")},
    Label{"max-scale", QT_TRANSLATE_NOOP("Setting", "Largest scale")},
    Label{"hysteresis", QT_TRANSLATE_NOOP("Setting", "Hysteresis")},
    Label{"hysteresis-kind", QT_TRANSLATE_NOOP("Setting", "Hysteresis kind")},
    Label{"at-min", QT_TRANSLATE_NOOP("Setting", "At the minimum")},
    Label{"scaler-rule", QT_TRANSLATE_NOOP("Setting", "Moved by")},
    Label{"skip-nonfinite", QT_TRANSLATE_NOOP("Setting", "Nonfinite steps")},
    Label{"scale-arithmetic", QT_TRANSLATE_NOOP("Setting", "Arithmetic")},
    Label{"growth-after", QT_TRANSLATE_NOOP("Setting", "Grows after")},
    Label{"growth-cap", QT_TRANSLATE_NOOP("Setting", "Beyond FP32")},
    Label{"backoff-rule", QT_TRANSLATE_NOOP("Setting", "Backing off")},
    Label{"tolerance", QT_TRANSLATE_NOOP("Setting", "Tolerance")},
    Label{"threshold", QT_TRANSLATE_NOOP("Setting", "Threshold")},
    Label{"min-trigger", QT_TRANSLATE_NOOP("Setting", "Minimum counts at")},
    Label{"max-overflows", QT_TRANSLATE_NOOP("Setting", "Overflows in a row")},
    Label{"learning-rate", QT_TRANSLATE_NOOP("Setting", "Learning rate")},
    Label{"schedule", QT_TRANSLATE_NOOP("Setting", "Schedule")},
    Label{"warmup-steps", QT_TRANSLATE_NOOP("Setting", "Warm-up steps")},
    Label{"decay-steps", QT_TRANSLATE_NOOP("Setting", "Decay steps")},
    Label{"min-learning-rate", QT_TRANSLATE_NOOP("Setting", "Smallest learning rate")},
    Label{"beta1", QT_TRANSLATE_NOOP("Setting", "Beta 1")},
    Label{"beta2", QT_TRANSLATE_NOOP("Setting", "Beta 2")},
    Label{"epsilon", QT_TRANSLATE_NOOP("Setting", "Epsilon")},
    Label{"weight-decay", QT_TRANSLATE_NOOP("Setting", "Weight decay")},
    Label{"clip-norm", QT_TRANSLATE_NOOP("Setting", "Clip norm")},
    Label{"precision", QT_TRANSLATE_NOOP("Setting", "Precision")},
    Label{"precision-schedule", QT_TRANSLATE_NOOP("Setting", "Precision schedule")},
    Label{"master-weights", QT_TRANSLATE_NOOP("Setting", "Master weights")},
    Label{"moments", QT_TRANSLATE_NOOP("Setting", "AdamW's moments")},
    Label{"fp8-scaling", QT_TRANSLATE_NOOP("Setting", "FP8 scaling")},
    Label{"fp8-history", QT_TRANSLATE_NOOP("Setting", "FP8 history")},
    Label{"fp8-margin", QT_TRANSLATE_NOOP("Setting", "FP8 margin")},
    Label{"scale-per-module", QT_TRANSLATE_NOOP("Setting", "Scale a module")},
    Label{"measure-updates", QT_TRANSLATE_NOOP("Setting", "Measure updates")},
    Label{"width", QT_TRANSLATE_NOOP("Setting", "Width")},
    Label{"depth", QT_TRANSLATE_NOOP("Setting", "Depth")},
    Label{"heads", QT_TRANSLATE_NOOP("Setting", "Heads")},
    Label{"context", QT_TRANSLATE_NOOP("Setting", "Context")},
    Label{"batch", QT_TRANSLATE_NOOP("Setting", "Batch")},
    Label{"mlp-ratio", QT_TRANSLATE_NOOP("Setting", "MLP ratio")},
    Label{"norm", QT_TRANSLATE_NOOP("Setting", "Layer norm")},
    Label{"tied-head", QT_TRANSLATE_NOOP("Setting", "Head tied to embedding")},
    Label{"activation", QT_TRANSLATE_NOOP("Setting", "Activation")},
    Label{"dropout", QT_TRANSLATE_NOOP("Setting", "Dropout")},
    Label{"seed", QT_TRANSLATE_NOOP("Setting", "Seed")},
    Label{"task", QT_TRANSLATE_NOOP("Setting", "Task")},
    Label{"data", QT_TRANSLATE_NOOP("Setting", "Data file")},
    Label{"patch-size", QT_TRANSLATE_NOOP("Setting", "Patch size")},
    Label{"pretrain-steps", QT_TRANSLATE_NOOP("Setting", "Pretraining steps")},
    Label{"causal", QT_TRANSLATE_NOOP("Setting", "Looks back only")},
    Label{"validation-interval", QT_TRANSLATE_NOOP("Setting", "Validate every n-th step")},
    Label{"validation-examples", QT_TRANSLATE_NOOP("Setting", "Validation examples")},
    Label{"text", QT_TRANSLATE_NOOP("Setting", "Text file")},
    Label{"backend", QT_TRANSLATE_NOOP("Setting", "Device")},
    Label{"device", QT_TRANSLATE_NOOP("Setting", "GPU")},
    Label{"threads", QT_TRANSLATE_NOOP("Setting", "Threads")},
    Label{"scaler-mode", QT_TRANSLATE_NOOP("Setting", "Mode")},
    Label{"statistics-interval", QT_TRANSLATE_NOOP("Setting", "Measure every n-th step")},
    Label{"activation-grads", QT_TRANSLATE_NOOP("Setting", "Measure activation gradients")},
    Label{"activations", QT_TRANSLATE_NOOP("Setting", "Measure activations")},
    Label{"low-quantile", QT_TRANSLATE_NOOP("Setting", "Quantile of the stability band")},
    Label{"shadow-interval", QT_TRANSLATE_NOOP("Setting", "Compare with FP32 every n-th step")},
    Label{"shadow-run", QT_TRANSLATE_NOOP("Setting", "FP32 run alongside")},
    Label{"restart", QT_TRANSLATE_NOOP("Setting", "Restart")},
    Label{"pause", QT_TRANSLATE_NOOP("Setting", "Pause")},
    Label{"resume", QT_TRANSLATE_NOOP("Setting", "Resume")},
    Label{"run-steps", QT_TRANSLATE_NOOP("Setting", "Run steps")},
    Label{"inject-spike", QT_TRANSLATE_NOOP("Setting", "Gradient spike")},
    Label{"inject-bad-batch", QT_TRANSLATE_NOOP("Setting", "Bad batch")},
    Label{"inject-learning-rate", QT_TRANSLATE_NOOP("Setting", "Learning-rate jump")},
};

constexpr std::array kGroupLabels{
    Label{"scaler", QT_TRANSLATE_NOOP("SettingGroup", "Scaler")},
    Label{"model", QT_TRANSLATE_NOOP("SettingGroup", "Model")},
    Label{"optimizer", QT_TRANSLATE_NOOP("SettingGroup", "Optimizer")},
    Label{"precision", QT_TRANSLATE_NOOP("SettingGroup", "Precision")},
    Label{"data", QT_TRANSLATE_NOOP("SettingGroup", "Data and machine")},
    Label{"statistics", QT_TRANSLATE_NOOP("SettingGroup", "Statistics")},
};

QString humanised(QString key)
{
    key.replace(QLatin1Char('-'), QLatin1Char(' '));
    if (!key.isEmpty()) {
        key[0] = key[0].toUpper();
    }
    return key;
}

template <std::size_t N>
QString labelFrom(const std::array<Label, N>& labels, const char* context, const QString& key)
{
    for (const Label& label : labels) {
        if (key == QLatin1String(label.key)) {
            return QCoreApplication::translate(context, label.text);
        }
    }
    return humanised(key);
}

QString translatedView(const char* context, std::string_view text)
{
    return QCoreApplication::translate(context, std::string(text).c_str());
}

// "max-scale" -> "Largest scale", "2^-23" -> "2⁻²³". Words that are keys by chance have no hyphen and stay.
QString inWindowWords(QString text)
{
    static const QRegularExpression keyOrPower(
        QStringLiteral("\\b(?<key>[a-z0-9]+(?:-[a-z0-9]+)+)\\b|\\b(?<base>2|10)\\^(?<power>-?[0-9]+)"));
    qsizetype from = 0;
    for (QRegularExpressionMatch match; (match = keyOrPower.match(text, from)).hasMatch();) {
        const QString key = match.captured(QStringLiteral("key"));
        QString words = match.captured();
        if (key.isEmpty()) {
            words =
                match.captured(QStringLiteral("base")) + superscript(match.captured(QStringLiteral("power")).toInt());
        } else if (findSetting(key.toStdString()) != nullptr) {
            words = settingLabel(key);
        }
        text.replace(match.capturedStart(), match.capturedLength(), words);
        from = match.capturedStart() + words.size();
    }
    return text;
}

} // namespace

QString refusalText(const QString& key, const QString& typed, const QString& why)
{
    static const QRegularExpression refusal(
        QStringLiteral("^(?<key>[^ ]+) = (?<value>.+) is not allowed(?:; allowed: |: it must be )(?<allowed>.+)$"));
    const QRegularExpressionMatch match = refusal.match(why);
    if (!match.hasMatch()) {
        const bool named = typed.isEmpty() || why.startsWith(key);
        return named ? inWindowWords(why)
                     : QCoreApplication::translate("Setting", "%1 cannot be “%2”. %3")
                           .arg(settingLabel(key), typed, inWindowWords(why));
    }
    const QString refused = match.captured(QStringLiteral("key"));
    QString value = match.captured(QStringLiteral("value"));
    if (value.size() > 1 && value.startsWith(QLatin1Char('"')) && value.endsWith(QLatin1Char('"'))) {
        value = value.mid(1, value.size() - 2);
    }
    // One knob may be refused for what it would make of another.
    value = refused == key && !typed.isEmpty() ? typed : settingValueText(refused, value.toStdString());
    return QCoreApplication::translate("Setting", "%1 cannot be “%2”. Allowed: %3")
        .arg(settingLabel(refused), value, inWindowWords(match.captured(QStringLiteral("allowed"))));
}

QString settingLabel(const QString& key)
{
    const auto prefix = QStringLiteral("precision.");
    if (key.startsWith(prefix)) {
        return QCoreApplication::translate("Setting", "Format of %1").arg(key.mid(prefix.size()));
    }
    return labelFrom(kSettingLabels, "Setting", key);
}

QString groupLabel(const QString& group) { return labelFrom(kGroupLabels, "SettingGroup", group); }

QString settingMeaning(const QString& key)
{
    const SettingInfo* info = findSetting(key.toStdString());
    return info == nullptr ? QString() : translatedView("SettingMeaning", info->meaning);
}

QString settingRange(const QString& key)
{
    const SettingInfo* info = findSetting(key.toStdString());
    return info == nullptr ? QString() : translatedView("SettingRange", info->range);
}

QString settingValueText(const QString& key, const std::string& value)
{
    const QString text = QString::fromStdString(value);
    const bool bound = key == QLatin1String("min-scale") || key == QLatin1String("max-scale");
    if (bound || key == QLatin1String("initial-scale") || key == QLatin1String("threshold")) {
        bool ok = false;
        const double scale = text.toDouble(&ok);
        // FP32's largest number stands for "no limit".
        if (text == QLatin1String("none") || (ok && scale == static_cast<double>(std::numeric_limits<float>::max()))) {
            return QCoreApplication::translate("Setting", "no limit");
        }
        return ok && isPowerOfTwo(scale) && (scale >= 32 || scale < 1) ? shortScaleText(scale) : text;
    }
    return choiceText(key, text);
}

QString moduleTapLabel(int tap)
{
    switch (static_cast<Tap>(tap)) {
    case Tap::WeightGrad:
        return QCoreApplication::translate("Tap", "weight gradients");
    case Tap::ActivationGrad:
        return QCoreApplication::translate("Tap", "activation gradients");
    case Tap::Activation:
        return QCoreApplication::translate("Tap", "activations");
    }
    return {};
}

} // namespace halfscope
