#include "core/counted.h"

#include "core/allocator.h"
#include "core/config.h"
#include "core/loss.h"
#include "core/records.h"
#include "core/say.h"
#include "core/state.h"
#include "core/threads.h"
#include "core/window.h"
#include "mpf/sample.h"

struct mp_counted mp_counted = { .plain = UINT32_MAX };

/* An allocator may allocate in its first call (tcmalloc, by operator new). That allocation is not
 * counted. */
static bool find_usable(void)
{
    size_t (*usable)(void *) = mp_real_usable();
    if (usable) usable(NULL);
    mp_counted.usable = usable;
    return usable;
}

/* Outside of windows, blocks are treated as with `large`. */
static void init_windows(void)
{
    if (mp_config.host != MP_HOST_ALL || !mp_config.window_text[0]) return;
    mp_counted.windowed = mp_marks_map();
    mp_config.host = MP_HOST_LARGE;
    mp_config.host_bytes = MP_HOST_LARGE_BYTES;
}

/* Without memory for the set of sampled blocks, the process is recorded as with `large`. */
static enum mp_host_mode init_mode(void)
{
    const bool samples = mp_config.host == MP_HOST_SAMPLE;
    if (samples && mp_sampled_init(mp_config.host_bytes)) return MP_HOST_SAMPLE;
    if (mp_config.host == MP_HOST_OFF) mp_sampled_init(0);
    if (samples) mp_config.host = MP_HOST_LARGE;
    return mp_config.host;
}

void mp_counted_init(void)
{
    if (mp_real_has_heap) init_windows();
    const enum mp_host_mode mode = mp_real_has_heap ? init_mode() : MP_HOST_ALL;
    mp_counted.on = mp_sampled.on || (mode == MP_HOST_LARGE && find_usable());
    mp_counted.large = mp_config.host_bytes;
    mp_counted_window(false);
    mp_counted.each = !mp_counted.on;
    mp_counted.frees = mp_counted.each && !mp_counted.attached;
}

static size_t (*attached_usable)(void *);

void mp_counted_attach(void)
{
    attached_usable = mp_real_usable();
    mp_counted.attached = true;
    mp_counted_init();
}

uint64_t mp_counted_before(void)
{
    if (mp_config.host == MP_HOST_OFF || mp_config.host == MP_HOST_SAMPLE) return 0;
    const uint64_t bytes = mp_allocator_in_use();
    return bytes == MPF_UNKNOWN ? 0 : bytes;
}

size_t mp_counted_block_bytes(void *p)
{
    if (mp_real_frees_libc) return ((const size_t *)p)[-1] & ~(size_t)7;
    return attached_usable ? attached_usable(p) : 0;
}

void mp_counted_reset(void)
{
    mp_sampled_reset();
    if (mp_counted.windowed) mp_marks_clear(mp_counted.windowed);
}

void mp_counted_window(bool open)
{
    const size_t outside = mp_counted.large < MP_LARGE ? mp_counted.large : MP_LARGE,
                 from = open && mp_counted.windowed ? 0 : outside;
    __atomic_store_n(&mp_counted.from, from, __ATOMIC_SEQ_CST);
}

void mp_counted_say(void)
{
    if (!mp_real_has_heap || mp_config.host != MP_HOST_LARGE || mp_counted.usable) return;
    mp_say(mp_real_allocator(), " has no malloc_usable_size, so every block is recorded", NULL,
           NULL);
}

struct mp_thread *mp_counted_slow(size_t made)
{
    if (!mp_record_heap_ready() || !mp_self || !mp_self->number) return NULL;
    if (made) mp_record_want_encoder(made >= MP_LARGE);
    if (made) mp_allocator_sample();
    return mp_self;
}

static void reaches_encoder(struct mp_thread *t)
{
    if (t->due || mp_window_has_clock()) mp_record_want_encoder(true);
    t->due = t->due ? UINT64_MAX : MP_WORTH_AN_ENCODER;
}

static bool is_marked(void *p)
{
    if (mp_marks_add(mp_counted.windowed, p)) return true;
    mp_loss(MPF_LOSS_SAMPLES, 1);
    return false;
}

/* Returns true if the block, which the program has just got, is recorded from now on. */
static bool is_recorded(struct mp_thread *t, void *p, size_t usable)
{
    const bool large = usable >= mp_counted.large;
    if (usable >= MP_LARGE) mp_record_want_encoder(true);
    if (!large && mp_counted.windowed && usable >= mp_counted.from) return is_marked(p);
    if (t->made.bytes + usable < t->due) return large;
    reaches_encoder(t);
    return large;
}

/* Returns true if the block has been recorded so far. */
static bool was_recorded(void *p, size_t usable)
{
    if (usable >= mp_counted.large) return true;
    return mp_counted_may_have(p, usable) && mp_marks_take(mp_counted.windowed, p);
}

void *mp_counted_look(struct mp_thread *t, void *p, size_t usable)
{
    if (is_recorded(t, p, usable)) mp_record(MPF_OP_ALLOC, MPF_HEAP_PART, (uintptr_t)p, usable);
    else mp_counted_add(&t->made, usable);
    return p;
}

void *mp_counted_end(struct mp_thread *t, void *p, size_t usable)
{
    if (was_recorded(p, usable))
        mp_record(MPF_OP_FREE, MPF_HEAP_PART, (uintptr_t)p, mp_counted.attached ? usable : 0);
    else mp_counted_add(&t->freed, usable);
    return p;
}

/* malloc_usable_size of the C library touches the next block, which costs a cache line. Once one
 * block has shown where its size is stored, that is assumed for all. */
static size_t usable_of(void *p)
{
    const size_t usable = mp_counted.usable(p);
    if (!mp_real_frees_libc || __atomic_load_n(&mp_counted.compared, __ATOMIC_RELAXED))
        return usable;
    size_t in_front;
    if (!mp_real_libc_bytes(p, &in_front)) return usable;
    __atomic_store_n(&mp_counted.compared, true, __ATOMIC_RELAXED);
    if (in_front == usable)
        __atomic_store_n(&mp_counted.plain, mp_thread_guard(), __ATOMIC_RELAXED);
    return usable;
}

/* The first block of the process lets it decide which blocks are recorded. */
static struct mp_thread *decided(size_t made)
{
    if (mp_sampled.on) return NULL;
    struct mp_thread *const t = mp_counted_thread(made);
    return mp_counted.usable ? t : NULL;
}

void *mp_counted_made_slow(void *p, size_t bytes)
{
    struct mp_thread *const t = decided(bytes);
    if (t) return mp_counted_add_made(t, p, usable_of(p));
    if (mp_sampled.on) mp_sampled_made(p, bytes);
    if (mp_counted.each) mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, (uintptr_t)p, bytes);
    return p;
}

void *mp_counted_freed_slow(void *p)
{
    struct mp_thread *const t = decided(0);
    if (t) return mp_counted_add_freed(t, p, usable_of(p));
    if (mp_sampled.on) mp_sampled_end(p);
    if (mp_counted.each) mp_record(MPF_OP_FREE, MPF_HEAP_HOST, (uintptr_t)p, 0);
    return p;
}

struct mp_counted_move mp_counted_moves(void *p)
{
    struct mp_counted_move m = { .t = mp_counted.usable ? mp_counted_thread(0) : NULL };
    if (!m.t) return m;
    m.usable = mp_counted.usable(p);
    m.recorded = was_recorded(p, m.usable);
    if (m.recorded)
        mp_record(MPF_OP_MOVE_BEGIN, MPF_HEAP_PART, (uintptr_t)p,
                  mp_counted.attached ? m.usable : 0);
    return m;
}

/* If both blocks are recorded, the end of the old one and the beginning of the new one are one
 * event. */
void mp_counted_moved(const struct mp_counted_move *m, void *q, size_t bytes)
{
    if (!m->t) {
        if (q) mp_counted_thread(bytes);
        return;
    }
    const size_t usable = q ? mp_counted.usable(q) : 0;
    const bool begun = q && is_recorded(m->t, q, usable);
    if (m->recorded && begun) {
        mp_record(MPF_OP_MOVE_END, MPF_HEAP_PART, (uintptr_t)q, usable);
        return;
    }
    if (m->recorded) mp_record(MPF_OP_MOVE_END, MPF_HEAP_PART, 0, 0);
    else mp_counted_add(&m->t->freed, m->usable);
    if (begun) mp_record(MPF_OP_ALLOC, MPF_HEAP_PART, (uintptr_t)q, usable);
    else if (q) mp_counted_add(&m->t->made, usable);
}

/* If there is no memory for its mark any more, the block is counted from now on. */
void mp_counted_stays(const struct mp_counted_move *m, void *p)
{
    const bool small = m->t && m->recorded && m->usable < mp_counted.large;
    if (!small || mp_marks_add(mp_counted.windowed, p)) return;
    mp_record(MPF_OP_FREE, MPF_HEAP_PART, (uintptr_t)p, 0);
    mp_counted_add(&m->t->made, m->usable);
    mp_loss(MPF_LOSS_SAMPLES, 1);
}

/* Reads the counters of a running thread. The result is exact for some instant during the call. */
static void add(struct mp_totals *to, const struct mp_totals *from)
{
    to->bytes += __atomic_load_n(&from->bytes, __ATOMIC_RELAXED);
    to->blocks += __atomic_load_n(&from->blocks, __ATOMIC_RELAXED);
}

/* Frees are read first, so that a block which is passed between threads meanwhile does not count as
 * freed before it is allocated. */
void mp_counted_sum(struct mp_totals *made, struct mp_totals *freed)
{
    const uint32_t threads = mp_threads_ever();
    *freed = mp_process->freed;
    *made = mp_process->made;
    for (uint32_t i = 0; i < threads; i++) add(freed, &mp_thread_at(i)->freed);
    for (uint32_t i = 0; i < threads; i++) add(made, &mp_thread_at(i)->made);
}
