// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/comparison_summary.h"

#include <algorithm>
#include <cmath>

#include "engine/core/number_text.h"
#include "engine/model/precision_plan.h"

namespace halfscope {

namespace {

std::string presetName(const std::string& key)
{
    for (const PrecisionPreset& preset : precisionPresets()) {
        if (preset.key == key)
            return std::string(preset.name);
    }
    return key;
}

std::string problemOf(const ComparedRun& run)
{
    return "seed " + numberText(run.seed) + (run.end == RunEnd::Failed ? " failed " : " ended ") + run.reason;
}

class BandBuilder {
public:
    void add(std::int64_t step, double value)
    {
        if (!std::isfinite(value) || step < 1)
            return;
        if (m_points.size() < static_cast<std::size_t>(step))
            m_points.resize(static_cast<std::size_t>(step));
        Point& point = m_points[static_cast<std::size_t>(step) - 1];
        point.low = point.count == 0 ? value : std::min(point.low, value);
        point.high = point.count == 0 ? value : std::max(point.high, value);
        point.sum += value;
        ++point.count;
    }
    CurveBand band() const
    {
        CurveBand band;
        for (std::size_t i = 0; i < m_points.size(); ++i) {
            const Point& point = m_points[i];
            if (point.count == 0)
                continue;
            band.step.push_back(static_cast<std::int64_t>(i) + 1);
            band.mean.push_back(static_cast<float>(point.sum / point.count));
            band.low.push_back(static_cast<float>(point.low));
            band.high.push_back(static_cast<float>(point.high));
        }
        return band;
    }

private:
    struct Point {
        double sum = 0.0;
        double low = 0.0;
        double high = 0.0;
        int count = 0;
    };
    std::vector<Point> m_points; // of step i + 1
};

void addSmoothed(BandBuilder& builder, const std::vector<double>& values, double smoothing)
{
    double average = 0.0;
    double weight = 0.0; // what the average's beginning at 0 has cost: 1 - smoothing^n
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i]))
            continue;
        average = smoothing * average + (1.0 - smoothing) * values[i];
        weight = smoothing * weight + (1.0 - smoothing);
        builder.add(static_cast<std::int64_t>(i) + 1, average / weight);
    }
}

} // namespace

Spread spreadOf(const std::vector<double>& values)
{
    Spread spread;
    double sum = 0.0;
    for (const double value : values) {
        if (!std::isfinite(value))
            continue;
        spread.min = spread.count == 0 ? value : std::min(spread.min, value);
        spread.max = spread.count == 0 ? value : std::max(spread.max, value);
        sum += value;
        ++spread.count;
    }
    if (spread.count == 0)
        return spread;
    spread.mean = sum / spread.count;
    if (spread.count > 1) {
        double squares = 0.0;
        for (const double value : values) {
            if (std::isfinite(value))
                squares += (value - spread.mean) * (value - spread.mean);
        }
        spread.deviation = std::sqrt(squares / (spread.count - 1));
    }
    return spread;
}

std::vector<FormatSummary> summarise(const Comparison& comparison)
{
    const ComparisonPlan& plan = comparison.plan;
    std::vector<FormatSummary> rows;
    for (std::size_t f = 0; f < plan.formats.size(); ++f) {
        FormatSummary row;
        row.format = plan.formats[f];
        row.name = presetName(row.format);
        row.wanted = plan.seeds;
        if (f < comparison.computed.size())
            row.computed = comparison.computed[f];
        row.speed = comparison.speedOf(row.format);
        std::vector<double> loss;
        std::vector<double> accuracy;
        std::vector<double> heldOutLoss;
        std::vector<double> heldOutAccuracy;
        std::vector<double> skipped;
        std::vector<double> scale;
        for (std::size_t i = f; i < comparison.runs.size(); i += plan.formats.size()) {
            if (!comparison.runs[i])
                continue;
            const ComparedRun& run = *comparison.runs[i];
            ++row.done;
            row.scaler = run.scaler;
            if (!row.bytes && run.bytes.total() > 0)
                row.bytes = run.bytes;
            if (run.end != RunEnd::Completed) {
                if (row.problem.empty())
                    row.problem = problemOf(run);
                continue;
            }
            ++row.completed;
            loss.push_back(run.finalLoss(plan.lastSteps()));
            row.diverged += std::isfinite(loss.back()) ? 0 : 1;
            accuracy.push_back(run.finalAccuracy(plan.lastSteps()));
            heldOutLoss.push_back(run.heldOutLoss());
            heldOutAccuracy.push_back(run.heldOutAccuracy());
            skipped.push_back(static_cast<double>(run.skipped));
            scale.push_back(run.finalScale);
        }
        row.finalLoss = spreadOf(loss);
        row.finalAccuracy = spreadOf(accuracy);
        row.heldOutLoss = spreadOf(heldOutLoss);
        row.heldOutAccuracy = spreadOf(heldOutAccuracy);
        row.skipped = spreadOf(skipped);
        row.finalScale = spreadOf(scale);
        rows.push_back(std::move(row));
    }
    return rows;
}

CurveBand curveOf(const Comparison& comparison, std::size_t format, Quantity quantity, double smoothing,
                  const ComparedRun* underWay)
{
    BandBuilder builder;
    const auto add = [&](const ComparedRun& run) {
        if (quantity == Quantity::Loss)
            addSmoothed(builder, run.loss, smoothing);
        else if (quantity == Quantity::Accuracy)
            addSmoothed(builder, run.accuracy, smoothing);
        else
            for (const HeldOut& point : run.heldOut)
                builder.add(point.step, quantity == Quantity::HeldOutLoss ? point.loss : point.accuracy);
    };
    const std::size_t formats = comparison.plan.formats.size();
    for (std::size_t i = format; i < comparison.runs.size(); i += formats) {
        if (comparison.runs[i])
            add(*comparison.runs[i]);
    }
    if (underWay != nullptr && underWay->format == comparison.plan.formats[format])
        add(*underWay);
    return builder.band();
}

} // namespace halfscope
