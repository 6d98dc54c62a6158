/* An id is in `seen` only after its STACK event is in the thread's chunk, and its modules before that, so that no event
 * names a stack or an address that the log does not explain. */
#include "stack.h"

#include <dlfcn.h>
#include <stddef.h>

#include "module.h"
#include "mpf/event.h"
#include "record.h"
#include "seen.h"
#include "sys.h"

enum { DEPTH = 48, SEEN = 1 << 15 };

/* The C ABI's unwinder, as libgcc_s and libunwind have it. */
struct unwind_context;
static int (*unwind)(int (*)(struct unwind_context *, void *), void *);
static uintptr_t (*unwind_ip)(struct unwind_context *);
enum { UNWIND_GO_ON = 0, UNWIND_STOP = 4 };

static uint64_t seen[SEEN];

bool mp_stack_init(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY);
    if (!library) return false;
    unwind_ip = (__typeof__(unwind_ip))dlsym(library, "_Unwind_GetIP");
    unwind = (__typeof__(unwind))dlsym(library, "_Unwind_Backtrace");
    return unwind && unwind_ip;
}

/* ---- taking one */

struct stack { uint64_t pc[DEPTH]; unsigned depth; };

extern const char own_start __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_end __asm__("_end") __attribute__((visibility("hidden")));

static bool is_own(uintptr_t pc) { return pc >= (uintptr_t)&own_start && pc < (uintptr_t)&own_end; }

static int add_frame(struct unwind_context *context, void *arg)
{
    struct stack *s = arg;
    const uintptr_t pc = unwind_ip(context);
    if (!pc || s->depth == DEPTH) return UNWIND_STOP;
    if (!is_own(pc)) s->pc[s->depth++] = pc;
    return UNWIND_GO_ON;
}

static void take(struct stack *s)
{
    s->depth = 0;
    const uint32_t guard = mp_guard_enter();
    unwind(add_frame, s);
    mp_guard_leave(guard);
}

/* Of two threads with the same new stack both record it, to the same effect. */
uint64_t mp_stack_here(void)
{
    struct stack s;
    if (!unwind) return 0;
    take(&s);
    if (!s.depth) return 0;
    const uint64_t id = mp_seen_id(s.pc, s.depth);
    if (mp_seen(seen, SEEN, id)) return id;
    for (unsigned i = 0; i < s.depth; i++) mp_module_seen(s.pc[i]);
    mp_record_data(MPF_OP_STACK, MPF_HEAP_NONE, id, s.pc, s.depth * sizeof *s.pc);
    mp_seen_add(seen, SEEN, id);
    return id;
}
