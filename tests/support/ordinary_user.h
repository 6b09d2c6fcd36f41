// SPDX-License-Identifier: GPL-3.0-or-later
// Permissions do not bind the superuser. While this object lives, a process started by root acts as a user without
// rights, so that tests of unreadable files and read-only folders mean the same for everybody.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

namespace halfscope::test {

class OrdinaryUser {
public:
    OrdinaryUser() : m_wasRoot(geteuid() == 0)
    {
        constexpr uid_t kNobody = 65534;
        if (m_wasRoot && seteuid(kNobody) != 0)
            throw std::runtime_error("cannot give up the rights of the superuser");
    }
    OrdinaryUser(const OrdinaryUser&) = delete;
    OrdinaryUser& operator=(const OrdinaryUser&) = delete;
    ~OrdinaryUser()
    {
        if (m_wasRoot && seteuid(0) != 0)
            std::abort(); // every later test would run with the wrong rights
    }

private:
    bool m_wasRoot;
};

} // namespace halfscope::test
