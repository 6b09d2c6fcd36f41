// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/error_text.h"

#include <new>

namespace halfscope {

std::string errorText(const std::exception& error)
{
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return "There is not enough memory for this; choose a smaller model, batch or text.";
    return error.what();
}

} // namespace halfscope
