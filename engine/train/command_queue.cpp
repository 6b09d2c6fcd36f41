// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/command_queue.h"

#include <utility>

namespace halfscope {

namespace {

bool supersedes(const Command& newer, const Command& older)
{
    if (const auto* set = std::get_if<SetSetting>(&newer)) {
        const auto* before = std::get_if<SetSetting>(&older);
        return before && before->key == set->key;
    }
    return std::holds_alternative<SetScale>(newer) && std::holds_alternative<SetScale>(older);
}

} // namespace

std::uint64_t CommandQueue::post(Command command)
{
    const std::lock_guard lock(m_mutex);
    const std::uint64_t id = ++m_lastId;
    // Only the newest waiting command may be replaced: between two edits of one knob another command may rely on the
    // first (a preset replaces all knobs, a restart takes them over).
    if (!m_waiting.empty() && supersedes(command, m_waiting.back().command))
        m_waiting.pop_back();
    m_waiting.push_back({id, std::move(command)});
    m_arrived.notify_all();
    return id;
}

std::vector<QueuedCommand> CommandQueue::takeAll()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_waiting, {});
}

bool CommandQueue::wait()
{
    std::unique_lock lock(m_mutex);
    m_arrived.wait(lock, [&] { return m_closed || !m_waiting.empty(); });
    return !m_closed;
}

void CommandQueue::close()
{
    const std::lock_guard lock(m_mutex);
    m_closed = true;
    m_arrived.notify_all();
}

bool CommandQueue::closed() const
{
    const std::lock_guard lock(m_mutex);
    return m_closed;
}

} // namespace halfscope
