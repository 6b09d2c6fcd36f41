// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/version.h"

namespace halfscope {

std::string_view programVersion() { return HALFSCOPE_VERSION; } // from the build's project(VERSION)

std::string compilerDescription()
{
#if defined(__clang__)
    return "Clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
           std::to_string(__clang_patchlevel__);
#else
    return "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

} // namespace halfscope
