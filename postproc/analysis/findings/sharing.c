#include "sharing.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "reader.h"

/* ---- one log */

/* A reading of another process's log, which looks at some instants. */
struct look {
    const struct mpr_summary *log;
    const struct mpr_shared_account *account;
    uint64_t *time; /* by account: ns since the start of the process; UINT64_MAX: not needed */
    size_t accounts;
    uint64_t next; /* the earliest of these times */
};

bool mpr_sharing_is_possible(const struct mpr_device_state *s)
{
    const int64_t least = INT64_C(64) << 20;
    const int64_t rest = mpr_signed_add(mpr_device_bytes(s, MPR_USE_OTHER_PROCESSES),
                                        mpr_device_bytes(s, MPR_USE_UNKNOWN));
    return s->valid && (s->used == MPF_UNKNOWN || rest >= least);
}

/* Returns the time of the account since the start of the process; UINT64_MAX if it did not run
 * then, does not use the GPU, or is the account's own. */
static uint64_t time_in(const struct mpr_process *process, const struct mpr_shared_account *a)
{
    const struct mpr_summary *log = &process->summary;
    const uint64_t start = log->process.start_ns, own_start = a->own->process.start_ns,
                   at = own_start + a->state->time;
    if (strcmp(log->path, a->own->path) == 0 || !mpr_sharing_is_possible(a->state))
        return UINT64_MAX;
    size_t gpu = 0;
    while (gpu < process->uuids && strcmp(process->uuid[gpu], a->uuid) != 0) gpu++;
    if (!*a->uuid || gpu == process->uuids) return UINT64_MAX;
    if (!start || !own_start || at < start || at - start > log->duration_ns) return UINT64_MAX;
    return at - start;
}

/* Adds the process's share to account i. */
static void take(struct look *l, const struct mpr_replay *r, size_t i)
{
    struct mpr_device_state *s = l->account[i].state;
    unsigned device = 0;
    l->time[i] = UINT64_MAX;
    while (device < MPF_GPUS && (!r->gpu.device[device].seen ||
                                 strcmp(r->gpu.device[device].uuid, l->account[i].uuid) != 0))
        device++;
    if (device == MPF_GPUS || !mpr_gpu_own(r, device)) return;
    s->share[s->shares++] = (struct mpr_device_share){
        .process = &l->log->process,
        .bytes = mpr_gpu_own(r, device),
        .blocks = mpr_gpu_tracked(r, device),
        .torch = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].bytes,
    };
}

/* Events at an instant belong to it. */
static void tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    struct look *l = arg;
    if (time <= l->next) return;
    l->next = UINT64_MAX;
    for (size_t i = 0; i < l->accounts; i++) {
        if (l->time[i] < time) take(l, r, i);
        if (l->time[i] < l->next) l->next = l->time[i];
    }
}

static void read_log(struct look *l, const struct mpr_progress *progress)
{
    struct mpr_reader reader;
    struct mpr_error none;
    const char *path = l->log->path;
    if (mpr_reader_open(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, &none) != 0) return;
    reader.replay.options.without_malloc = true;
    mpr_clock_begin(&reader.replay,
                    &(struct mpr_clock){ .tick = tick, .arg = l, .every = 1, .next = l->next + 1 });
    if (mpr_reader_replay(&reader, path, progress, &none) != 0) return;
    tick(l, &reader.replay, UINT64_MAX);
    mpr_reader_close(&reader);
}

/* ---- accounts */

/* Inserts the part of recorded processes before that of other processes, or else before the unknown
 * bytes, and takes their bytes from both.
 *
 * Processes that start together are each taken for the growth of all.  So if more than the used
 * bytes has a name, the contexts and modules of this process are too large: they are measured
 * around its calls, whereas those of the others were sampled. */
static void move_bytes(struct mpr_device_state *s)
{
    const int64_t slack = INT64_C(16) << 20;
    struct mpr_device_part *others = NULL, *unknown = NULL;
    int64_t bytes = 0;
    for (size_t i = 0; i < s->shares; i++)
        bytes = mpr_signed_add(bytes, mpr_saturating_signed(s->share[i].bytes));
    for (size_t i = 0; i < s->parts; i++) {
        if (s->part[i].use == MPR_USE_OTHER_PROCESSES) others = &s->part[i];
        if (s->part[i].use == MPR_USE_UNKNOWN) unknown = &s->part[i];
    }
    if (!bytes || !unknown) return; /* its used bytes were not measured */
    const int64_t known = others && others->bytes > 0 ? others->bytes : 0,
                  from_others = bytes < known ? bytes : known;
    if (others) others->bytes -= from_others;
    unknown->bytes = mpr_signed_sub(unknown->bytes, bytes - from_others);
    for (size_t i = 0; i < s->parts && unknown->bytes < -slack; i++) {
        struct mpr_device_part *p = &s->part[i];
        const int64_t excess = mpr_signed_sub(0, unknown->bytes),
                      cut = p->bytes < excess ? p->bytes : excess;
        if (p->use < MPR_USE_GRAPHS || p->use > MPR_USE_POOL_OVERHEAD || cut <= 0) continue;
        p->bytes -= cut;
        unknown->bytes += cut;
        p->note = "at most, because other processes grew meanwhile";
    }
    struct mpr_device_part *at = others ? others : unknown;
    memmove(at + 1, at, (size_t)(s->part + s->parts - at) * sizeof *at);
    s->parts++;
    *at = mpr_device_part_of(MPR_USE_RECORDED_PROCESSES, bytes);
}

MPR_COMPARE(by_bytes, struct mpr_device_share,
            mpr_compare(b->bytes, a->bytes) ?: mpr_compare(a->process->pid, b->process->pid))

void mpr_sharing_add(struct mpr_arena *arena, const struct mpr_shared_account *account,
                     size_t accounts, const struct mpr_processes *all,
                     const struct mpr_progress *progress)
{
    const size_t logs = all->count;
    uint64_t *time = mpr_alloc(accounts, sizeof *time);
    for (size_t i = 0; i < accounts; i++)
        account[i].state->share = mpr_arena_alloc(arena, logs * sizeof(struct mpr_device_share));
    for (size_t k = 0; k < logs; k++) {
        struct look look = { &all->at[k].summary, account, time, accounts, UINT64_MAX };
        for (size_t i = 0; i < accounts; i++) {
            time[i] = time_in(&all->at[k], &account[i]);
            if (time[i] < look.next) look.next = time[i];
        }
        if (look.next != UINT64_MAX) read_log(&look, progress);
    }
    for (size_t i = 0; i < accounts; i++) {
        struct mpr_device_state *s = account[i].state;
        if (s->shares) qsort(s->share, s->shares, sizeof *s->share, by_bytes);
        move_bytes(s);
    }
    free(time);
}

void mpr_sharing_of_peaks(struct mpr_peaks *peaks, const struct mpr_shared_account *more,
                          const struct mpr_processes *all, const struct mpr_progress *progress)
{
    struct mpr_shared_account *account = NULL;
    size_t accounts = 0, cap = 0;
    for (size_t i = 0; i < peaks->logs; i++)
        for (size_t k = 0; k < peaks->log[i].devices; k++) {
            struct mpr_device *d = &peaks->log[i].device[k];
            MPR_GROW(account, accounts, cap);
            account[accounts++] =
                (struct mpr_shared_account){ &d->peak, d->uuid, &peaks->log[i].summary };
        }
    if (more) {
        MPR_GROW(account, accounts, cap);
        account[accounts++] = *more;
    }
    mpr_sharing_add(&peaks->arena, account, accounts, all, progress);
    free(account);
}
