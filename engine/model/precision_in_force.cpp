// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/precision_in_force.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace halfscope {

namespace {

PrecisionPlan planOf(const std::string& preset, const std::vector<ModuleInfo>& all)
{
    std::optional<PrecisionPlan> plan = makePlan(preset, all);
    if (!plan)
        throw std::invalid_argument("There is no preset of precision \"" + preset + "\".");
    return *std::move(plan);
}

} // namespace

PrecisionInForce::PrecisionInForce(std::string preset, const std::map<std::string, FormatId>& modules)
{
    set(std::move(preset), 0);
    for (const auto& [module, format] : modules)
        setModule(module, format, 0);
    m_schedule.preset.since = std::numeric_limits<std::int64_t>::min();
}

void PrecisionInForce::set(std::string preset, std::int64_t since)
{
    m_user.preset = {std::move(preset), since};
    m_user.modules.clear();
}

void PrecisionInForce::setModule(const std::string& module, FormatId format, std::int64_t since)
{
    m_user.modules[module] = {format, since};
}

void PrecisionInForce::schedule(std::string preset, std::int64_t step)
{
    m_schedule.preset = {std::move(preset), step};
    m_schedule.modules.clear();
}

void PrecisionInForce::scheduleModule(const std::string& module, FormatId format, std::int64_t step)
{
    m_schedule.modules[module] = {format, step};
}

bool PrecisionInForce::scheduledSince(std::int64_t step) const
{
    return m_schedule.preset.since >= step ||
           std::ranges::any_of(m_schedule.modules, [step](const auto& own) { return own.second.since >= step; });
}

const std::string& PrecisionInForce::preset() const
{
    return m_schedule.preset.since >= m_user.preset.since ? m_schedule.preset.key : m_user.preset.key;
}

PrecisionPlan PrecisionInForce::plan(const std::vector<ModuleInfo>& all) const
{
    const PrecisionPlan user = planOf(m_user.preset.key, all);
    const PrecisionPlan scheduled = m_schedule.preset.key.empty() ? user : planOf(m_schedule.preset.key, all);
    const auto formatIn = [](const Layer& layer, const std::string& module, FormatId ofPreset) {
        const auto own = layer.modules.find(module);
        return own != layer.modules.end() ? own->second : Format{ofPreset, layer.preset.since};
    };
    PrecisionPlan plan(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Format ofUser = formatIn(m_user, all[i].name, user[i]);
        const Format ofSchedule = formatIn(m_schedule, all[i].name, scheduled[i]);
        plan[i] = ofSchedule.since >= ofUser.since ? ofSchedule.format : ofUser.format;
    }
    return plan;
}

} // namespace halfscope
