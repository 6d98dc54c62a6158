#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "counted.h"
#include "mpf/event.h"
#include "reader.h"
#include "repeats.h"
#include "thin.h"

enum {
    MAX_FAILURES = 256,            /* the newest ones are kept */
    MAX_DEPTH = 8,                 /* deeper ranges are not measured */
    MAX_OPEN = 64,                 /* measured at the same time */
    MAX_INSTANCES = 1 << 17,       /* measured of one kind */
    MAX_TORCH_INSTANCES = 1 << 12, /* measured of one of PyTorch's hundreds of kinds */
    AROUND = 1 << 18, /* events that stay before or after an instant without an instance there */
};

#define MAX_INSTANCE_BYTES (UINT64_C(512) << 20) /* of all measured instances */

/* A heap's largest state since some event. */
struct high {
    uint64_t after, bytes;
};

/* An instance of a range that may turn out to be the repeating one. */
struct instance {
    uint32_t repeat;
    uint64_t begins, ends; /* events */
    uint32_t heaps;        /* number of heaps when it ended */
    struct high high[];    /* in the order of kept->heaps */
};

struct open_instance {
    uint32_t repeat, thread;
    uint64_t push, begins;
    struct high high[MPR_HEAPS];
};

struct finder {
    struct mpr_kept *kept;
    struct mpr_reader reader;
    uint64_t event; /* the last one that was replayed */
    uint64_t bin;
    struct high in_bin[MPR_HEAPS], in_all[MPR_HEAPS];
    struct mpr_best_instant best[MPF_GPUS];
    uint64_t best_after[MPF_GPUS]; /* the event after which the device had its best instant */
    uint64_t failed[MAX_FAILURES], failures;
    struct open_instance *open;
    size_t opens;
    struct instance **instance;
    size_t instances, cap;
    uint64_t instance_bytes;
};

static void add(struct mpr_event_list *m, uint64_t event)
{
    *MPR_ADD(m->at, m->count, m->cap) = event;
}

static void add_level(struct mpr_level_list *l, uint64_t after, enum mpr_level_how how)
{
    *MPR_ADD(l->at, l->count, l->cap) = (struct mpr_level){ after, how };
}

/* ---- the largest states */

static void raise(struct high *high, uint64_t bytes, uint64_t event)
{
    if (bytes > high->bytes) *high = (struct high){ event, bytes };
}

/* Notes the bytes that a heap has now. */
static void note_heap(struct finder *f, uint8_t heap)
{
    const uint64_t bytes = f->reader.replay.accounts.heap[heap].bytes;
    raise(&f->in_bin[heap], bytes, f->event);
    for (size_t i = 0; i < f->opens; i++) raise(&f->open[i].high[heap], bytes, f->event);
}

static void note_all_heaps(struct finder *f)
{
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) note_heap(f, f->kept->heaps.code[i]);
}

/* Notes the heaps that an event may have raised: the one of its block, none, or all. */
static void note_raised(struct finder *f, const struct mpf_event *e)
{
    if (e->op == MPF_OP_ALLOC || e->op == MPF_OP_MOVE_END) {
        note_heap(f, e->heap == MPF_HEAP_PART ? MPF_HEAP_HOST : e->heap);
        return;
    }
    const bool raises_none = mpf_op_is_of_block(e->op) ||
                             (e->op >= MPF_OP_PUSH && e->op < MPF_OP_SAMPLE_HOST) ||
                             e->op >= MPF_OP_MODULE;
    if (!raises_none || e->op == MPF_OP_FOLDED) note_all_heaps(f);
}

/* ---- bins */

/* Joins each two bins of every heap. */
static void join_bins(struct mpr_kept *kept)
{
    for (uint32_t i = 0; i < kept->heaps.count; i++) {
        struct mpr_bins *b = &kept->bins[kept->heaps.code[i]];
        size_t count = 0;
        for (size_t k = 0; k < b->count; k++) {
            struct mpr_bin *bin = &b->at[k], *last = count ? &b->at[count - 1] : NULL;
            bin->number /= 2;
            if (!last || last->number != bin->number) b->at[count++] = *bin;
            else if (bin->bytes > last->bytes) *last = *bin;
        }
        b->count = count;
    }
    kept->grain *= 2;
}

/* Ends the bin of every heap.  A heap begins the next one with the bytes that it has. */
static void end_bin(struct finder *f)
{
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) {
        const uint8_t heap = f->kept->heaps.code[i];
        struct high *high = &f->in_bin[heap];
        struct mpr_bins *b = &f->kept->bins[heap];
        *MPR_ADD(b->at, b->count, b->cap) = (struct mpr_bin){ f->bin, high->after, high->bytes };
        raise(&f->in_all[heap], high->bytes, high->after);
        *high = (struct high){ f->event, f->reader.replay.accounts.heap[heap].bytes };
    }
}

/* ---- instances */

/* Returns true for a range that is a step of training, or ends one. */
static bool is_step_of_torch(const struct mpr_repeat *r)
{
    return strncmp(r->name, "torch:Optimizer.step#", 21) == 0 ||
           strncmp(r->name, "torch:ProfilerStep#", 19) == 0;
}

static void push(struct finder *f, const struct mpr_thread *t)
{
    struct mpr_replay *r = &f->reader.replay;
    const uint32_t number = mpr_repeats_of(f->reader.repeats, r, t->node);
    const struct mpr_repeat *repeat = &f->reader.repeats->repeat[number];
    const uint32_t max =
        repeat->rank == 1 && !is_step_of_torch(repeat) ? MAX_TORCH_INSTANCES : MAX_INSTANCES;
    if (f->opens == MAX_OPEN || f->instance_bytes > MAX_INSTANCE_BYTES ||
        repeat->depth > MAX_DEPTH || repeat->instances > max)
        return;
    f->open[f->opens++] = (struct open_instance){
        .repeat = number, .thread = r->actor, .push = r->count[MPF_OP_PUSH], .begins = f->event
    };
    note_all_heaps(f);
}

static void end_instance(struct finder *f, size_t at)
{
    const struct open_instance *o = &f->open[at];
    const size_t bytes = sizeof(struct instance) + sizeof(struct high) * f->kept->heaps.count;
    struct instance *k = mpr_alloc(1, bytes);
    f->instance_bytes += bytes;
    *k = (struct instance){ o->repeat, o->begins, f->event, f->kept->heaps.count };
    for (uint32_t i = 0; i < k->heaps; i++) k->high[i] = o->high[f->kept->heaps.code[i]];
    *MPR_ADD(f->instance, f->instances, f->cap) = k;
    memmove(&f->open[at], &f->open[at + 1], (--f->opens - at) * sizeof *f->open);
}

static void on_range(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct finder *f = arg;
    const bool pops = e->op == MPF_OP_POP && t->popped,
               ends_thread = e->op == MPF_OP_THREAD_END && e->addr < MPR_THREADS_MAX;
    (void)r;
    if (e->op == MPF_OP_PUSH && !t->depth_overflow) push(f, t);
    for (size_t i = f->opens; (pops || ends_thread) && i-- > 0;)
        if (pops ? f->open[i].push == t->popped : f->open[i].thread == e->addr) end_instance(f, i);
}

/* ---- events */

static void on_event(struct finder *f, const struct mpf_event *e, uint64_t event)
{
    struct mpr_replay *r = &f->reader.replay;
    f->event = event ? event - 1 : 0;
    if (e->time / f->kept->grain != f->bin) {
        end_bin(f);
        while (e->time / f->kept->grain >= MPR_KEPT_BINS) join_bins(f->kept);
        f->bin = e->time / f->kept->grain;
    }
    f->event = event;
    mpr_replay_batch(r, e, 1);
    mpr_accounts_used(&r->accounts, &f->kept->heaps);
    note_raised(f, e);
    const bool of_device = e->op >= MPF_OP_GPU_DEVICE || mpf_heap_is_gpu(e->heap);
    for (unsigned i = 0; of_device && i < MPF_GPUS; i++) {
        const struct mpr_best_instant *best = &r->gpu.device[i].best;
        if (best->used == f->best[i].used && best->torch == f->best[i].torch) continue;
        f->best[i] = *best;
        f->best_after[i] = event;
    }
    if (e->op == MPF_OP_FAIL || e->op == MPF_OP_GPU_FAIL || e->op == MPF_OP_TORCH_OOM)
        f->failed[f->failures++ % MAX_FAILURES] = event;
    if (e->op == MPF_OP_FOLDED && mpr_thinned_counts_of(e).value[MPF_FOLDED_BLOCKS])
        add_level(&f->kept->level[e->heap], event, MPR_LEVEL_RECORDED);
}

/* Refuses a log with missing events, because these might change which events stay. */
static int read_log(struct finder *f, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    uint64_t event = 0;
    long count;
    mpr_log_stop_after(f->reader.log, seq);
    mpr_watch_begin(&f->reader.replay, (struct mpr_watch){ on_range, f });
    f->reader.repeats = mpr_repeats_watch(&f->reader.replay);
    while ((count = mpr_log_next(f->reader.log, &events, error)) > 0)
        for (long i = 0; i < count; i++) on_event(f, &events[i], event++);
    f->kept->events = event;
    f->kept->until = f->reader.replay.now;
    const struct mpr_log_status *s = mpr_log_status(f->reader.log);
    if (count < 0) return -1;
    if (!s->damaged && !s->missing_frames) return 0;
    return mpr_fail(
        error, "%s: the log is damaged before the part that stays complete; nothing was changed",
        path);
}

/* ---- instants that stay whole */

/* Sorts a list and removes numbers that are in it more than once. */
static void sort(struct mpr_event_list *m)
{
    size_t last = 0;
    if (!m->count) return;
    qsort(m->at, m->count, sizeof *m->at, mpr_compare_numbers);
    for (size_t i = 1; i < m->count; i++)
        if (m->at[i] != m->at[last]) m->at[++last] = m->at[i];
    m->count = last + 1;
}

/* Lists the instants at which all heaps stay whole.  These are, among others, the states before
 * failures, and the last state of this part, with which the rest of the log begins. */
static void list_always(struct finder *f)
{
    struct mpr_event_list *m = &f->kept->always;
    for (uint32_t i = 0; i < f->kept->heaps.count; i++)
        add(m, f->in_all[f->kept->heaps.code[i]].after);
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (f->best[i].time) add(m, f->best_after[i]);
    for (uint64_t i = 0; i < f->failures && i < MAX_FAILURES; i++) {
        if (f->failed[i]) add(m, f->failed[i] - 1);
        add(m, f->failed[i]);
    }
    if (f->kept->events) add(m, f->kept->events - 1);
    sort(m);
}

static void add_all(struct mpr_event_list *to, const struct mpr_event_list *from)
{
    for (size_t i = 0; i < from->count; i++) add(to, from->at[i]);
}

static void list_whole(struct mpr_kept *kept)
{
    struct mpr_event_list *any = &kept->whole[MPF_HEAP_NONE];
    any->count = 0;
    add_all(any, &kept->always);
    for (uint32_t i = 0; i < kept->heaps.count; i++) {
        const struct mpr_bins *b = &kept->bins[kept->heaps.code[i]];
        struct mpr_event_list *m = &kept->whole[kept->heaps.code[i]];
        if (m == any) continue; /* a log may use any code */
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
    join_bins(kept);
    list_whole(kept);
    return true;
}

/* ---- levels and spans */

MPR_COMPARE(by_event, struct mpr_level,
            mpr_compare(a->after, b->after) ?: (int)a->how - (int)b->how)

/* Adds the span from the beginning of the last instance before an instant to the end of the next
 * one.  Instances after the last measured one are unknown, so a span is limited to AROUND events
 * there. */
static void add_span(struct finder *f, uint64_t instant, struct instance *const *k, size_t count)
{
    struct mpr_event_list *busy = &f->kept->busy;
    size_t next = 0;
    while (next < count && k[next]->begins <= instant) next++;
    const bool between = next && next < count;
    uint64_t from = next ? k[next - 1]->begins : 0,
             to = next < count ? k[next]->ends : f->kept->events;
    if (!between && instant > AROUND && from < instant - AROUND) from = instant - AROUND;
    if (!between && to > instant + AROUND) to = instant + AROUND;
    if (busy->count && busy->at[busy->count - 1] >= from) {
        if (busy->at[busy->count - 1] < to) busy->at[busy->count - 1] = to;
        return;
    }
    add(busy, from);
    add(busy, to);
}

MPR_COMPARE(by_begin, struct instance *, mpr_compare((*a)->begins, (*b)->begins))

/* Keeps the instances of the repeating range, and the spans around the instants of `always`. */
static void keep_instances_of(struct finder *f, uint32_t repeat)
{
    struct instance **kept = mpr_alloc(f->instances + 1, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; i < f->instances; i++) {
        const struct instance *k = f->instance[i];
        if (k->repeat != repeat) continue;
        kept[count++] = f->instance[i];
        add(&f->kept->instances, k->begins);
        for (uint32_t heap = 0; heap < k->heaps; heap++) {
            struct mpr_level_list *l = &f->kept->level[f->kept->heaps.code[heap]];
            if (k->begins) add_level(l, k->begins - 1, MPR_LEVEL_UNTIL_NEXT);
            if (k->high[heap].bytes) add_level(l, k->high[heap].after, MPR_LEVEL_AT);
            if (k->ends) add_level(l, k->ends - 1, MPR_LEVEL_UNTIL_NEXT);
        }
    }
    qsort(kept, count, sizeof *kept, by_begin);
    for (size_t i = 0; i < f->kept->always.count; i++)
        add_span(f, f->kept->always.at[i], kept, count);
    free(kept);
}

static void keep_instances(struct finder *f)
{
    mpr_repeats_end(f->reader.repeats, &f->reader.replay);
    const uint32_t repeat = mpr_repeats_outermost(f->reader.repeats);
    while (f->opens) end_instance(f, f->opens - 1);
    if (repeat) keep_instances_of(f, repeat);
    for (size_t i = 0; i < f->instances; i++)
        if (is_step_of_torch(&f->reader.repeats->repeat[f->instance[i]->repeat]))
            add(&f->kept->instances, f->instance[i]->begins);
    for (uint32_t i = 0; i < f->kept->heaps.count; i++) {
        struct mpr_level_list *l = &f->kept->level[f->kept->heaps.code[i]];
        size_t last = 0;
        if (!l->count) continue;
        qsort(l->at, l->count, sizeof *l->at, by_event);
        for (size_t k = 1; k < l->count; k++) /* the first level after each event stays */
            if (l->at[k].after != l->at[last].after) l->at[++last] = l->at[k];
        l->count = last + 1;
    }
    sort(&f->kept->instances);
}

int mpr_kept_find(struct mpr_kept *kept, const char *log, uint64_t seq, uint64_t grain,
                  struct mpr_error *error)
{
    struct finder *f = mpr_alloc(1, sizeof *f);
    *kept = (struct mpr_kept){ .grain = grain };
    f->kept = kept;
    f->open = mpr_alloc(MAX_OPEN, sizeof *f->open);
    int result = -1;
    if (mpr_reader_open(&f->reader, log, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) == 0) {
        result = read_log(f, log, seq, error);
        end_bin(f);
        list_always(f);
        list_whole(kept);
        keep_instances(f);
        mpr_reader_close(&f->reader);
    }
    for (size_t i = 0; i < f->instances; i++) free(f->instance[i]);
    free(f->instance);
    free(f->open);
    free(f);
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
