/* An ID is in `seen` only after its STACK event is in the thread's chunk, and its modules before
 * that, so that no event uses a stack or an address that the log does not define. */
#include "stacks/stack.h"

#include <stddef.h>

#include "base/cold.h"
#include "base/seen.h"
#include "base/sys.h"
#include "core/config.h"
#include "core/loss.h"
#include "core/process.h"
#include "core/record.h"
#include "core/window.h"
#include "mpf/event.h"
#include "stacks/module.h"
#include "stacks/unwinder.h"
#include "stacks/walk.h"

enum { DEPTH = 64, WALKERS = 1024 };
_Static_assert((int)MP_UNWIND_MAX > (int)DEPTH, "room for frames of memprof's own");

/* IDs of stacks that are in the log. Each set is mapped when it is first used, because reserved
 * addresses count against the program's limits. */
struct set {
    void *id; /* NULL until it is mapped */
    size_t places;
};
static struct set few = { .places = 1 << 14 };
/* Replaces `few` when that is half full. A program in an interpreter has several 100,000 stacks,
 * which use 8 MiB. */
static struct set many;
static uint32_t added; /* number of IDs in `few` */
static bool on;        /* stacks are recorded */

/* Walkers of threads that record many stacks, indexed by their records, and mapped with a thread's
 * first stack. Threads with a higher number have none. */
static void *walker[WALKERS];
static bool walkers; /* walkers are used */

bool mp_stack_init(void)
{
    if (!mp_module_init() || !mp_unwind_init()) return false;
    walkers = mp_config.stacks == MP_STACKS_ALL;
    many.places = (size_t)1 << (walkers ? 20 : 17);
    on = true;
    return true;
}

static uint64_t *ids_of(struct set *set)
{
    return mp_sys_map_once(&set->id, set->places * sizeof(uint64_t), true);
}

/* Returns the set in use; its id is NULL without memory. */
static struct set seen_now(void)
{
    const bool is_full = __atomic_load_n(&added, __ATOMIC_RELAXED) > few.places / 2;
    if (is_full && ids_of(&many)) return many;
    return (struct set){ ids_of(&few), few.places };
}

static void clear(const struct set *set)
{
    if (set->id) mp_seen_clear(set->id, set->places);
}

/* The walkers compare what they keep with the stack at each use, so they are not cleared. */
void mp_stack_reset(void)
{
    clear(&few);
    clear(&many);
    __atomic_store_n(&added, 0, __ATOMIC_RELAXED);
}

extern const char own_start __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_end __asm__("_end") __attribute__((visibility("hidden")));

static bool is_own(uint64_t pc)
{
    return pc - (uintptr_t)&own_start < (uintptr_t)&own_end - (uintptr_t)&own_start;
}

/* Returns the calling thread's walker, or NULL. Only this thread uses it. If one cannot be mapped,
 * no further ones are mapped, because each stack would try it. */
static struct mp_walker *take_walker(void)
{
    const struct mp_thread *t = mp_self;
    if (!walkers || !t || !t->number || t->index >= WALKERS) return NULL;
    struct mp_walker *w = mp_sys_map_once(&walker[t->index], sizeof *w, true);
    if (!w) walkers = false;
    if (!w || w->user == t->number)
        /* It has another thread's number: that thread ended while it used the walker. */
        return NULL;
    w->user = t->number;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return w;
}

static void give_back(struct mp_walker *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    w->user = 0;
}

/* The same return addresses in newer generated code are a different stack. */
static uint64_t id_of(struct mp_hash stack, uint32_t generation)
{
    return mp_hash_id(mp_hash_word(stack, generation));
}

static struct mp_hash hash_of(const struct mp_frame *from, uint32_t generation)
{
    struct mp_hash hash;
    struct mp_walker *w = take_walker();
    const bool walked = w && mp_walk(w, from, generation, &hash);
    if (w) give_back(w);
    return walked ? hash : mp_unwind_hash(from, generation);
}

/* Keeps only the program's part of the stack. */
static unsigned without_own(uint64_t *pc, unsigned count, enum mpf_cut *cut)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        if (is_own(pc[i])) continue;
        if (n == DEPTH) {
            *cut = MPF_CUT_DEPTH;
            break;
        }
        pc[n++] = pc[i];
    }
    return n;
}

/* The mark is recorded first, so that no log has the stack without it. */
static void record_stack(uint64_t id, enum mpf_cut cut, const uint64_t *pc, unsigned depth)
{
    const uint64_t why = cut;
    if (cut) mp_record_data(MPF_OP_STACK_CUT, MPF_HEAP_NONE, id, &why, sizeof why);
    mp_record_data(MPF_OP_STACK, MPF_HEAP_NONE, id, pc, depth * sizeof *pc);
}

/* IDs of an earlier generation are not needed any more. */
static void forget_older(uint32_t generation, uint32_t log)
{
    static uint64_t known;
    const uint64_t now = (uint64_t)log << 32 | generation;
    uint64_t before = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (before != now && __atomic_compare_exchange_n(&known, &before, now, false, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
        mp_stack_reset();
}

/* If two threads have the same new stack, both record it, with the same result. A stack that was
 * unwound by the rules of unloaded code is unwound again, but only a few times, because files may
 * be unloaded all the time. Only a new stack needs this much space on the program's stack. */
static MP_COLD uint64_t record_new(const struct set *seen, const struct mp_frame *from,
                                   uint32_t generation, uint32_t log)
{
    uint64_t pc[MP_UNWIND_MAX], id = 0;
    unsigned depth = 0;
    enum mpf_cut cut = MPF_CUT_NONE;
    for (int looks = 0; looks < 4; looks++) {
        forget_older(generation, log);
        depth = mp_unwind(from, pc, generation, &cut);
        id = id_of(mp_hash_of(pc, depth), generation);
        if (mp_seen(seen->id, seen->places, mp_seen_in(id, log))) return id;
        depth = without_own(pc, depth, &cut);
        if (!depth) return 0;
        mp_module_seen(pc, depth);
        const uint32_t before = generation;
        generation = mp_module_now();
        if (generation == before) break;
    }
    record_stack(id, cut, pc, depth);
    mp_seen_add(seen->id, seen->places, mp_seen_in(id, log));
    if (seen->id == few.id) __atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
    return id;
}

uint64_t mp_stack_here(const struct mp_frame *from)
{
    const struct set seen = seen_now();
    if (!seen.id) return 0;
    const uint32_t generation = mp_module_now(), log = mp_loss_now();
    forget_older(generation, log);
    const uint64_t id = id_of(hash_of(from, generation), generation);
    return mp_seen(seen.id, seen.places, mp_seen_in(id, log))
               ? id
               : record_new(&seen, from, generation, log);
}

/* ---- events that have a stack */

bool mp_stack_large(unsigned op, unsigned heap, uint64_t size)
{
    return (op == MPF_OP_FAIL && mpf_heap_is_host(heap)) ||
           (size >= MP_LARGE && mp_record_is_host_block(op, heap));
}

/* The events of the driver's blocks already have a stack. PyTorch's blocks have Python stacks, and
 * recording C++ stacks in addition would cost a launch-bound step several percent. */
static bool has_stack(unsigned op, unsigned heap, uint64_t size, bool sampled)
{
    if (mp_stack_large(op, heap, size) || mp_record_is_sampled_block(op, heap)) return true;
    if (mp_config.stacks < MP_STACKS_SAMPLE || !mp_window_is_open()) return false;
    if (mp_config.stacks == MP_STACKS_SAMPLE) return sampled;
    const bool torch = op == MPF_OP_ALLOC && mpf_heap_code(heap) == MPF_HEAP_TORCH;
    return size && (torch || mp_record_is_host_block(op, heap));
}

bool mp_stack_is_wanted(unsigned op, unsigned heap, uint64_t size, bool sampled)
{
    return on && has_stack(op, heap, size, sampled);
}

uint64_t mp_stack_of(unsigned op, unsigned heap, uint64_t size, bool sampled,
                     const struct mp_frame *from)
{
    return mp_stack_is_wanted(op, heap, size, sampled) ? mp_stack_here(from) : 0;
}
