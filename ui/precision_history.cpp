// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/precision_history.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <map>

#include "engine/model/precision_plan.h"

namespace halfscope {

namespace {

constexpr std::string_view kPrecision = "precision";
constexpr std::string_view kPrefix = "precision.";
constexpr int kMostNames = 2; // of modules with a format of their own

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QString tr(const char* text) { return QCoreApplication::translate("PrecisionHistory", text); }

class Builder {
public:
    explicit Builder(const RunModel& run)
        : m_modules(run.info.modules), m_preset(run.info.config.precision), m_own(run.info.config.modulePrecision)
    {
        begin(1, false);
    }

    void change(std::int64_t step, const std::string& key, const std::string& value, bool planned)
    {
        if (key == kPrecision) {
            m_preset = value;
            m_own.clear();
        } else if (const auto format = parseModuleFormat(value)) {
            m_own[key.substr(kPrefix.size())] = *format;
        }
        begin(step, planned);
    }

    std::vector<PrecisionSpan> take() { return std::move(m_spans); }

private:
    void begin(std::int64_t step, bool planned)
    {
        PrecisionSpan span;
        span.first = step;
        span.planned = planned;
        describe(span);
        if (!m_spans.empty() && m_spans.back().first >= step)
            m_spans.pop_back(); // several changes at one step are one
        if (!m_spans.empty()) {
            if (m_spans.back().name == span.name && m_spans.back().planned == planned)
                return;
            m_spans.back().last = step - 1;
        }
        m_spans.push_back(std::move(span));
    }

    void describe(PrecisionSpan& span) const
    {
        const auto preset = std::ranges::find(precisionPresets(), m_preset, &PrecisionPreset::key);
        span.name = preset == precisionPresets().end() ? QString::fromStdString(m_preset)
                                                       : QCoreApplication::translate("Action", preset->name.data());
        std::map<FormatId, std::int64_t> parameters;
        QStringList own;
        const std::optional<PrecisionPlan> plan = makePlan(m_preset, m_modules);
        for (std::size_t i = 0; plan && i < m_modules.size(); ++i) {
            const auto exception = m_own.find(m_modules[i].name);
            const bool differs = exception != m_own.end() && exception->second != (*plan)[i];
            const FormatId format = differs ? exception->second : (*plan)[i];
            parameters[format] += m_modules[i].parameters;
            if (differs)
                own << QStringLiteral("%1 %2").arg(QString::fromStdString(m_modules[i].name),
                                                   fromView(moduleFormatName(format)));
        }
        if (own.size() > kMostNames)
            span.name = tr("%1, %2 modules otherwise").arg(span.name).arg(own.size());
        else if (!own.isEmpty())
            span.name += QStringLiteral(", ") + own.join(QStringLiteral(", "));
        const auto most = std::ranges::max_element(parameters, {}, [](const auto& entry) { return entry.second; });
        if (most != parameters.end())
            span.format = most->first;
    }

    const std::vector<ModuleInfo>& m_modules;
    std::string m_preset;
    std::map<std::string, FormatId> m_own;
    std::vector<PrecisionSpan> m_spans;
};

} // namespace

std::vector<PrecisionSpan> precisionHistory(const RunModel& run)
{
    Builder builder(run);
    for (const Event& event : run.events) {
        const bool applied = event.kind == EventKind::Command || event.kind == EventKind::Scheduled;
        if (applied && (event.key == kPrecision || event.key.starts_with(kPrefix)))
            builder.change(std::max<std::int64_t>(event.step, 1), event.key, event.newValue, false);
    }
    const auto done = static_cast<std::int64_t>(run.steps.size());
    const std::int64_t epoch = std::max<std::int64_t>(run.info.stepsPerEpoch, 1);
    PrecisionSchedule ahead = run.live.config.precisionSchedule;
    std::erase_if(ahead, [&](const ScheduledPrecision& entry) { return entry.step(epoch) <= done; });
    std::ranges::stable_sort(ahead, {}, [&](const ScheduledPrecision& entry) { return entry.step(epoch); });
    for (const ScheduledPrecision& entry : ahead)
        builder.change(entry.step(epoch), entry.key(), entry.value(), true);
    return builder.take();
}

const PrecisionSpan* spanAt(const std::vector<PrecisionSpan>& spans, std::int64_t step)
{
    const auto after = std::ranges::upper_bound(spans, step, {}, [](const PrecisionSpan& span) { return span.first; });
    return after == spans.begin() ? nullptr : &*(after - 1);
}

} // namespace halfscope
