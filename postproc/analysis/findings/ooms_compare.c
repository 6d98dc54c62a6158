/* Several processes: the first one that failed, the memory of each process and device at that
 * instant, and the excess of the first process over the median of the others. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "cell_totals.h"
#include "growth.h"
#include "labels.h"
#include "mpf/sample.h"
#include "ooms.h"
#include "process_tree.h"
#include "reader.h"
#include "reading.h"
#include "sharing.h"

/* ---- order of failures */

static void find_failure(struct mpr_ooms_log *log)
{
    const uint64_t start = log->summary.process.start_ns;
    size_t i = 0;
    while (i < log->stories && !log->story[i].hard) i++;
    log->failed = log->host.killed && start ? start + log->host.end : UINT64_MAX;
    log->failed_on_device = i < log->stories && log->story[i].real_time <= log->failed;
    if (log->failed_on_device) log->failed = log->story[i].real_time;
}

/* Logs of processes that did not fail come last, the largest first. */
MPR_COMPARE(by_failure, struct mpr_ooms_log,
            mpr_compare(a->run, b->run)
                ?: mpr_compare(a->failed, b->failed)
                ?: mpr_compare(b->at_failure.bytes, a->at_failure.bytes)
                ?: strcmp(a->summary.path, b->summary.path))

struct run {
    const char *id;
    uint64_t start; /* start of its first process */
    bool failed;
};

/* Runs that failed come first, the newest one first. */
MPR_COMPARE(by_run, struct run,
            mpr_compare(b->failed, a->failed) ?: mpr_compare(b->start, a->start) ?: strcmp(a->id, b->id))

/* Returns the run with that id, which is added if it is new. */
static struct run *find_run(struct run *run, size_t *runs, const char *id)
{
    size_t i = 0;
    while (i < *runs && strcmp(run[i].id, id) != 0) i++;
    if (i == *runs) run[(*runs)++] = (struct run){ .id = id, .start = UINT64_MAX };
    return &run[i];
}

static void number_runs(struct mpr_ooms *ooms)
{
    struct run *run = mpr_alloc(ooms->logs, sizeof *run);
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_ooms_log *log = &ooms->log[i];
        struct run *of = find_run(run, &ooms->runs, mpr_summary_run(&log->summary));
        if (log->summary.process.start_ns < of->start) of->start = log->summary.process.start_ns;
        of->failed |= log->failed != UINT64_MAX;
    }
    qsort(run, ooms->runs, sizeof *run, by_run);
    for (size_t i = 0; i < ooms->logs; i++) {
        const char *id = mpr_summary_run(&ooms->log[i].summary);
        ooms->log[i].run = (size_t)(find_run(run, &ooms->runs, id) - run);
        ooms->compared_logs += ooms->log[i].run == 0;
    }
    free(run);
}

/* Counts the processes of the compared run.  A process that executed other programs has a log for
 * each of them. */
static void count_processes(struct mpr_ooms *ooms)
{
    ooms->processes = ooms->compared_logs;
    if (ooms->logs < 2) return;
    const struct mpr_summary **log = mpr_alloc(ooms->logs, sizeof *log);
    struct mpr_process_tree *kin = mpr_alloc(ooms->logs, sizeof *kin);
    for (size_t i = 0; i < ooms->logs; i++) log[i] = &ooms->log[i].summary;
    mpr_process_tree_find(log, ooms->logs, kin);
    for (size_t i = 0; i < ooms->logs; i++) {
        if (kin[i].previous_program == MPR_NO_PROCESS) continue;
        ooms->log[kin[i].previous_program].executed = true;
        ooms->processes -= ooms->log[i].run == 0;
    }
    free(kin);
    free(log);
}

/* ---- each process at the first failure */

/* Bytes of a range in a process. */
struct entry {
    struct mpr_path path;
    size_t log;
    uint64_t bytes;
    bool estimated;
};
struct entries {
    struct entry *at;
    size_t count, cap;
};

static void add(struct entries *e, struct mpr_path path, size_t log, uint64_t bytes, bool estimated)
{
    MPR_GROW(e->at, e->count, e->cap);
    e->at[e->count++] = (struct entry){ path, log, bytes, estimated };
}

static void add_devices(struct entries *e, struct mpr_ooms *ooms, const struct mpr_reader *reader,
                        size_t log)
{
    const struct mpr_failure_state *state = &ooms->log[log].at_failure,
                                   *first = &ooms->log[0].at_failure;
    bool torch = false;
    for (size_t i = 0; i < first->devices; i++) torch |= first->device[i].torch != 0;
    for (size_t i = 0; i < state->devices; i++) {
        size_t rows;
        const struct mpr_device_snapshot *p =
            &reader->replay.gpu.device[state->device[i].index].peak;
        const struct mpr_row *row = mpr_growth_blocks(&ooms->arena, reader, p, torch, &rows);
        for (size_t k = 0; k < rows; k++) add(e, row[k].path, log, row[k].bytes, false);
    }
}

static void fill_state(struct mpr_failure_state *out, struct mpr_arena *arena,
                       const struct mpr_replay *r)
{
    out->alive = true;
    for (int i = MPF_HEAP_HOST; i <= MPF_HEAP_SHM; i++) out->host += r->accounts.heap[i].peak_bytes;
    out->rss = mpr_reading_at_peak(&r->samples.source[MPR_SOURCE_RSS], MPF_HEAP_HOST, out->time);
    out->device = mpr_arena_alloc(arena, MPF_GPUS * sizeof *out->device);
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const struct mpr_gpu_device *d = &r->gpu.device[i];
        const struct mpr_device_snapshot *p = &d->peak;
        const uint64_t torch = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, i)].peak_bytes;
        if (!p->valid || (!d->seen && !p->tracked && !torch)) continue;
        out->device[out->devices++] =
            (struct mpr_failure_device){ .uuid = mpr_arena_text(arena, d->uuid),
                                         .name = mpr_arena_text(arena, d->name),
                                         .index = i,
                                         .used = p->used,
                                         .total = p->total,
                                         .tracked = p->tracked,
                                         .torch = torch };
        out->bytes += p->tracked > torch ? p->tracked : torch;
    }
    out->bytes += out->host;
}

/* Reads the log of a process that was alive at the first failure.  A process that was killed has no
 * event at the very instant of its death. */
static void read_state(struct mpr_ooms *ooms, size_t index, struct entries *e,
                       const struct mpr_progress *progress)
{
    struct mpr_ooms_log *log = &ooms->log[index];
    const char *path = log->summary.path;
    const uint64_t start = log->summary.process.start_ns, at = ooms->first_failure,
                   late = log->executed ? 0 : UINT64_C(1000000000);
    struct mpr_reader reader;
    struct mpr_error error;
    if (!start || start > at || at > start + log->summary.duration_ns + late) return;
    log->at_failure.time = at - start;
    if (mpr_reader_open(&reader, path, ooms->log[0].choice.by,
                        MPR_INSTANT_END_OF(log->at_failure.time), &error) != 0)
        return;
    reader.replay.options.backward_of = ooms->backward_of;
    if (mpr_reader_replay(&reader, path, progress, &error) != 0) return;
    fill_state(&log->at_failure, &ooms->arena, &reader.replay);
    if (ooms->device_failure) add_devices(e, ooms, &reader, index);
    else {
        const struct mpr_accounts *accounts = &reader.replay.accounts;
        struct mpr_cell_totals *held = mpr_cell_totals_host(&reader.replay);
        for (uint32_t i = 0; i < accounts->cells; i++)
            if (mpf_heap_is_host(accounts->cell[i].heap))
                add(e, mpr_label_path(&ooms->arena, &reader, &accounts->cell[i]), index,
                    held[i].bytes, held[i].estimated);
        free(held);
    }
    mpr_reader_close(&reader);
}

/* ---- devices */

static struct mpr_device_sum *sum_of(struct mpr_ooms *ooms, const char *host,
                                     const struct mpr_failure_device *d)
{
    for (size_t i = 0; i < ooms->sums; i++)
        if (!strcmp(ooms->sum[i].uuid, d->uuid) && !strcmp(ooms->sum[i].host, host))
            return &ooms->sum[i];
    ooms->sum[ooms->sums] = (struct mpr_device_sum){
        .host = host, .uuid = d->uuid, .name = d->name, .used = MPF_UNKNOWN, .total = d->total
    };
    return &ooms->sum[ooms->sums++];
}

/* Each process measured the use of all processes: the largest value counts.  The driver's figure at
 * the refusal is newer than every sample of the GPU. */
static void sum_devices(struct mpr_ooms *ooms)
{
    size_t max = 0;
    for (size_t i = 0; i < ooms->logs; i++) max += ooms->log[i].at_failure.devices;
    ooms->sum = mpr_arena_alloc(&ooms->arena, (max + 1) * sizeof *ooms->sum);
    for (size_t i = 0; i < ooms->logs; i++) {
        for (size_t k = 0; k < ooms->log[i].at_failure.devices; k++) {
            const struct mpr_failure_device *d = &ooms->log[i].at_failure.device[k];
            struct mpr_device_sum *s = sum_of(ooms, ooms->log[i].summary.process.host, d);
            if (d->used != MPF_UNKNOWN && (s->used == MPF_UNKNOWN || d->used > s->used))
                s->used = d->used;
            s->tracked += d->tracked;
            s->torch += d->torch;
            s->processes += d->tracked || d->torch;
        }
    }
    const struct mpr_ooms_log *log = &ooms->log[0];
    const struct mpr_oom_event *s = log->story, *end = log->story + log->stories;
    while (s < end && (!s->hard || s->real_time != ooms->first_failure)) s++;
    if (s == end || s->free == MPF_UNKNOWN || s->free > s->total) return;
    for (size_t i = 0; i < log->at_failure.devices; i++) {
        if (log->at_failure.device[i].index != s->index) continue;
        struct mpr_device_sum *sum =
            sum_of(ooms, log->summary.process.host, &log->at_failure.device[i]);
        sum->used = s->total - s->free;
        sum->total = s->total;
    }
}

/* Names the other processes in the account of each event of the run. */
static void share_devices(struct mpr_ooms *ooms, const struct mpr_progress *progress)
{
    struct mpr_shared_account *account = NULL;
    size_t accounts = 0, cap = 0;
    for (size_t i = 0; i < ooms->compared_logs; i++) {
        const struct mpr_ooms_log *of = &ooms->log[i];
        for (size_t k = 0; k < of->stories; k++) {
            MPR_GROW(account, accounts, cap);
            account[accounts++] =
                (struct mpr_shared_account){ &of->story[k].state,
                                             of->device[of->story[k].index].uuid, &of->summary };
        }
    }
    mpr_sharing_add(&ooms->arena, account, accounts, &ooms->family, progress);
    free(account);
}

/* ---- the first process that failed against the others */

MPR_COMPARE(by_path, struct entry, mpr_frame_compare_paths(a->path, b->path))

static uint64_t median(uint64_t *value, size_t count)
{
    qsort(value, count, sizeof *value, mpr_compare_numbers);
    return count % 2 ? value[count / 2] : value[count / 2 - 1] / 2 + value[count / 2] / 2;
}

/* Processes without device memory are not compared with one that ran out of it. */
static bool is_peer(const struct mpr_ooms *ooms, size_t log)
{
    const struct mpr_failure_state *t = &ooms->log[log].at_failure;
    return log && t->alive && (!ooms->device_failure || t->devices);
}

/* A range has at most one entry of each process and device. */
static void compare_with_peers(struct mpr_ooms *ooms, struct entries *e)
{
    struct mpr_growth *against = &ooms->against;
    for (size_t i = 1; i < ooms->logs; i++) ooms->others += is_peer(ooms, i);
    if (!ooms->others || !e->count) return;
    uint64_t *value = mpr_alloc(ooms->others, sizeof *value);
    against->row = mpr_arena_alloc(&ooms->arena, e->count * sizeof *against->row);
    qsort(e->at, e->count, sizeof *e->at, by_path);
    for (size_t i = 0, to; i < e->count; i = to) {
        uint64_t failed = 0;
        size_t peers = 0;
        bool estimated = false;
        for (to = i; to < e->count && by_path(&e->at[i], &e->at[to]) == 0; to++)
            estimated |= e->at[to].estimated;
        for (size_t log = 0; log < ooms->logs; log++) {
            uint64_t bytes = 0;
            for (size_t k = i; k < to; k++) bytes += e->at[k].log == log ? e->at[k].bytes : 0;
            if (!log) failed = bytes;
            else if (is_peer(ooms, log)) value[peers++] = bytes;
        }
        mpr_growth_add(against, e->at[i].path, median(value, peers), failed, estimated);
    }
    for (size_t i = 0; i < against->rows; i++) {
        against->before += (uint64_t)against->row[i].before;
        against->after += (uint64_t)against->row[i].after;
    }
    mpr_growth_end(against);
    against->valid = true;
    free(value);
}

/* ---- insights of the process that failed */

/* Reads the insights of the first log that failed, with the processes of all logs as for the
 * summary, and its threads if host memory ran out. */
static void explain(struct mpr_ooms *ooms, const struct mpr_progress *progress)
{
    struct mpr_error error;
    const struct mpr_ooms_log *log = ooms->log, *end = log + ooms->logs;
    while (log < end && !log->hard && !log->host.told) log++;
    if (log == end) return;
    if (ooms->logs > 1) {
        const char **path = mpr_arena_alloc(&ooms->arena, ooms->logs * sizeof *path);
        for (size_t i = 0; i < ooms->logs; i++) path[i] = ooms->log[i].summary.path;
        mpr_processes_read(&ooms->family, path, ooms->logs, progress);
    }
    if (mpr_insights_read(&ooms->insights, log->summary.path, ooms->logs > 1 ? &ooms->family : NULL,
                          false, progress, &error) == 0)
        ooms->explained = log;
    if (!log->host.told || log->hard) return;
    mpr_peaks_init(&ooms->threads,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_THREAD,
                                                .at = MPR_INSTANT_END_OF(log->host.end) });
    mpr_peaks_add(&ooms->threads, log->summary.path, progress, &error);
}

void mpr_ooms_finish(struct mpr_ooms *ooms, const struct mpr_progress *progress)
{
    struct entries e = { 0 };
    for (size_t i = 0; i < ooms->logs; i++) find_failure(&ooms->log[i]);
    if (ooms->logs) number_runs(ooms);
    count_processes(ooms);
    if (ooms->logs) qsort(ooms->log, ooms->logs, sizeof *ooms->log, by_failure);
    for (size_t i = 0; i < ooms->compared_logs; i++)
        ooms->failed += ooms->log[i].failed != UINT64_MAX;
    ooms->compared = ooms->processes > 1 && ooms->failed;
    if (ooms->compared) {
        ooms->first_failure = ooms->log[0].failed;
        ooms->device_failure = ooms->log[0].failed_on_device;
        for (size_t i = 0; i < ooms->compared_logs; i++) read_state(ooms, i, &e, progress);
        sum_devices(ooms);
        compare_with_peers(ooms, &e);
        free(e.at);
        qsort(ooms->log, ooms->logs, sizeof *ooms->log, by_failure); /* by their bytes then */
    }
    explain(ooms, progress);
    if (ooms->device_failure) share_devices(ooms, progress);
}
