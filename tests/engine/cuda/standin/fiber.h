// SPDX-License-Identifier: GPL-3.0-or-later
// A stack of its own that runs until it is suspended and goes on where it was. Boost.Context switches where it is
// installed (HALFSCOPE_FIBER_BOOST), else ucontext, which takes ten times as long. The sanitizers are told about every
// switch. Under the thread sanitizer a switch alone orders nothing: what two fibers do without a barrier between them
// is a race, as on the device.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>

namespace simt {

class Fiber {
public:
    using Body = void (*)(); // called again for every thread that the fiber runs; an exception must not leave it
    explicit Fiber(Body body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // From outside: runs it until it suspends itself or its body returns.
    void resume();
    // From inside.
    void suspend();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

// What happened before release(p) happened before what follows acquire(p), for the thread sanitizer.
void release(void* p);
void acquire(void* p);

} // namespace simt
