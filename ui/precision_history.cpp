// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/precision_history.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <map>

#include "engine/model/precision_in_force.h"

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
        : m_modules(run.info.modules), m_precision(run.info.config.precision, run.info.config.modulePrecision)
    {
        begin(1, false);
    }

    void command(std::int64_t step, const Event& event)
    {
        const std::int64_t since = event.since >= 0 ? event.since : step;
        if (event.key == kPrecision)
            m_precision.set(event.newValue, since);
        else if (const auto format = parseModuleFormat(event.newValue))
            m_precision.setModule(event.key.substr(kPrefix.size()), *format, since);
        begin(step, false);
    }

    void schedule(std::int64_t step, const std::string& key, const std::string& value, bool planned)
    {
        if (key == kPrecision)
            m_precision.schedule(value, step);
        else if (const auto format = parseModuleFormat(value))
            m_precision.scheduleModule(key.substr(kPrefix.size()), *format, step);
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
        const std::string& key = m_precision.preset();
        const auto preset = std::ranges::find(precisionPresets(), key, &PrecisionPreset::key);
        const std::optional<PrecisionPlan> ofPreset = makePlan(key, m_modules);
        if (preset == precisionPresets().end() || !ofPreset) { // no run has begun
            span.name = QString::fromStdString(key);
            return;
        }
        span.name = QCoreApplication::translate("Action", preset->name.data());
        std::map<FormatId, std::int64_t> parameters;
        QStringList own;
        const PrecisionPlan plan = m_precision.plan(m_modules);
        for (std::size_t i = 0; i < m_modules.size(); ++i) {
            parameters[plan[i]] += m_modules[i].parameters;
            if (plan[i] != (*ofPreset)[i])
                own << QStringLiteral("%1 %2").arg(QString::fromStdString(m_modules[i].name),
                                                   fromView(moduleFormatName(plan[i])));
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
    PrecisionInForce m_precision;
    std::vector<PrecisionSpan> m_spans;
};

} // namespace

std::vector<PrecisionSpan> precisionHistory(const RunModel& run)
{
    Builder builder(run);
    for (const Event& event : run.events) {
        if (event.key != kPrecision && !event.key.starts_with(kPrefix))
            continue;
        const std::int64_t step = std::max<std::int64_t>(event.step, 1);
        if (event.kind == EventKind::Command)
            builder.command(step, event);
        else if (event.kind == EventKind::Scheduled)
            builder.schedule(step, event.key, event.newValue, false);
    }
    const auto done = static_cast<std::int64_t>(run.steps.size());
    const std::int64_t epoch = std::max<std::int64_t>(run.info.stepsPerEpoch, 1);
    PrecisionSchedule ahead = run.live.config.precisionSchedule;
    std::erase_if(ahead, [&](const ScheduledPrecision& entry) { return entry.step(epoch) <= done; });
    std::ranges::stable_sort(ahead, {}, [&](const ScheduledPrecision& entry) { return entry.step(epoch); });
    for (const ScheduledPrecision& entry : ahead)
        builder.schedule(entry.step(epoch), entry.key(), entry.value(), true);
    return builder.take();
}

const PrecisionSpan* spanAt(const std::vector<PrecisionSpan>& spans, std::int64_t step)
{
    const auto after = std::ranges::upper_bound(spans, step, {}, [](const PrecisionSpan& span) { return span.first; });
    return after == spans.begin() ? nullptr : &*(after - 1);
}

} // namespace halfscope
