// SPDX-License-Identifier: GPL-3.0-or-later
// A driver's library that answers as it is told.
#include <cstdlib>

namespace {

int number(const char* name)
{
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::atoi(text);
}

} // namespace

extern "C" int cuInit(unsigned) { return number("HALFSCOPE_FAKE_INIT"); }
extern "C" int cuDriverGetVersion(int* version)
{
    *version = number("HALFSCOPE_FAKE_VERSION");
    return 0;
}
extern "C" int cuDeviceGetCount(int* count)
{
    *count = number("HALFSCOPE_FAKE_DEVICES");
    return 0;
}
