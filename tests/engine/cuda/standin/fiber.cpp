// SPDX-License-Identifier: GPL-3.0-or-later
#include "fiber.h"

#include <new>
#include <sys/mman.h>

#ifdef HALFSCOPE_FIBER_BOOST
#include <boost/context/detail/fcontext.hpp>
#else
#include <ucontext.h>
#endif

// This file itself must be built without -fsanitize=thread, or the sanitizer would follow its own switches.
#ifdef HALFSCOPE_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

namespace {

constexpr std::size_t kGuard = 4096; // below the stack: an overflow faults
constexpr std::size_t kStack = 128 * 1024;

} // namespace

struct Fiber::Impl {
    explicit Impl(Body work) : body(work)
    {
        void* memory = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw std::bad_alloc();
        base = static_cast<char*>(memory);
        mprotect(base, kGuard, PROT_NONE);
#ifdef HALFSCOPE_FIBER_BOOST
        inside =
            boost::context::detail::make_fcontext(stack() + kStack, kStack, [](boost::context::detail::transfer_t t) {
                auto& self = *static_cast<Impl*>(t.data);
                self.outside = t.fctx;
                self.run();
            });
#else
        getcontext(&inside);
        inside.uc_stack.ss_sp = stack();
        inside.uc_stack.ss_size = kStack;
        inside.uc_link = nullptr;
        makecontext(
            &inside, [] { starting->run(); }, 0);
#endif
#ifdef HALFSCOPE_FIBER_TSAN
        tsan = __tsan_create_fiber(0);
#endif
    }

    ~Impl()
    {
#ifdef HALFSCOPE_FIBER_TSAN
        void* here = __tsan_get_current_fiber(); // what it did happens before what follows
        __tsan_switch_to_fiber(tsan, 0);
        __tsan_switch_to_fiber(here, 0);
        __tsan_destroy_fiber(tsan);
#endif
#ifdef __SANITIZE_ADDRESS__
        __asan_unpoison_memory_region(stack(), kStack);
#endif
        munmap(base, kGuard + kStack);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    char* stack() const { return base + kGuard; }

    [[noreturn]] void run()
    {
        arrivedInside();
        for (;;) {
            body();
            leave();
        }
    }

    void enter()
    {
#ifdef HALFSCOPE_FIBER_TSAN
        outsideTsan = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(tsan, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __SANITIZE_ADDRESS__
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(&fake, stack(), kStack);
#endif
#ifdef HALFSCOPE_FIBER_BOOST
        inside = boost::context::detail::jump_fcontext(inside, this).fctx;
#else
        starting = this;
        swapcontext(&outside, &inside);
#endif
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    }

    void leave()
    {
#ifdef HALFSCOPE_FIBER_TSAN
        __tsan_switch_to_fiber(outsideTsan, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_start_switch_fiber(&fakeStack, outsideBottom, outsideSize);
#endif
#ifdef HALFSCOPE_FIBER_BOOST
        outside = boost::context::detail::jump_fcontext(outside, this).fctx;
#else
        swapcontext(&inside, &outside);
#endif
        arrivedInside();
    }

    void arrivedInside()
    {
#ifdef __SANITIZE_ADDRESS__
        __sanitizer_finish_switch_fiber(fakeStack, &outsideBottom, &outsideSize);
#endif
    }

    Body body;
    char* base = nullptr;
#ifdef HALFSCOPE_FIBER_BOOST
    boost::context::detail::fcontext_t inside{};
    boost::context::detail::fcontext_t outside{};
#else
    ucontext_t inside{};
    ucontext_t outside{};
    static thread_local Impl* starting; // makecontext passes no pointers
#endif
#ifdef HALFSCOPE_FIBER_TSAN
    void* tsan = nullptr;
    void* outsideTsan = nullptr;
#endif
#ifdef __SANITIZE_ADDRESS__
    void* fakeStack = nullptr;
    const void* outsideBottom = nullptr;
    std::size_t outsideSize = 0;
#endif
};

#ifndef HALFSCOPE_FIBER_BOOST
thread_local Fiber::Impl* Fiber::Impl::starting = nullptr;
#endif

Fiber::Fiber(Body body) : m_impl(std::make_unique<Impl>(body)) {}
Fiber::~Fiber() = default;
void Fiber::resume() { m_impl->enter(); }
void Fiber::suspend() { m_impl->leave(); }

#ifdef HALFSCOPE_FIBER_TSAN
void release(void* p) { __tsan_release(p); }
void acquire(void* p) { __tsan_acquire(p); }
#else
void release(void*) {}
void acquire(void*) {}
#endif

} // namespace simt
