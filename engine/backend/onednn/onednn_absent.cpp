// SPDX-License-Identifier: GPL-3.0-or-later
// In a build without oneDNN.
#include "engine/backend/onednn/onednn_backend.h"

namespace halfscope {

std::string onednnProblem()
{
    return "This build of HalfScope has no oneDNN; install it (libdnnl-dev in Debian and Ubuntu) and build again.";
}

std::unique_ptr<Backend> makeOnednnBackend(int) { throw BackendError("oneDNN cannot be used: " + onednnProblem()); }

} // namespace halfscope
