#include "stacks/unwinder.h"

#include <stddef.h>
#include <ucontext.h>

#include "base/sys.h"
#include "stacks/cfi.h"
#include "stacks/module.h"

/* ---- rules found before */

enum { CACHE = 1 << 16 };

/* A rule in 64 bits.  check is address ^ rule ^ generation (module.h) above all addresses: of a
 * pair that two threads have written half each, or that is of code that may be gone, nobody takes
 * anything. */
static struct {
    uint64_t check, rule;
} cache[CACHE];

enum { KIND_SHIFT = 0, RBP_KIND_SHIFT = 4, FRAME_SHIFT = 8, RBP_SHIFT = 36, OFFSET_BITS = 28 };

static uint64_t pack(struct mp_frame_rule r)
{
    const uint64_t mask = (UINT64_C(1) << OFFSET_BITS) - 1;
    return (uint64_t)r.kind << KIND_SHIFT | (uint64_t)r.rbp_kind << RBP_KIND_SHIFT |
           ((uint64_t)r.frame & mask) << FRAME_SHIFT | ((uint64_t)r.rbp & mask) << RBP_SHIFT;
}

static int32_t offset_of(uint64_t rule, unsigned shift)
{
    return (int32_t)((int64_t)(rule << (64 - OFFSET_BITS - shift)) >> (64 - OFFSET_BITS));
}

static uint64_t rule_at(uintptr_t pc, uint64_t generation)
{
    const size_t i = pc * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    const uint64_t rule = __atomic_load_n(&cache[i].rule, __ATOMIC_RELAXED),
                   key = pc ^ generation << 47;
    if (__atomic_load_n(&cache[i].check, __ATOMIC_RELAXED) == (key ^ rule)) return rule;
    const uint64_t found = pack(mp_cfi_rule(pc));
    __atomic_store_n(&cache[i].check, key ^ found, __ATOMIC_RELAXED);
    __atomic_store_n(&cache[i].rule, found, __ATOMIC_RELAXED);
    return found;
}

/* ---- the stack that the thread is on */

static __thread struct {
    uintptr_t low;             /* where what is mapped of the thread's stack begins */
    uint32_t words, looked_up; /* its length, 0 before it is looked up; how often it was */
} stack __attribute__((tls_model("initial-exec")));

/* Bytes from here to the stack's end; 0: not on it. */
static uintptr_t above(uintptr_t at)
{
    const uintptr_t bytes = (uintptr_t)stack.words * sizeof(uintptr_t);
    return at - stack.low < bytes ? bytes - (at - stack.low) : 0;
}

static bool on_stack(uintptr_t at) { return !(at & 7) && above(at) >= 2 * sizeof(uintptr_t); }

static struct mp_bounds words_of_stack(void)
{
    return (struct mp_bounds){ stack.low, ((uintptr_t)stack.words - 1) * sizeof(uintptr_t) };
}
static inline bool within(struct mp_bounds b, uintptr_t at)
{
    return !(at & 7) && at - b.low < b.bytes;
}

static void set_stack(uintptr_t low, uintptr_t end)
{
    const uintptr_t words = (end - low) / sizeof(uintptr_t);
    stack.low = low;
    stack.words = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

/* The main thread's ends where the loader says, and the kernel puts nothing into the 128 MiB below.
 * Any other stack is the mapping that it is in: a program that goes from one coroutine's to the
 * next is followed for a while only. */
static bool look_up_stack(uintptr_t at)
{
    enum { MAIN_STACK = 128 << 20, LOOKS = 64 };
    extern void *__libc_stack_end __attribute__((weak));
    const uintptr_t main_end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    uintptr_t low = main_end - MAIN_STACK, end = main_end;
    const bool is_main = at < main_end && main_end - at < MAIN_STACK;
    if (!is_main && (stack.looked_up++ >= LOOKS || !mp_module_mapping(at, &low, &end)))
        return false;
    set_stack(low, end);
    return on_stack(at);
}

bool mp_unwind_bounds(uintptr_t rsp, struct mp_bounds *out)
{
    if (!on_stack(rsp) && !look_up_stack(rsp)) return false;
    *out = words_of_stack();
    return true;
}

/* Below a frame only its red zone is read: a stack may not be mapped there. */
static inline const uintptr_t *word_at(const struct mp_frame *f, struct mp_bounds b, uintptr_t at)
{
    enum { RED_ZONE = 128 };
    return within(b, at) && at >= f->rsp - RED_ZONE ? (const uintptr_t *)at : NULL;
}

static inline bool read_word(const uintptr_t *at, uintptr_t *out, struct mp_reads *reads)
{
    if (!at) return false;
    *out = *at;
    reads->read[reads->count++] = (struct mp_read){ at, *out };
    return true;
}

/* ---- from frame to frame */

/* What the kernel saved when it called the handler that this frame is below of. */
static bool before_signal(struct mp_frame *f)
{
    const ucontext_t *u = (const ucontext_t *)f->rsp;
    if (!on_stack(f->rsp) || above(f->rsp) < sizeof *u) return false;
    const greg_t *g = u->uc_mcontext.gregs;
    *f = (struct mp_frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP],
                            (const uintptr_t *)&g[REG_RBP] };
    return on_stack(f->rsp) || look_up_stack(f->rsp);
}

static inline enum mp_frame_kind kind_of(uint64_t rule)
{
    return (enum mp_frame_kind)(rule >> KIND_SHIFT & 15);
}

static inline enum mp_rbp_kind rbp_kind_of(uint64_t rule)
{
    return (enum mp_rbp_kind)(rule >> RBP_KIND_SHIFT & 15);
}

static inline bool needs_rbp(uint64_t rule)
{
    return kind_of(rule) == MP_FRAME_RBP || kind_of(rule) == MP_FRAME_AT_RBP ||
           rbp_kind_of(rule) == MP_RBP_AT_RBP;
}

static inline bool frame_address(const struct mp_frame *f, struct mp_bounds b, uint64_t rule,
                                 uintptr_t rbp, uintptr_t *out, struct mp_reads *reads)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, FRAME_SHIFT);
    switch (kind_of(rule)) {
    case MP_FRAME_RSP: *out = f->rsp + offset; return true;
    case MP_FRAME_RBP: *out = rbp + offset; return true;
    case MP_FRAME_AT_RBP: return read_word(word_at(f, b, rbp + offset), out, reads);
    default: return false;
    }
}

/* Where the caller's rbp was saved. */
static inline const uintptr_t *caller_rbp_at(const struct mp_frame *f, struct mp_bounds b,
                                             uint64_t rule, uintptr_t rbp, uintptr_t address)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, RBP_SHIFT);
    switch (rbp_kind_of(rule)) {
    case MP_RBP_SAVED: return word_at(f, b, address + offset);
    case MP_RBP_AT_RBP: return word_at(f, b, rbp + offset);
    default: return f->rbp_at;
    }
}

/* To the caller; false: there is none, or it cannot be found.  Frames lie one above the other. */
static inline bool step(struct mp_frame *f, struct mp_bounds b, uint64_t rule,
                        struct mp_reads *reads)
{
    uintptr_t address, pc, rbp = 0;
    reads->count = 0;
    if (needs_rbp(rule) && !read_word(f->rbp_at, &rbp, reads)) return false;
    if (!frame_address(f, b, rule, rbp, &address, reads) || address <= f->rsp) return false;
    if (!read_word(word_at(f, b, address - sizeof pc), &pc, reads)) return false;
    *f = (struct mp_frame){ pc, address, caller_rbp_at(f, b, rule, rbp, address) };
    return pc != 0;
}

/* A return address is behind its call. */
enum mp_step mp_unwind_step(struct mp_frame *f, struct mp_bounds b, uint32_t generation,
                            struct mp_reads *reads)
{
    const uint64_t rule = rule_at(f->pc - 1, generation);
    switch (kind_of(rule)) {
    case MP_FRAME_SIGNAL: return MP_STEP_SIGNAL;
    case MP_FRAME_END:
    case MP_FRAME_NONE: return MP_STEP_NO_CALLER;
    default: return step(f, b, rule, reads) ? MP_STEP_MADE : MP_STEP_FAILED;
    }
}

/* What a signal interrupted is the address that runs next. */
static bool step_interrupted(struct mp_frame *f, struct mp_bounds *b, uint32_t generation)
{
    struct mp_reads reads;
    *b = words_of_stack();
    return step(f, *b, rule_at(f->pc, generation), &reads);
}

bool mp_unwind_init(void) { return mp_cfi_init(); }

unsigned mp_unwind(const struct mp_frame *from, uint64_t pc[MP_UNWIND_MAX], uint32_t generation)
{
    struct mp_frame f = *from;
    struct mp_bounds b;
    struct mp_reads reads;
    unsigned n = 0;
    for (bool more = mp_unwind_bounds(f.rsp, &b); more && n < MP_UNWIND_MAX;) {
        pc[n++] = f.pc;
        const enum mp_step how = mp_unwind_step(&f, b, generation, &reads);
        more = how == MP_STEP_MADE;
        if (how != MP_STEP_SIGNAL || n == MP_UNWIND_MAX || !before_signal(&f)) continue;
        pc[n++] = f.pc;
        more = step_interrupted(&f, &b, generation);
    }
    return n;
}
