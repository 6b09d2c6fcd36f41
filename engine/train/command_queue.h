// SPDX-License-Identifier: GPL-3.0-or-later
// Commands on their way to a step boundary. Any thread posts, one takes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/train/command.h"

namespace halfscope {

struct QueuedCommand {
    std::uint64_t id = 0;
    Command command;
};

class CommandQueue {
public:
    // A waiting SetScale, or SetSetting of the same key, is replaced in place of being queued behind (a dragged slider
    // leaves one command). Returns the new command's id.
    std::uint64_t post(Command command);
    std::vector<QueuedCommand> takeAll();
    // Blocks until there is a command or close() was called; false: closed.
    bool wait();
    void close();
    bool closed() const;

private:
    mutable std::mutex m_mutex;
    std::condition_variable m_arrived;
    std::vector<QueuedCommand> m_waiting;
    std::uint64_t m_lastId = 0;
    bool m_closed = false;
};

} // namespace halfscope
