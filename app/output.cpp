// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/output.h"

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

namespace halfscope {

namespace {

[[noreturn]] void fail(int error)
{
    throw std::runtime_error("The output cannot be written: " + std::generic_category().message(error) + ".");
}

} // namespace

void writeOutput(std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        fail(errno);
}

void flushOutput()
{
    if (std::fflush(stdout) != 0)
        fail(errno);
}

bool tryOutput(std::string_view text)
{
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

} // namespace halfscope
