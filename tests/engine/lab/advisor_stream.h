// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry made up step by step, with tensors that the real conversion classifies, and the advisor that reads it.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "engine/amp/advisor.h"
#include "engine/core/rng.h"
#include "engine/numerics/cast.h"

namespace halfscope::test {

class AdvisorStream {
public:
    explicit AdvisorStream(RunConfig config = {})
    {
        TransformerConfig model;
        model.vocabulary = 50;
        model.depth = 1;
        info.modules = listModules(model);
        info.data.vocabulary = 50;
        info.config = config;
        live.config = config;
        live.plan = makePlan(config.precision, info.modules).value();
        scale = static_cast<float>(config.scaler.initialScale);
        advisor.restart(info);
    }

    std::int16_t module(const std::string& name) const
    {
        for (std::size_t i = 0; i < info.modules.size(); ++i) {
            if (info.modules[i].name == name)
                return static_cast<std::int16_t>(i);
        }
        return -1;
    }

    StepRecord next()
    {
        StepRecord r;
        r.step = ++step;
        r.scale = r.scaleNext = scale;
        r.loss = 3.0;
        r.gradNorm = 1.0;
        r.gradAbsMax = r.bandAbsMax = 0x1p-6F;
        return r;
    }

    void feed(StepRecord r, std::vector<Event> events = {}, SnapshotPtr snapshot = {}, ShadowPtr shadow = {})
    {
        (r.outcome == StepOutcome::Applied ? applied : skipped) += 1;
        r.appliedSteps = applied;
        r.skippedSteps = skipped;
        scale = r.scaleNext;
        Telemetry t;
        t.steps.push_back(r);
        t.events = std::move(events);
        if (snapshot)
            t.snapshots.push_back(std::move(snapshot));
        if (shadow)
            t.shadows.push_back(std::move(shadow));
        advisor.observe(t, live);
    }

    void clean(int n = 1)
    {
        for (int i = 0; i < n; ++i)
            feed(next());
    }
    void grow(float factor = 2.0F)
    {
        StepRecord r = next();
        r.scaleNext = r.scale * factor;
        r.scaleEvent = ScaleEvent::Grew;
        feed(r);
    }
    // An overflow that halves the scale, or says `event` and leaves it.
    void skip(const std::string& culprit = "lm_head", ScaleEvent event = ScaleEvent::BackedOff,
              std::vector<Event> before = {})
    {
        StepRecord r = next();
        r.outcome = StepOutcome::SkippedOverflow;
        r.foundInf = true;
        r.gradNorm = std::numeric_limits<double>::quiet_NaN();
        r.overflowModule = module(culprit);
        r.overflowTap = static_cast<std::int8_t>(Tap::WeightGrad);
        r.scaleEvent = event;
        if (event == ScaleEvent::BackedOff)
            r.scaleNext = r.scale / 2;
        Event e;
        e.step = r.step;
        e.kind = EventKind::Overflow;
        e.count = 7;
        e.largest = 70000;
        before.push_back(e);
        feed(r, before);
    }
    void loss(double value)
    {
        StepRecord r = next();
        r.loss = value;
        if (!std::isfinite(value))
            r.outcome = StepOutcome::SkippedNonfiniteLoss;
        feed(r);
    }

    // Values of a normal distribution over log2|g|, put through the conversion into `format` at the present scale.
    TapStatistics tap(const std::string& name, Tap which, FormatId format, double meanLog2, double sigma = 2.0,
                      double zeroShare = 0.0, int n = 4000)
    {
        std::vector<float> scaled(static_cast<std::size_t>(n));
        for (float& v : scaled) {
            const double sign = rng.uniform() < 0.5 ? -1.0 : 1.0;
            const bool zero = rng.uniform() < zeroShare;
            v = zero ? 0.0F
                     : static_cast<float>(sign * std::exp2(meanLog2 + sigma * rng.normal()) *
                                          static_cast<double>(scale));
        }
        TapStatistics t;
        t.module = module(name);
        t.tap = which;
        t.format = format;
        castAndMeasure(format, scaled.data(), nullptr, scaled.size(),
                       static_cast<float>(1.0 / static_cast<double>(scale)), t.statistics);
        return t;
    }
    // A clean, measured step.
    void measured(std::vector<TapStatistics> taps)
    {
        const StepRecord r = next();
        auto s = std::make_shared<Snapshot>();
        s->step = s->firstStep = r.step;
        s->scale = s->minScale = s->maxScale = r.scale;
        s->taps = std::move(taps);
        feed(r, {}, s);
    }

    const Finding* standing(FindingKind kind) const
    {
        for (const Finding& f : advisor.findings()) {
            if (f.kind == kind)
                return &f;
        }
        return nullptr;
    }
    const Finding* ended(FindingKind kind) const
    {
        for (const Finding& f : advisor.ended()) {
            if (f.kind == kind)
                return &f;
        }
        return nullptr;
    }
    bool silent() const { return advisor.findings().empty() && advisor.ended().empty(); }
    std::string text(const Finding* f) const { return f == nullptr ? "nothing" : findingText(*f, info.modules); }

    static const Remedy* remedy(const Finding* f, RemedyKind kind)
    {
        for (const Remedy& r : f->remedies) {
            if (r.kind == kind)
                return &r;
        }
        return nullptr;
    }

    RunInfo info;
    LiveState live;
    Advisor advisor;
    Rng rng{11};
    float scale = 1.0F;
    std::int64_t step = 0;
    std::int64_t applied = 0;
    std::int64_t skipped = 0;
};

} // namespace halfscope::test
