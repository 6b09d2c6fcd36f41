// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace halfscope {

namespace {

std::optional<double> firstNumber(const std::string& path)
{
    std::ifstream in(path);
    double value = 0;
    return in >> value ? std::optional(value) : std::nullopt; // "max" is no number: there is no limit
}

std::optional<MemoryRoom> roomOfMachine()
{
    std::ifstream in("/proc/meminfo");
    std::string key;
    double kibibytes = 0;
    std::string unit;
    MemoryRoom room;
    while (in >> key >> kibibytes) {
        std::getline(in, unit);
        if (key == "MemTotal:")
            room.total = kibibytes * 1024.0;
        if (key == "MemAvailable:") {
            room.free = kibibytes * 1024.0;
            return room; // the total comes before it
        }
    }
    return std::nullopt;
}

// The smallest of the limits of this control group and those above it, less what they use.
std::optional<MemoryRoom> roomOfControlGroup()
{
    std::ifstream in("/proc/self/cgroup");
    std::string line;
    std::optional<MemoryRoom> least;
    while (std::getline(in, line)) {
        if (!line.starts_with("0::"))
            continue;
        for (std::string group = line.substr(3);; group.resize(group.find_last_of('/'))) {
            const std::string folder = "/sys/fs/cgroup" + group;
            const std::optional<double> limit = firstNumber(folder + "/memory.max");
            const std::optional<double> used = firstNumber(folder + "/memory.current");
            if (limit && used && (!least || *limit - *used < least->free))
                least = MemoryRoom{std::max(*limit - *used, 0.0), *limit};
            if (group.empty() || group.find('/') == std::string::npos)
                break;
        }
    }
    return least;
}

} // namespace

std::optional<MemoryRoom> machineMemory()
{
    const std::optional<MemoryRoom> machine = roomOfMachine();
    const std::optional<MemoryRoom> group = roomOfControlGroup();
    if (machine && group)
        return group->free < machine->free ? group : machine;
    return machine ? machine : group;
}

std::optional<double> availableMemory()
{
    const std::optional<MemoryRoom> room = machineMemory();
    return room ? std::optional(room->free) : std::nullopt;
}

} // namespace halfscope
