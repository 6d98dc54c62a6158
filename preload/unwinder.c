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

/* Its words, but the last. */
struct bounds { uintptr_t low, bytes; };
static struct bounds words_of_stack(void) { return (struct bounds){ stack.low, ((uintptr_t)stack.words - 1) * sizeof(uintptr_t) }; }
static inline bool within(struct bounds b, uintptr_t at) { return !(at & 7) && at - b.low < b.bytes; }

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

/* Below a frame only its red zone is read: a stack may not be mapped there. */
static inline bool read_word(const struct mp_frame *f, struct bounds b, uintptr_t at, uintptr_t *out)
{
    enum { RED_ZONE = 128 };
    if (!within(b, at) || at < f->rsp - RED_ZONE) return false;
    *out = *(const uintptr_t *)at;
    return true;
}

/* ---- from frame to frame */

/* What the kernel saved when it called the handler that this frame is below of. */
static bool before_signal(struct mp_frame *f)
{
    const ucontext_t *u = (const ucontext_t *)f->rsp;
    if (!on_stack(f->rsp) || above(f->rsp) < sizeof *u) return false;
    const greg_t *g = u->uc_mcontext.gregs;
    *f = (struct mp_frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP], (uintptr_t)g[REG_RBP] };
    return on_stack(f->rsp) || look_up_stack(f->rsp);
}

static inline enum mp_frame_kind kind_of(uint64_t rule) { return (enum mp_frame_kind)(rule >> KIND_SHIFT & 15); }

static inline bool frame_address(const struct mp_frame *f, struct bounds b, uint64_t rule, uintptr_t *out)
{
    const int32_t offset = offset_of(rule, FRAME_SHIFT);
    switch (kind_of(rule)) {
    case MP_FRAME_RSP: *out = f->rsp + (uintptr_t)offset; return true;
    case MP_FRAME_RBP: *out = f->rbp + (uintptr_t)offset; return true;
    case MP_FRAME_AT_RBP: return read_word(f, b, f->rbp + (uintptr_t)offset, out);
    default: return false;
    }
}

/* Where the caller's rbp was saved; 0: nowhere. */
static inline uintptr_t place_of_rbp(const struct mp_frame *f, uint64_t rule, uintptr_t address)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, RBP_SHIFT);
    switch ((enum mp_rbp_kind)(rule >> RBP_KIND_SHIFT & 15)) {
    case MP_RBP_SAVED: return address + offset;
    case MP_RBP_AT_RBP: return f->rbp + offset;
    default: return 0;
    }
}

/* To the caller; false: there is none, or it cannot be found.  Frames lie one above the other. */
static inline bool step(struct mp_frame *f, struct bounds b, uint64_t rule, uintptr_t *rbp_at)
{
    uintptr_t address, pc, rbp = f->rbp;
    if (!frame_address(f, b, rule, &address) || address <= f->rsp) return false;
    *rbp_at = place_of_rbp(f, rule, address);
    if (!read_word(f, b, address - sizeof pc, &pc) || (*rbp_at && !read_word(f, b, *rbp_at, &rbp))) return false;
    *f = (struct mp_frame){ pc, address, rbp };
    return pc != 0;
}

/* ---- steps made before */

static uint64_t key_of(uintptr_t pc, uint64_t generation) { return pc ^ generation << 47; }

static inline struct mp_step *place_of(struct mp_step *steps, const struct mp_frame *f)
{
    return &steps[(f->rsp >> 3 ^ f->pc) % MP_STEPS];
}

/* What it read is read again, on the stack as it is now: false where anything differs. */
static inline bool step_again(const struct mp_step *s, struct mp_frame *f, struct bounds b, uint64_t key)
{
    const uintptr_t pc_at = s->to.rsp - sizeof s->to.pc;
    if (s->key != key || s->rsp != f->rsp || s->rbp != f->rbp) return false;
    if (!within(b, pc_at) || *(const uintptr_t *)pc_at != s->to.pc) return false;
    if (s->rbp_at && (!within(b, s->rbp_at) || *(const uintptr_t *)s->rbp_at != s->to.rbp)) return false;
    *f = s->to;
    return true;
}

/* From a return address, which is behind its call. */
static inline bool step_known(struct mp_step *steps, struct mp_frame *f, struct bounds b, uint64_t generation, uint64_t *rule)
{
    struct mp_step *s = steps ? place_of(steps, f) : NULL;
    const uint64_t key = key_of(f->pc, generation);
    if (s && step_again(s, f, b, key)) return true;
    const struct mp_frame from = *f;
    uintptr_t rbp_at;
    *rule = rule_at(f->pc - 1, generation);
    if (kind_of(*rule) == MP_FRAME_SIGNAL || !step(f, b, *rule, &rbp_at)) return false;
    if (s && kind_of(*rule) != MP_FRAME_AT_RBP) *s = (struct mp_step){ key, from.rsp, from.rbp, rbp_at, *f };
    return true;
}

bool mp_unwind_init(void) { return mp_cfi_init(); }

__attribute__((noinline)) unsigned mp_unwind(struct mp_step *steps, uint64_t *pc, unsigned max, uint32_t generation)
{
    struct mp_frame f;
    unsigned n = 0;
    uintptr_t rbp_at;
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" : "=r"(f.pc), "=r"(f.rsp), "=r"(f.rbp));
    if (!on_stack(f.rsp) && !look_up_stack(f.rsp)) return 0;
    struct bounds b = words_of_stack();
    uint64_t rule = rule_at(f.pc, generation);
    bool more = step(&f, b, rule, &rbp_at);
    while (more && n < max) {
        pc[n++] = f.pc;
        more = step_known(steps, &f, b, generation, &rule);
        if (more || kind_of(rule) != MP_FRAME_SIGNAL) continue;
        /* what a signal interrupted is the address that runs next */
        if (n == max || !before_signal(&f)) break;
        pc[n++] = f.pc;
        b = words_of_stack();
        rule = rule_at(f.pc, generation);
        more = kind_of(rule) != MP_FRAME_SIGNAL && step(&f, b, rule, &rbp_at);
    }
    return n;
}
