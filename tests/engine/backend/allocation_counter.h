// SPDX-License-Identifier: GPL-3.0-or-later
// Counts what the test program allocates: its operator new is replaced, in a file of its own because compilers that see
// a replacement inlined beside its callers warn about malloc meeting delete.
#pragma once

namespace halfscope::test {

long allocationCount(); // since the program began

} // namespace halfscope::test
