#include "unwinder.h"

#include <stddef.h>
#include <ucontext.h>

#include "cfi.h"
#include "module.h"
#include "sys.h"

/* ---- rules found before */

enum { CACHE = 1 << 16 };

/* A rule in 64 bits.  check is address ^ rule ^ generation (module.h) above all addresses: of a pair that two threads have
 * written half each, or that is of code that may be gone, nobody takes anything. */
static struct { uint64_t check, rule; } cache[CACHE];

enum { KIND_SHIFT = 0, RBP_KIND_SHIFT = 4, FRAME_SHIFT = 8, RBP_SHIFT = 36, OFFSET_BITS = 28 };

static uint64_t pack(struct mp_frame_rule r)
{
    const uint64_t mask = (UINT64_C(1) << OFFSET_BITS) - 1;
    return (uint64_t)r.kind << KIND_SHIFT | (uint64_t)r.rbp_kind << RBP_KIND_SHIFT | ((uint64_t)r.frame & mask) << FRAME_SHIFT |
           ((uint64_t)r.rbp & mask) << RBP_SHIFT;
}

static int32_t offset_of(uint64_t rule, unsigned shift) { return (int32_t)((int64_t)(rule << (64 - OFFSET_BITS - shift)) >> (64 - OFFSET_BITS)); }

static uint64_t rule_at(uintptr_t pc, uint64_t generation)
{
    const size_t i = pc * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    const uint64_t rule = __atomic_load_n(&cache[i].rule, __ATOMIC_RELAXED), key = pc ^ generation << 47;
    if (__atomic_load_n(&cache[i].check, __ATOMIC_RELAXED) == (key ^ rule)) return rule;
    const uint64_t found = pack(mp_cfi_rule(pc));
    __atomic_store_n(&cache[i].check, key ^ found, __ATOMIC_RELAXED);
    __atomic_store_n(&cache[i].rule, found, __ATOMIC_RELAXED);
    return found;
}

/* ---- the stack that the thread is on */

static __thread struct {
    uintptr_t low;              /* where what is mapped of the thread's stack begins */
    uint32_t words, looked_up;  /* its length, 0 before it is looked up; how often it was */
} stack __attribute__((tls_model("initial-exec")));

/* Bytes from here to the stack's end; 0: not on it. */
static uintptr_t above(uintptr_t at)
{
    const uintptr_t bytes = (uintptr_t)stack.words * sizeof(uintptr_t);
    return at - stack.low < bytes ? bytes - (at - stack.low) : 0;
}

static bool on_stack(uintptr_t at) { return !(at & 7) && above(at) >= 2 * sizeof(uintptr_t); }

static void set_stack(uintptr_t low, uintptr_t end)
{
    const uintptr_t words = (end - low) / sizeof(uintptr_t);
    stack.low = low;
    stack.words = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

/* The main thread's ends where the loader says, and the kernel puts nothing into the 128 MiB below.  Any other stack is
 * the mapping that it is in: a program that goes from one coroutine's to the next is followed for a while only. */
static bool look_up_stack(uintptr_t at)
{
    enum { MAIN_STACK = 128 << 20, LOOKS = 64 };
    extern void *__libc_stack_end __attribute__((weak));
    const uintptr_t main_end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    uintptr_t low = main_end - MAIN_STACK, end = main_end;
    const bool is_main = at < main_end && main_end - at < MAIN_STACK;
    if (!is_main && (stack.looked_up++ >= LOOKS || !mp_module_mapping(at, &low, &end))) return false;
    set_stack(low, end);
    return on_stack(at);
}

struct frame { uintptr_t pc, rsp, rbp; };

/* Below a frame only its red zone is read: a stack may not be mapped there. */
static bool read_word(const struct frame *f, uintptr_t at, uintptr_t *out)
{
    enum { RED_ZONE = 128 };
    if (!on_stack(at) || at < f->rsp - RED_ZONE) return false;
    *out = *(const uintptr_t *)at;
    return true;
}

/* ---- from frame to frame */

/* What the kernel saved when it called the handler that this frame is below of. */
static bool before_signal(struct frame *f)
{
    const ucontext_t *u = (const ucontext_t *)f->rsp;
    if (!on_stack(f->rsp) || above(f->rsp) < sizeof *u) return false;
    const greg_t *g = u->uc_mcontext.gregs;
    *f = (struct frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP], (uintptr_t)g[REG_RBP] };
    return on_stack(f->rsp) || look_up_stack(f->rsp);
}

static bool frame_address(const struct frame *f, uint64_t rule, uintptr_t *out)
{
    const int32_t offset = offset_of(rule, FRAME_SHIFT);
    switch ((enum mp_frame_kind)(rule >> KIND_SHIFT & 15)) {
    case MP_FRAME_RSP: *out = f->rsp + (uintptr_t)offset; return true;
    case MP_FRAME_RBP: *out = f->rbp + (uintptr_t)offset; return true;
    case MP_FRAME_AT_RBP: return read_word(f, f->rbp + (uintptr_t)offset, out);
    default: return false;
    }
}

static bool caller_rbp(const struct frame *f, uint64_t rule, uintptr_t address, uintptr_t *out)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, RBP_SHIFT);
    switch ((enum mp_rbp_kind)(rule >> RBP_KIND_SHIFT & 15)) {
    case MP_RBP_SAVED: return read_word(f, address + offset, out);
    case MP_RBP_AT_RBP: return read_word(f, f->rbp + offset, out);
    default: *out = f->rbp; return true;
    }
}

/* To the caller; false: there is none, or it cannot be found.  Frames lie one above the other. */
static bool step(struct frame *f, uint64_t rule)
{
    uintptr_t address, pc, rbp;
    if (!frame_address(f, rule, &address) || address <= f->rsp) return false;
    if (!read_word(f, address - sizeof pc, &pc) || !caller_rbp(f, rule, address, &rbp)) return false;
    *f = (struct frame){ pc, address, rbp };
    return pc != 0;
}

bool mp_unwind_init(void) { return mp_cfi_init(); }

__attribute__((noinline)) unsigned mp_unwind(uint64_t *pc, unsigned max, uint32_t generation)
{
    struct frame f;
    unsigned n = 0;
    bool exact = true;          /* the address that runs next; a return address is behind its call */
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" : "=r"(f.pc), "=r"(f.rsp), "=r"(f.rbp));
    if (!on_stack(f.rsp) && !look_up_stack(f.rsp)) return 0;
    while (n < max) {
        const uint64_t rule = rule_at(exact ? f.pc : f.pc - 1, generation);
        exact = (rule >> KIND_SHIFT & 15) == MP_FRAME_SIGNAL;
        if (exact ? !before_signal(&f) : !step(&f, rule)) break;
        pc[n++] = f.pc;
    }
    return n;
}
