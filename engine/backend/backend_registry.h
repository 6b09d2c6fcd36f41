// SPDX-License-Identifier: GPL-3.0-or-later
// Which devices there are, and why others are not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"

namespace halfscope {

struct BackendInfo {
    std::string key;  // "cpu"; what makeBackend() takes
    std::string name; // what people read
    bool available = false;
    std::string reason; // one sentence when it is not available
};

std::vector<BackendInfo> listBackends();

// Puts a backend of another making under a key, in place of the one that is there: for tests.
using BackendFactory = std::function<std::unique_ptr<Backend>(int threads)>;
void replaceBackend(const BackendInfo& info, BackendFactory factory);

// `threads` 0: as many as the machine has processors. Throws BackendError with the reason when it is not available.
std::unique_ptr<Backend> makeBackend(const std::string& key = "cpu", int threads = 0);

} // namespace halfscope
