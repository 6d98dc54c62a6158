#include "kept.h"

#include <stdlib.h>
#include <string.h>

#include "absent.h"
#include "alloc.h"
#include "mpf/event.h"
#include "reader.h"
#include "repeats.h"

enum {
    FAILURES = 256,          /* the newest ones */
    DEPTH = 8,               /* ranges deeper than that are not measured, */
    OPEN = 64,               /* nor more at a time, */
    MOST = 1 << 17,          /* nor more of one kind, */
    MOST_OF_TORCH = 1 << 12, /* where PyTorch makes them, for it has hundreds of kinds */
    AROUND = 1 << 18,        /* events, on the side of a moment where no instance is known */
};

#define MOST_BYTES (UINT64_C(512) << 20) /* nor more than these hold */

/* A heap's largest state since something began. */
struct high {
    uint64_t after, bytes;
};

/* An instance of a range that may turn out to be the one that repeats. */
struct instance {
    uint32_t repeat;
    uint64_t begins, ends; /* events */
    uint32_t heaps;        /* that were known when it ended */
    struct high high[];    /* of each, in their order */
};

struct finder {
    struct mpr_kept *kept;
    struct mpr_reader reader;
    uint64_t event; /* the one that was applied last */
    uint64_t bin;
    struct high in_bin[MPR_HEAPS], in_all[MPR_HEAPS];
    struct mpr_best best[MPF_GPUS];
    struct high device[MPF_GPUS]; /* after which event that was */
    uint64_t failed[FAILURES], failures;
    struct open {
        uint32_t repeat;
        uint32_t thread;
        uint64_t push, begins;
        struct high high[MPR_HEAPS];
    } * open;
    size_t opens;
    struct instance **instance;
    size_t instances, cap;
    uint64_t bytes; /* that these take */
};

static void add(struct mpr_moments *m, uint64_t event)
{
    MPR_GROW(m->at, m->count, m->cap);
    m->at[m->count++] = event;
}

static void add_level(struct mpr_levels_of *l, uint64_t after, enum mpr_level_how how)
{
    MPR_GROW(l->at, l->count, l->cap);
    l->at[l->count++] = (struct mpr_level){ after, how };
}

/* ---- highs */

static void raise(struct high *high, uint64_t bytes, uint64_t event)
{
    if (bytes > high->bytes) *high = (struct high){ event, bytes };
}

static void look(struct finder *f, uint8_t heap)
{
    const uint64_t bytes = f->reader.replay.books.heap[heap].bytes;
    raise(&f->in_bin[heap], bytes, f->event);
    for (size_t i = 0; i < f->opens; i++) raise(&f->open[i].high[heap], bytes, f->event);
}

/* Which heaps an event may have changed: a block's own, or else all. */
static void look_after(struct finder *f, const struct mpf_event *e)
{
    if (e->op == MPF_OP_ALLOC || e->op == MPF_OP_MOVE_END) {
        look(f, e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap);
        return;
    }
    const bool none = mpf_op_is_of_block(e->op) ||
                      (e->op >= MPF_OP_PUSH && e->op < MPF_OP_SAMPLE_HOST) ||
                      e->op >= MPF_OP_MODULE;
    if (none && e->op != MPF_OP_FOLDED) return;
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) look(f, f->kept->heaps.code[i]);
}

static void look_at_devices(struct finder *f)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const struct mpr_best *best = &f->reader.replay.gpu.device[i].best;
        if (best->used == f->best[i].used && best->torch == f->best[i].torch) continue;
        f->best[i] = *best;
        f->device[i].after = f->event;
    }
}

/* ---- bins */

static void join(struct mpr_bins *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct mpr_binned *at = &b->at[i], *last = count ? &b->at[count - 1] : NULL;
        at->bin /= 2;
        if (!last || last->bin != at->bin) b->at[count++] = *at;
        else if (at->bytes > last->bytes) *last = *at;
    }
    b->count = count;
}

static void join_all(struct mpr_kept *kept)
{
    for (uint32_t i = 0; i < kept->heaps.count; i++) join(&kept->bins[kept->heaps.code[i]]);
    kept->grain *= 2;
}

static void add_bin(struct finder *f, uint8_t heap)
{
    const struct high *high = &f->in_bin[heap];
    struct mpr_bins *b = &f->kept->bins[heap];
    MPR_GROW(b->at, b->count, b->cap);
    b->at[b->count++] = (struct mpr_binned){ f->bin, high->after, high->bytes };
}

/* A heap enters the next one with what it has. */
static void end_bin(struct finder *f)
{
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) {
        const uint8_t heap = f->kept->heaps.code[i];
        struct high *high = &f->in_bin[heap];
        add_bin(f, heap);
        raise(&f->in_all[heap], high->bytes, high->after);
        *high = (struct high){ f->event, f->reader.replay.books.heap[heap].bytes };
    }
}

static void turn(struct finder *f, uint64_t time)
{
    if (time / f->kept->grain == f->bin) return;
    end_bin(f);
    while (time / f->kept->grain >= MPR_KEPT_BINS) join_all(f->kept);
    f->bin = time / f->kept->grain;
}

/* ---- instances */

/* Each ends a step of training, or is one. */
static bool is_step_of_torch(const struct mpr_repeat *r)
{
    return strncmp(r->name, "torch:Optimizer.step#", 21) == 0 ||
           strncmp(r->name, "torch:ProfilerStep#", 19) == 0;
}

static bool is_candidate(const struct mpr_repeat *r)
{
    const bool many = r->rank == 1 && !is_step_of_torch(r);
    return r->depth <= DEPTH && r->instances <= (many ? MOST_OF_TORCH : MOST);
}

static void push(struct finder *f, const struct mpr_thread *t)
{
    struct mpr_replay *r = &f->reader.replay;
    const uint32_t repeat = mpr_repeats_of(f->reader.repeats, r, t->node);
    if (f->opens == OPEN || f->bytes > MOST_BYTES ||
        !is_candidate(&f->reader.repeats->repeat[repeat]))
        return;
    struct open *o = &f->open[f->opens++];
    *o = (struct open){
        .repeat = repeat, .thread = r->actor, .push = r->count[MPF_OP_PUSH], .begins = f->event
    };
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) look(f, f->kept->heaps.code[i]);
}

static void close_open(struct finder *f, size_t at)
{
    const struct open *o = &f->open[at];
    const size_t bytes = sizeof(struct instance) + sizeof(struct high) * f->kept->heaps.count;
    struct instance *k = mpr_alloc(1, bytes);
    f->bytes += bytes;
    *k = (struct instance){ o->repeat, o->begins, f->event, f->kept->heaps.count };
    for (uint32_t i = 0; i < k->heaps; i++) k->high[i] = o->high[f->kept->heaps.code[i]];
    MPR_GROW(f->instance, f->instances, f->cap);
    f->instance[f->instances++] = k;
    memmove(&f->open[at], &f->open[at + 1], (--f->opens - at) * sizeof *f->open);
}

static void pop(struct finder *f, const struct mpr_thread *t)
{
    for (size_t i = f->opens; t->popped && i-- > 0;)
        if (f->open[i].push == t->popped) {
            close_open(f, i);
            return;
        }
}

static void end_thread(struct finder *f, uint64_t thread)
{
    for (size_t i = f->opens; i-- > 0 && thread < MPR_THREADS_MAX;)
        if (f->open[i].thread == thread) close_open(f, i);
}

static void see_range(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                      const struct mpf_event *e)
{
    struct finder *f = arg;
    (void)r;
    if (e->op == MPF_OP_PUSH && !t->beyond) push(f, t);
    else if (e->op == MPF_OP_POP) pop(f, t);
    else if (e->op == MPF_OP_THREAD_END) end_thread(f, e->addr);
}

/* ---- one event after the other */

static bool is_level(const struct mpf_event *e)
{
    return mpr_absent_of(e).value[MPF_FOLDED_BLOCKS] != 0;
}

static bool is_failure(const struct mpf_event *e)
{
    return e->op == MPF_OP_FAIL || e->op == MPF_OP_GPU_FAIL || e->op == MPF_OP_TORCH_OOM;
}

static void take(struct finder *f, const struct mpf_event *e, uint64_t event)
{
    struct mpr_replay *r = &f->reader.replay;
    f->event = event ? event - 1 : 0;
    turn(f, e->time);
    f->event = event;
    mpr_replay_batch(r, e, 1);
    mpr_books_used(&r->books, &f->kept->heaps);
    look_after(f, e);
    if (e->op >= MPF_OP_GPU_DEVICE || mpf_heap_is_gpu(e->heap)) look_at_devices(f);
    if (is_failure(e)) f->failed[f->failures++ % FAILURES] = event;
    if (e->op == MPF_OP_FOLDED && is_level(e))
        add_level(&f->kept->level[e->heap], event, MPR_LEVEL_TOLD);
}

/* Of a part that is missing nobody knows what it would have taken away. */
static int is_sound(const struct finder *f, const char *path, struct mpr_error *error)
{
    const struct mpr_log_status *s = mpr_log_status(f->reader.log);
    if (!s->damaged && !s->missing_frames) return 0;
    return mpr_fail(error, "%s: damaged before the part that is kept whole; nothing was changed",
                    path);
}

static int read_all(struct finder *f, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    uint64_t event = 0;
    long count;
    mpr_log_stop_after(f->reader.log, seq);
    f->reader.repeats = mpr_repeats_new();
    f->reader.replay.watch = (struct mpr_watch){ see_range, f };
    mpr_repeats_watch(f->reader.repeats, &f->reader.replay);
    while ((count = mpr_log_next(f->reader.log, &events, error)) > 0)
        for (long i = 0; i < count; i++) take(f, &events[i], event++);
    f->kept->events = event;
    f->kept->until = f->reader.replay.now;
    return count < 0 ? -1 : is_sound(f, path, error);
}

/* ---- the lists */

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void sort(struct mpr_moments *m)
{
    size_t kept = 0;
    if (!m->count) return;
    qsort(m->at, m->count, sizeof *m->at, by_number);
    for (size_t i = 1; i < m->count; i++)
        if (m->at[i] != m->at[kept]) m->at[++kept] = m->at[i];
    m->count = kept + 1;
}

/* A failure is told with what was live before it, and so is what comes behind this part. */
static void keep_always(struct finder *f)
{
    struct mpr_moments *m = &f->kept->always;
    for (uint32_t i = 0; i < f->kept->heaps.count; i++)
        add(m, f->in_all[f->kept->heaps.code[i]].after);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (f->best[i].time) add(m, f->device[i].after);
    for (uint64_t i = 0; i < f->failures && i < FAILURES; i++) {
        if (f->failed[i]) add(m, f->failed[i] - 1);
        add(m, f->failed[i]);
    }
    if (f->kept->events) add(m, f->kept->events - 1);
    sort(m);
}

static void add_all(struct mpr_moments *to, const struct mpr_moments *from)
{
    for (size_t i = 0; i < from->count; i++) add(to, from->at[i]);
}

static void list(struct mpr_kept *kept)
{
    struct mpr_moments *any = &kept->whole[MPF_HEAP_NONE];
    any->count = 0;
    add_all(any, &kept->always);
    for (uint32_t i = 0; i < kept->heaps.count; i++) {
        const struct mpr_bins *b = &kept->bins[kept->heaps.code[i]];
        struct mpr_moments *m = &kept->whole[kept->heaps.code[i]];
        if (m == any) continue; /* a log may say what it wants */
        m->count = 0;
        add_all(m, &kept->always);
        for (size_t k = 0; k < b->count; k++) add(m, b->at[k].after);
        sort(m);
        add_all(any, m);
    }
    sort(any);
}

bool mpr_kept_coarsen(struct mpr_kept *kept)
{
    if (kept->grain > UINT64_MAX / 2 || kept->until / kept->grain == 0) return false;
    join_all(kept);
    list(kept);
    return true;
}

/* ---- levels */

static int by_event(const void *left, const void *right)
{
    const struct mpr_level *a = left, *b = right;
    if (a->after != b->after) return a->after < b->after ? -1 : 1;
    return (int)a->how - (int)b->how;
}

static void sort_levels(struct mpr_levels_of *l)
{
    size_t kept = 0;
    if (!l->count) return;
    qsort(l->at, l->count, sizeof *l->at, by_event);
    for (size_t i = 1; i < l->count; i++)
        if (l->at[i].after != l->at[kept].after) l->at[++kept] = l->at[i];
    l->count = kept + 1;
}

static void keep_instance(struct finder *f, const struct instance *k)
{
    add(&f->kept->instances, k->begins);
    for (uint32_t i = 0; i < k->heaps; i++) {
        struct mpr_levels_of *l = &f->kept->level[f->kept->heaps.code[i]];
        if (k->begins) add_level(l, k->begins - 1, MPR_LEVEL_ACROSS);
        if (k->high[i].bytes) add_level(l, k->high[i].after, MPR_LEVEL_AT);
        if (k->ends) add_level(l, k->ends - 1, MPR_LEVEL_ACROSS);
    }
}

static int by_begin(const void *left, const void *right)
{
    const struct instance *const *a = left, *const *b = right;
    return (*a)->begins < (*b)->begins ? -1 : (*a)->begins > (*b)->begins;
}

/* From the beginning of the newest instance before it to the end of the next.  Behind the last one
 * that was measured there may be many more. */
static void keep_around(struct finder *f, uint64_t moment, struct instance *const *k, size_t count)
{
    struct mpr_moments *busy = &f->kept->busy;
    size_t next = 0;
    while (next < count && k[next]->begins <= moment) next++;
    const bool between = next && next < count;
    uint64_t from = next ? k[next - 1]->begins : 0,
             to = next < count ? k[next]->ends : f->kept->events;
    if (!between && moment > AROUND && from < moment - AROUND) from = moment - AROUND;
    if (!between && to > moment + AROUND) to = moment + AROUND;
    if (busy->count && busy->at[busy->count - 1] >= from) {
        if (busy->at[busy->count - 1] < to) busy->at[busy->count - 1] = to;
        return;
    }
    add(busy, from);
    add(busy, to);
}

static void keep_busy(struct finder *f, uint32_t repeat)
{
    size_t count = 0;
    for (size_t i = 0; i < f->instances; i++)
        if (f->instance[i]->repeat == repeat) count++;
    struct instance **k = mpr_alloc(count + 1, sizeof *k);
    count = 0;
    for (size_t i = 0; i < f->instances; i++)
        if (f->instance[i]->repeat == repeat) k[count++] = f->instance[i];
    qsort(k, count, sizeof *k, by_begin);
    for (size_t i = 0; i < f->kept->always.count; i++)
        keep_around(f, f->kept->always.at[i], k, count);
    free(k);
}

static void keep_instances(struct finder *f)
{
    mpr_repeats_end(f->reader.repeats, &f->reader.replay);
    const uint32_t repeat = mpr_repeats_outermost(f->reader.repeats);
    while (f->opens) close_open(f, f->opens - 1);
    for (size_t i = 0; repeat && i < f->instances; i++)
        if (f->instance[i]->repeat == repeat) keep_instance(f, f->instance[i]);
    for (size_t i = 0; i < f->instances; i++)
        if (is_step_of_torch(&f->reader.repeats->repeat[f->instance[i]->repeat]))
            add(&f->kept->instances, f->instance[i]->begins);
    if (repeat) keep_busy(f, repeat);
    for (uint32_t i = 0; i < f->kept->heaps.count; i++)
        sort_levels(&f->kept->level[f->kept->heaps.code[i]]);
    sort(&f->kept->instances);
}

static void finish(struct finder *f)
{
    end_bin(f);
    keep_always(f);
    list(f->kept);
    keep_instances(f);
    mpr_reader_close(&f->reader);
}

static void free_finder(struct finder *f)
{
    for (size_t i = 0; i < f->instances; i++) free(f->instance[i]);
    free(f->instance);
    free(f->open);
    free(f);
}

int mpr_kept_find(struct mpr_kept *kept, const char *log, uint64_t seq, uint64_t grain,
                  struct mpr_error *error)
{
    struct finder *f = mpr_alloc(1, sizeof *f);
    *kept = (struct mpr_kept){ .grain = grain };
    f->kept = kept;
    f->open = mpr_alloc(OPEN, sizeof *f->open);
    const int opened = mpr_reader_open(&f->reader, log, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error);
    const int result = opened == 0 ? read_all(f, log, seq, error) : -1;
    if (opened == 0) finish(f);
    free_finder(f);
    return result;
}

void mpr_kept_free(struct mpr_kept *kept)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        free(kept->whole[i].at);
        free(kept->level[i].at);
        free(kept->bins[i].at);
    }
    free(kept->always.at);
    free(kept->busy.at);
    free(kept->instances.at);
    *kept = (struct mpr_kept){ 0 };
}
