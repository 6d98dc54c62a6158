#include "stacks/unwinder.h"

#include <stddef.h>

#include "base/cold.h"
#include "base/sys.h"
#include "stacks/cfi.h"
#include "stacks/module.h"
#include "stacks/registers.h"

/* ---- cached rules */

enum { CACHE = 1 << 16 };

/* A rule in 64 bits. check is address ^ rule ^ generation (module.h), in bits above all addresses,
 * so that a pair which two threads have half written, or which belongs to unloaded code, does not
 * match. */
struct kept_rule {
    uint64_t check, rule;
};
static void *rules; /* CACHE of them, mapped at the first walk */

enum {
    KIND_SHIFT = 0,
    FP_KIND_SHIFT = 3,
    RETURN_KIND_SHIFT = 5,
    FRAME_SHIFT = 8,
    FP_SHIFT = 36,
    OFFSET_BITS = 28
};

static uint64_t pack(struct mp_frame_rule r)
{
    const uint64_t mask = (UINT64_C(1) << OFFSET_BITS) - 1;
    return (uint64_t)r.kind << KIND_SHIFT | (uint64_t)r.fp_kind << FP_KIND_SHIFT |
           (uint64_t)r.return_kind << RETURN_KIND_SHIFT |
           ((uint64_t)r.frame & mask) << FRAME_SHIFT | ((uint64_t)r.fp & mask) << FP_SHIFT;
}

static int32_t offset_of(uint64_t rule, unsigned shift)
{
    return (int32_t)((int64_t)(rule << (64 - OFFSET_BITS - shift)) >> (64 - OFFSET_BITS));
}

/* Only a new address needs this much space on the program's stack. */
static MP_COLD uint64_t look_up(uintptr_t pc) { return pack(mp_cfi_rule(pc)); }

static uint64_t rule_at(uintptr_t pc, uint64_t generation)
{
    struct kept_rule *const cache = mp_sys_map_once(&rules, CACHE * sizeof *cache, false);
    if (!cache) return pack(mp_cfi_rule(pc));
    struct kept_rule *const kept = &cache[pc * UINT64_C(0x9e3779b97f4a7c15) >> 48];
    const uint64_t rule = __atomic_load_n(&kept->rule, __ATOMIC_RELAXED),
                   key = pc ^ generation << 47;
    if (__atomic_load_n(&kept->check, __ATOMIC_RELAXED) == (key ^ rule)) return rule;
    const uint64_t found = look_up(pc);
    __atomic_store_n(&kept->check, key ^ found, __ATOMIC_RELAXED);
    __atomic_store_n(&kept->rule, found, __ATOMIC_RELAXED);
    return found;
}

/* ---- the stack of the thread */

static __thread struct {
    uintptr_t low;             /* the start of the mapped part of the thread's stack */
    uint32_t words, looked_up; /* its length, or 0 before the first look-up; number of look-ups */
} stack __attribute__((tls_model("initial-exec")));

/* Returns the bytes from here to the stack's end, or 0 if the address is not on it. */
static uintptr_t above(uintptr_t at)
{
    const uintptr_t bytes = (uintptr_t)stack.words * sizeof(uintptr_t);
    return at - stack.low < bytes ? bytes - (at - stack.low) : 0;
}

static bool on_stack(uintptr_t at) { return !(at & 7) && above(at) >= 2 * sizeof(uintptr_t); }

static struct mp_bounds words_of_stack(void)
{
    return (struct mp_bounds){ stack.low, (uintptr_t)stack.words * sizeof(uintptr_t) };
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

/* The main thread's stack ends where the loader reports, and the kernel keeps the 128 MiB below
 * free. Any other stack is the mapping that contains it. In a program that switches between
 * coroutines, the stack is looked up only a limited number of times. */
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

bool mp_unwind_bounds(uintptr_t sp, struct mp_bounds *out)
{
    if (!on_stack(sp) && !look_up_stack(sp)) return false;
    *out = words_of_stack();
    return true;
}

/* Below a frame only its red zone is read, because the stack may not be mapped there. */
static inline const uintptr_t *word_at(const struct mp_frame *f, struct mp_bounds b, uintptr_t at)
{
    return within(b, at) && at >= f->sp - MP_RED_ZONE ? (const uintptr_t *)at : NULL;
}

static inline bool read_word(const uintptr_t *at, uintptr_t *out, struct mp_reads *reads)
{
    if (!at) return false;
    *out = *at;
    reads->read[reads->count++] = (struct mp_read){ at, *out };
    return true;
}

/* ---- from frame to frame */

/* Restores the frame that the kernel saved when it called the handler. */
static bool before_signal(struct mp_frame *f, const uintptr_t **link)
{
    const ucontext_t *u = (const ucontext_t *)(f->sp + MP_SIGNAL_INFO);
    if (!on_stack(f->sp) || above(f->sp) < MP_SIGNAL_INFO + sizeof *u) return false;
    *f = mp_interrupted(u, link);
    return on_stack(f->sp) || look_up_stack(f->sp);
}

static inline enum mp_frame_kind kind_of(uint64_t rule)
{
    return (enum mp_frame_kind)(rule >> KIND_SHIFT & 7);
}

static inline enum mp_fp_kind fp_kind_of(uint64_t rule)
{
    return (enum mp_fp_kind)(rule >> FP_KIND_SHIFT & 3);
}

static inline enum mp_return_kind return_kind_of(uint64_t rule)
{
    return MP_RETURN_IS_BELOW ? MP_RETURN_BELOW
                              : (enum mp_return_kind)(rule >> RETURN_KIND_SHIFT & 3);
}

static inline bool needs_fp(uint64_t rule)
{
    return kind_of(rule) == MP_FRAME_FP || kind_of(rule) == MP_FRAME_AT_FP ||
           kind_of(rule) == MP_FRAME_RECORD || fp_kind_of(rule) == MP_FP_AT_FP;
}

static inline bool frame_address(const struct mp_frame *f, struct mp_bounds b, uint64_t rule,
                                 uintptr_t fp, uintptr_t *out, struct mp_reads *reads)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, FRAME_SHIFT);
    switch (kind_of(rule)) {
    case MP_FRAME_SP: *out = f->sp + offset; return true;
    case MP_FRAME_FP:
    case MP_FRAME_RECORD: *out = fp + offset; return true;
    case MP_FRAME_AT_FP: return read_word(word_at(f, b, fp + offset), out, reads);
    default: return false;
    }
}

/* Returns false if no table covers the address and no call precedes it. */
static bool is_code(uintptr_t pc, uint32_t generation)
{
    return kind_of(rule_at(pc - 1, generation)) != MP_FRAME_UNKNOWN;
}

/* Returns where the caller's fp was saved. */
static inline const uintptr_t *caller_fp_at(const struct mp_frame *f, struct mp_bounds b,
                                            uint64_t rule, uintptr_t fp, uintptr_t address)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, FP_SHIFT);
    switch (fp_kind_of(rule)) {
    case MP_FP_SAVED: return word_at(f, b, address + offset);
    case MP_FP_AT_FP: return word_at(f, b, fp + offset);
    default: return f->fp_at;
    }
}

/* Returns where the return address is. @link: its place if no instruction has saved it, or NULL. */
static inline const uintptr_t *return_at(const struct mp_frame *f, struct mp_bounds b,
                                         uint64_t rule, uintptr_t address, const uintptr_t *link)
{
    const uintptr_t offset = (uintptr_t)offset_of(rule, FP_SHIFT);
    switch (return_kind_of(rule)) {
    case MP_RETURN_BELOW: return word_at(f, b, address - sizeof *link);
    case MP_RETURN_BEHIND_FP: return word_at(f, b, address + offset + sizeof *link);
    case MP_RETURN_AT_FP: return word_at(f, b, address + offset);
    default: return link;
    }
}

/* Each frame is above the previous one. Only a frame that a signal interrupted may have no bytes. A
 * thread's first function is marked by a return address of 0, or a frame pointer of 0. Code without
 * a table may use fp for anything, so the result found by fp must be code. */
static inline enum mp_step find_caller(struct mp_frame *f, struct mp_bounds b, uint64_t rule,
                                       const uintptr_t *link, uint32_t generation,
                                       struct mp_reads *reads)
{
    uintptr_t address, pc, fp = 0;
    const bool by_record = kind_of(rule) == MP_FRAME_RECORD;
    if (needs_fp(rule) && !read_word(f->fp_at, &fp, reads)) return MP_STEP_FAILED;
    if (by_record && !fp) return MP_STEP_ROOT;
    if (!frame_address(f, b, rule, fp, &address, reads)) return MP_STEP_FAILED;
    if (address < f->sp || (address == f->sp && !link)) return MP_STEP_FAILED;
    if (!read_word(return_at(f, b, rule, address, link), &pc, reads)) return MP_STEP_FAILED;
    if (!pc) return MP_STEP_ROOT;
    if (by_record && !is_code(mp_machine_code(pc), generation)) return MP_STEP_FAILED;
    *f = (struct mp_frame){ mp_machine_code(pc), address, caller_fp_at(f, b, rule, fp, address) };
    return MP_STEP_MADE;
}

static inline enum mp_step step(struct mp_frame *f, struct mp_bounds b, uint64_t rule,
                                const uintptr_t *link, uint32_t generation, struct mp_reads *reads)
{
    reads->count = 0;
    switch (kind_of(rule)) {
    case MP_FRAME_SIGNAL: return MP_STEP_SIGNAL;
    case MP_FRAME_END: return MP_STEP_ROOT;
    case MP_FRAME_UNKNOWN:
    case MP_FRAME_NONE: return MP_STEP_NO_RULE;
    default: return find_caller(f, b, rule, link, generation, reads);
    }
}

/* A return address is the address after its call. */
enum mp_step mp_unwind_step(struct mp_frame *f, struct mp_bounds b, uint32_t generation,
                            struct mp_reads *reads)
{
    return step(f, b, rule_at(f->pc - 1, generation), NULL, generation, reads);
}

/* A signal interrupts at the address that runs next, so the rule is that of this address. It is
 * code, whatever precedes it. */
static enum mp_step step_interrupted(struct mp_frame *f, const uintptr_t *link, struct mp_bounds *b,
                                     uint32_t generation)
{
    struct mp_reads reads;
    uint64_t rule = rule_at(f->pc, generation);
    if (MP_RECORD_AT_TOP && kind_of(rule) == MP_FRAME_UNKNOWN) rule = pack(mp_cfi_record_rule());
    *b = words_of_stack();
    return step(f, *b, rule, link, generation, &reads);
}

bool mp_unwind_init(void) { return mp_cfi_init(); }

/* Returns why the callers of the last frame are missing. */
static enum mpf_cut cut_by(enum mp_step how)
{
    switch (how) {
    case MP_STEP_MADE: return MPF_CUT_DEPTH;
    case MP_STEP_ROOT: return MPF_CUT_NONE;
    case MP_STEP_NO_RULE: return MPF_CUT_RULE;
    default: return MPF_CUT_LOST;
    }
}

/* Collects the addresses of a walk. pc NULL: only computes the hash. */
struct frames {
    struct mp_hash hash;
    uint64_t *pc;
    unsigned count;
};

static inline void add(struct frames *to, uint64_t pc)
{
    to->hash = mp_hash_word(to->hash, pc);
    if (to->pc) to->pc[to->count] = pc;
    to->count++;
}

static enum mp_step unwind(const struct mp_frame *from, uint32_t generation, struct frames *to)
{
    struct mp_frame f = *from;
    struct mp_bounds b;
    struct mp_reads reads;
    const uintptr_t *link;
    enum mp_step how = mp_unwind_bounds(f.sp, &b) ? MP_STEP_MADE : MP_STEP_FAILED;
    while (how == MP_STEP_MADE && to->count < MP_UNWIND_MAX) {
        add(to, f.pc);
        how = mp_unwind_step(&f, b, generation, &reads);
        if (how != MP_STEP_SIGNAL || to->count == MP_UNWIND_MAX || !before_signal(&f, &link))
            continue;
        add(to, f.pc);
        how = step_interrupted(&f, link, &b, generation);
    }
    return how;
}

unsigned mp_unwind(const struct mp_frame *from, uint64_t pc[MP_UNWIND_MAX], uint32_t generation,
                   enum mpf_cut *cut)
{
    struct frames found = { mp_hash_of_none(), pc, 0 };
    *cut = cut_by(unwind(from, generation, &found));
    return found.count;
}

struct mp_hash mp_unwind_hash(const struct mp_frame *from, uint32_t generation)
{
    struct frames found = { mp_hash_of_none(), NULL, 0 };
    unwind(from, generation, &found);
    return found.hash;
}
