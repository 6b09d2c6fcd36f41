// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/run_keeper.h"

#include <exception>
#include <utility>

namespace halfscope {

RunKeeper::RunKeeper(Backend& backend, const Transformer& model, const Optimizer& optimizer,
                     const std::unique_ptr<ShadowRun>& shadow)
    : m_backend(backend),
      m_model(model),
      m_optimizer(optimizer),
      m_shadow(shadow),
      m_keepsCopies(backend.hasOwnMemory() && hasRoom())
{
}

bool RunKeeper::hasRoom() const
{
    const double copy = 3.0 * sizeof(float) * static_cast<double>(m_model.parameterCount()) * (m_shadow ? 2.0 : 1.0);
    return 2.0 * copy < availableMemory().value_or(0.0);
}

void RunKeeper::begin(const RunPosition& at)
{
    if (m_begun)
        m_begun->at = at; // its memory is used again
    else
        m_begun = RunMark{at, {}, {}};
    m_begun->model = m_model.config();
    m_model.copyTo(m_begun->host);
    m_begun->updates = m_optimizer.updates();
    m_begun->shadowUpdates = m_shadow ? m_shadow->updates() : 0;
    m_begun->shadowApplied = m_shadow ? m_shadow->applied() : 0;
    m_untouched = true;
}

void RunKeeper::read(RunValues& to) const
{
    m_model.copyTo(to.model);
    if (m_shadow)
        m_shadow->copyTo(to.shadow);
    else
        to.shadow.clear();
}

void RunKeeper::keepCopy()
{
    const Clock::time_point start = Clock::now();
    if (!m_keepsCopies || start < m_nextCopy)
        return;
    m_backend.synchronize(); // that belongs to the step before
    const Clock::time_point copying = Clock::now();
    read(m_spare);
    if (!m_kept)
        m_kept = Copy{*m_begun, {}};
    else
        m_kept->mark = *m_begun;
    std::swap(m_kept->values, m_spare);
    m_later.clear();
    const Clock::time_point end = Clock::now();
    m_nextCopy = end + std::chrono::duration_cast<Clock::duration>((end - copying) / kMostTime);
}

void RunKeeper::applied(const Command& command)
{
    if (m_keepsCopies && m_begun)
        m_later.push_back({m_begun->at.step, command});
}

std::unique_ptr<RunState> RunKeeper::lastGood()
{
    m_backend.forgetResults();
    if (!m_begun)
        return nullptr;
    const std::int64_t lastStep = m_begun->at.step;
    if (m_untouched) {
        try {
            RunValues values;
            read(values);
            return std::make_unique<RunState>(RunState{*m_begun, std::move(values), {}, lastStep, {}, {}, nullptr});
        } catch (const std::exception&) { // the device is lost, or the host has no memory
        }
    }
    if (!m_kept)
        return nullptr;
    return std::make_unique<RunState>(
        RunState{std::move(m_kept->mark), std::move(m_kept->values), std::move(m_later), lastStep, {}, {}, nullptr});
}

} // namespace halfscope
