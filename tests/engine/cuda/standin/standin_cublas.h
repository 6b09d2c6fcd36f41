// SPDX-License-Identifier: GPL-3.0-or-later
// What the stand-ins of cuBLAS and cuBLASLt share.
#pragma once

#include "cublas_v2.h"

namespace standin {

// answer() as cuBLAS would put it.
cublasStatus_t cublasAnswer(const char* function);

} // namespace standin
