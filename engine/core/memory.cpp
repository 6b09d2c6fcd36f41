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

std::optional<double> freeOfMachine()
{
    std::ifstream in("/proc/meminfo");
    std::string key;
    double kibibytes = 0;
    std::string unit;
    while (in >> key >> kibibytes) {
        std::getline(in, unit);
        if (key == "MemAvailable:")
            return kibibytes * 1024.0;
    }
    return std::nullopt;
}

// The smallest of the limits of this control group and those above it, less what they use.
std::optional<double> freeOfControlGroup()
{
    std::ifstream in("/proc/self/cgroup");
    std::string line;
    std::optional<double> least;
    while (std::getline(in, line)) {
        if (!line.starts_with("0::"))
            continue;
        for (std::string group = line.substr(3);; group.resize(group.find_last_of('/'))) {
            const std::string folder = "/sys/fs/cgroup" + group;
            const std::optional<double> limit = firstNumber(folder + "/memory.max");
            const std::optional<double> used = firstNumber(folder + "/memory.current");
            if (limit && used)
                least = std::min(least.value_or(*limit), std::max(*limit - *used, 0.0));
            if (group.empty() || group.find('/') == std::string::npos)
                break;
        }
    }
    return least;
}

} // namespace

std::optional<double> availableMemory()
{
    const std::optional<double> machine = freeOfMachine();
    const std::optional<double> group = freeOfControlGroup();
    if (machine && group)
        return std::min(*machine, *group);
    return machine ? machine : group;
}

} // namespace halfscope
