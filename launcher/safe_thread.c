#include "safe_thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "restart.h"
#include "stacks/cfi.h"

/* ---- the loader's locks */

/* The part of the C library's pthread_mutex_t that is the same in all versions. */
struct mutex {
    int32_t lock;
    uint32_t count;
    int32_t owner;
    uint32_t users;
    int32_t kind;
    int16_t spins, elision;
    uint64_t list[2];
};
_Static_assert(sizeof(struct mutex) == 40, "that of a pthread_mutex_t");

static bool is_loader_lock(const struct mutex *m)
{
    enum { RECURSIVE = 1 };
    return m->kind == RECURSIVE && !m->spins && !m->elision && m->lock >= 0 && m->lock <= 2 &&
           m->users <= 1;
}

/* The loader's global state has no public layout. Two or three recursive mutexes in a row are its
 * locks: of loading, of changing the list of objects, and of thread-local storage. */
static bool find_locks(struct mpl_safety *s)
{
    enum { STATE_BYTES = 8192, AT_LEAST = 2 };
    static uint8_t state[STATE_BYTES];
    const uintptr_t at = mpl_remote_symbol(s->process, s->process->loader, "_rtld_global");
    if (!at) return false;
    size_t bytes = STATE_BYTES;
    while (bytes && !mpl_remote_get(s->process, at, state, bytes)) bytes /= 2;
    for (size_t i = 0; i + MPL_LOADER_LOCKS * sizeof(struct mutex) <= bytes; i += 8) {
        struct mutex m[MPL_LOADER_LOCKS];
        memcpy(m, state + i, sizeof m);
        size_t count = 0;
        while (count < MPL_LOADER_LOCKS && is_loader_lock(&m[count])) count++;
        if (count < AT_LEAST) continue;
        for (size_t k = 0; k < count; k++) s->lock[k] = at + i + k * sizeof *m;
        return true;
    }
    return false;
}

static bool locks_are_free(const struct mpl_safety *s)
{
    struct mutex m;
    for (size_t i = 0; i < MPL_LOADER_LOCKS; i++)
        if (s->lock[i] &&
            (!mpl_remote_get(s->process, s->lock[i], &m, sizeof m) || m.lock || m.owner || m.count))
            return false;
    return true;
}

/* ---- functions of libc */

static void add_range(void *arg, struct mpl_range range)
{
    struct mpl_ranges *ranges = arg;
    if (ranges->count < MPL_RANGES) ranges->range[ranges->count++] = range;
}

static bool is_in(const struct mpl_ranges *ranges, uintptr_t pc)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (pc >= ranges->range[i].from && pc < ranges->range[i].to) return true;
    return false;
}

/* Allocation, creation and end of threads and processes, changes of all threads' IDs, loading of
 * objects. */
static const char *const holders[] = { "malloc",
                                       "free",
                                       "calloc",
                                       "realloc",
                                       "reallocarray",
                                       "memalign",
                                       "aligned_alloc",
                                       "posix_memalign",
                                       "valloc",
                                       "pvalloc",
                                       "malloc_trim",
                                       "malloc_info",
                                       "malloc_stats",
                                       "mallinfo",
                                       "mallinfo2",
                                       "mallopt",
                                       "malloc_usable_size",
                                       "cfree",
                                       "fork",
                                       "_Fork",
                                       "vfork",
                                       "clone",
                                       "posix_spawn",
                                       "posix_spawnp",
                                       "system",
                                       "popen",
                                       "pthread_create",
                                       "pthread_exit",
                                       "pthread_detach",
                                       "pthread_getattr_np",
                                       "pthread_setattr_default_np",
                                       "pthread_cancel",
                                       "__register_atfork",
                                       "__cxa_atexit",
                                       "__cxa_at_quick_exit",
                                       "on_exit",
                                       "exit",
                                       "quick_exit",
                                       "_exit",
                                       "_Exit",
                                       "abort",
                                       "__cxa_finalize",
                                       "setuid",
                                       "setgid",
                                       "seteuid",
                                       "setegid",
                                       "setreuid",
                                       "setregid",
                                       "setresuid",
                                       "setresgid",
                                       "setgroups",
                                       "initgroups",
                                       "dlopen",
                                       "dlmopen",
                                       "dlclose",
                                       "dlsym",
                                       "dlvsym",
                                       "dlerror",
                                       "dladdr",
                                       "dladdr1",
                                       "dlinfo",
                                       "dl_iterate_phdr",
                                       "__libc_dlopen_mode",
                                       "__libc_dlsym",
                                       "iconv_open",
                                       "iconv_close" };

static const char *const waiters[] = { "pthread_cond_wait",
                                       "pthread_cond_timedwait",
                                       "pthread_cond_clockwait",
                                       "pthread_join",
                                       "pthread_timedjoin_np",
                                       "pthread_clockjoin_np",
                                       "pthread_barrier_wait",
                                       "pthread_mutex_lock",
                                       "pthread_mutex_timedlock",
                                       "pthread_mutex_clocklock",
                                       "pthread_rwlock_rdlock",
                                       "pthread_rwlock_wrlock",
                                       "pthread_rwlock_timedrdlock",
                                       "pthread_rwlock_timedwrlock",
                                       "sem_wait",
                                       "sem_timedwait",
                                       "sem_clockwait",
                                       "cnd_wait",
                                       "cnd_timedwait",
                                       "mtx_lock",
                                       "thrd_join",
                                       "syscall" };

static void find_functions(struct mpl_safety *s)
{
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        mpl_remote_each_symbol(s->process, s->process->libc, holders[i], add_range, &s->holders);
    for (size_t i = 0; i < sizeof waiters / sizeof *waiters; i++)
        mpl_remote_each_symbol(s->process, s->process->libc, waiters[i], add_range, &s->waiters);
}

/* "mov $15, %rax; syscall": rt_sigreturn. */
static void find_restorer(struct mpl_safety *s)
{
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    const struct mpl_remote_object *libc = s->process->libc;
    const size_t bytes = libc->code_to - libc->code_from;
    uint8_t *const text = malloc(bytes);
    if (text && mpl_remote_get(s->process, libc->code_from, text, bytes)) {
        const uint8_t *found = memmem(text, bytes, code, sizeof code);
        if (found) s->restorer = libc->code_from + (uintptr_t)(found - text);
    }
    free(text);
}

/* Most stacks pass through these two objects. */
static void map_frames(const struct mpl_remote *process)
{
    mpl_remote_map_frames(process, mpl_remote_object_at(process, process->libc->code_from));
    mpl_remote_map_frames(process, mpl_remote_object_at(process, process->program->code_from));
}

bool mpl_safety_find(struct mpl_safety *s, const struct mpl_remote *process)
{
    *s = (struct mpl_safety){ .process = process };
    find_functions(s);
    find_restorer(s);
    map_frames(process);
    return find_locks(s) && s->restorer && s->holders.count && s->waiters.count &&
           s->holders.count < MPL_RANGES && s->waiters.count < MPL_RANGES;
}

/* ---- from frame to frame */

struct frame {
    uintptr_t pc, sp, fp;
};

/* Returns the rule of an address in an object, as in the process itself: addresses in the tables
 * are relative to the tables. */
static struct mp_frame_rule rule_at(const struct mpl_safety *s, uintptr_t pc)
{
    struct mp_frame_rule none = { .kind = MP_FRAME_NONE };
    struct mpl_remote_object *o = mpl_remote_object_at(s->process, pc);
    if (!o || !mpl_remote_map_frames(s->process, o)) return none;
    const uintptr_t header = o->frames - o->segment_from;
    const struct mp_cfi_tables tables = { o->segment, o->segment + o->segment_bytes,
                                          o->segment + header };
    return mp_cfi_rule_in(&tables, pc - o->segment_from + (uintptr_t)o->segment);
}

static bool read_word(const struct mpl_safety *s, uintptr_t at, uintptr_t *out)
{
    return mpl_remote_get(s->process, at, out, sizeof *out);
}

static bool frame_address(const struct mpl_safety *s, const struct frame *f,
                          const struct mp_frame_rule *rule, uintptr_t *out)
{
    const uintptr_t offset = (uintptr_t)(intptr_t)rule->frame;
    switch (rule->kind) {
    case MP_FRAME_SP: *out = f->sp + offset; return true;
    case MP_FRAME_FP: *out = f->fp + offset; return true;
    case MP_FRAME_AT_FP: return read_word(s, f->fp + offset, out);
    default: return false;
    }
}

/* The return address is below the frame's address. */
static bool find_caller(const struct mpl_safety *s, struct frame *f,
                        const struct mp_frame_rule *rule)
{
    uintptr_t address, pc, fp = f->fp;
    const uintptr_t offset = (uintptr_t)(intptr_t)rule->fp;
    if (rule->return_kind != MP_RETURN_BELOW || !frame_address(s, f, rule, &address) ||
        address <= f->sp || !read_word(s, address - sizeof pc, &pc))
        return false;
    if (rule->fp_kind == MP_FP_SAVED && !read_word(s, address + offset, &fp)) return false;
    if (rule->fp_kind == MP_FP_AT_FP && !read_word(s, f->fp + offset, &fp)) return false;
    *f = (struct frame){ pc, address, fp };
    return true;
}

/* The kernel has stored the interrupted registers above the address that a handler returns to. */
static bool find_interrupted(const struct mpl_safety *s, struct frame *f)
{
    ucontext_t u;
    if (!mpl_remote_get(s->process, f->sp, &u, sizeof u)) return false;
    const greg_t *g = u.uc_mcontext.gregs;
    *f = (struct frame){ (uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP], (uintptr_t)g[REG_RBP] };
    return true;
}

/* ---- what a thread may be doing */

static bool is_in_object(const struct mpl_remote_object *o, uintptr_t pc)
{
    return pc >= o->code_from && pc < o->code_to;
}

static bool is_in_system_code(const struct mpl_safety *s, uintptr_t pc)
{
    const struct mpl_remote *p = s->process;
    return is_in_object(p->libc, pc) || is_in_object(p->loader, pc) ||
           is_in_object(p->allocator, pc) || (pc >= p->vdso.from && pc < p->vdso.to) ||
           (p->memprof && is_in_object(p->memprof, pc));
}

/* Returns true if the call that returns to pc may be made with a lock that dlopen needs. */
static bool may_hold(const struct mpl_safety *s, uintptr_t pc)
{
    const struct mpl_remote *p = s->process;
    if (is_in_object(p->loader, pc) || (p->memprof && is_in_object(p->memprof, pc))) return true;
    if (p->allocator != p->libc && is_in_object(p->allocator, pc)) return true;
    return is_in(&s->holders, pc);
}

/* Walks to the thread's first function. @waits: it waits for a futex, perhaps in a function of libc
 * that holds locks. Then the innermost function of libc that can be identified must be a known one.
 */
static bool callers_are_safe(const struct mpl_safety *s, struct frame f, bool waits)
{
    enum { FRAMES_MAX = 512 };
    bool interrupted = true, known = !waits || !is_in_object(s->process->libc, f.pc);
    for (int i = 0; i < FRAMES_MAX; i++) {
        const uintptr_t pc = interrupted ? f.pc : f.pc - 1;
        if (may_hold(s, pc)) return false;
        if (!known) {
            if (!is_in_object(s->process->libc, pc)) return false; /* not identified */
            known = is_in(&s->waiters, pc);
        }
        const struct mp_frame_rule rule = rule_at(s, pc);
        interrupted = rule.kind == MP_FRAME_SIGNAL;
        if (rule.kind == MP_FRAME_END) return known;
        if (!interrupted) {
            if (!find_caller(s, &f, &rule)) return false;
            if (!f.pc) return known;
        } else if (!find_interrupted(s, &f) || is_in_system_code(s, f.pc)) return false;
    }
    return false;
}

bool mpl_is_safe(const struct mpl_safety *s, const struct user_regs_struct *regs)
{
    const struct frame here = { regs->rip, regs->rsp, regs->rbp };
    const bool in_call = mpl_is_in_call(regs);
    if (in_call ? !mpl_waits_safely(regs) || is_in_object(s->process->loader, regs->rip)
                : is_in_system_code(s, regs->rip))
        return false;
    return locks_are_free(s) && callers_are_safe(s, here, in_call && regs->orig_rax == SYS_futex);
}
