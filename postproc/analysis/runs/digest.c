#include "digest.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "alloc.h"
#include "basename.h"
#include "insights.h"
#include "numbered_names.h"
#include "ooms.h"
#include "page_runs.h"
#include "utf8.h"

void mpr_digest_free(struct mpr_digest *d) { mpr_arena_free(&d->arena); }

/* ---- the files of the log */

static uint64_t size_of(const char *log, const char *ending)
{
    struct stat st;
    char *path = mpr_text_format("%s%s", log, ending);
    const uint64_t bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
    free(path);
    return bytes;
}

static void fill_sizes(struct mpr_digest_process *p, const char *log)
{
    p->log_bytes = size_of(log, "");
    p->fold_bytes = size_of(log, ".fold");
    p->journal_bytes = size_of(log, ".journal");
}

/* A journal of a process that may still run can get events without a change of its size. */
bool mpr_digest_is_fresh(const struct mpr_digest *d, const char *log)
{
    const struct mpr_digest_process *p = d->process;
    struct mpr_digest_process now = { 0 };
    fill_sizes(&now, log);
    return now.log_bytes != UINT64_MAX && p->log_bytes == now.log_bytes &&
           p->fold_bytes == now.fold_bytes && p->journal_bytes == now.journal_bytes &&
           (p->ended_for_certain || now.journal_bytes == UINT64_MAX);
}

/* ---- texts of bounded length */

static const char *text_of(struct mpr_digest *d, const char *text)
{
    return mpr_arena_text(&d->arena,
                          mpr_utf8_shortened(&d->arena, text ? text : "", MPR_DIGEST_TEXT));
}

static const char *path_of(struct mpr_digest *d, enum mpr_group by, struct mpr_path path)
{
    return path.depth ? text_of(d, mpr_frame_path_text(&d->arena, path)) : mpr_group_empty_path(by);
}

/* Returns the number of rows for each heap: an equal share of @all rows, from @min to @max. */
static size_t rows_each(size_t all, size_t heaps, size_t min, size_t max)
{
    const size_t share = heaps ? all / heaps : 0;
    return share > max ? max : share < min ? min : share;
}

/* ---- process, heaps and their lines */

static void fill_process(struct mpr_digest *d, const struct mpr_log_peaks *log,
                         const struct mpr_digest_words *words)
{
    const struct mpr_summary *s = &log->summary;
    const struct mpr_process_info *info = &s->process;
    *d->process = (struct mpr_digest_process){
        .file = text_of(d, mpr_basename(s->path)),
        .host = text_of(d, info->host),
        .rank = text_of(d, info->rank),
        .program = text_of(d, info->argc ? mpr_basename(info->argv[0]) : ""),
        .ended = text_of(d, words->ended(&d->arena, s)),
        .pid = info->pid,
        .ppid = info->ppid,
        .start_ns = info->start_ns,
        .duration_ns = s->duration_ns,
        .events = s->events,
        .lost_events = s->lost_events,
        .complete = s->complete,
        .incomplete = s->incomplete,
        .ended_for_certain = s->life == MPR_ENDED,
        .failed_ns = UINT64_MAX,
        .rss_high = log->rss_high,
        .named = text_of(d, log->choice.source),
        .host_blocks =
            s->recording.blocks == MPR_RECORDED_ALL ? "" : mpr_recorded_name(s->recording.blocks),
        .log_bytes = d->process->log_bytes,
        .fold_bytes = d->process->fold_bytes,
        .journal_bytes = d->process->journal_bytes,
    };
}

static void fill_heaps(struct mpr_digest *d, const struct mpr_log_peaks *log)
{
    d->heap = mpr_arena_alloc(&d->arena, log->heaps * sizeof *d->heap);
    for (const struct mpr_heap_peak *h = log->heap; d->heaps < log->heaps; h++)
        d->heap[d->heaps++] = (struct mpr_digest_heap){
            .heap = h->heap,
            .inside = h->inside,
            .estimated = h->estimated || h->is_approximate,
            .peak_bytes = h->peak_bytes,
            .peak_ns = h->peak_time,
            .peak_blocks = h->peak_blocks,
            .end_bytes = h->end_bytes,
            .end_blocks = h->end_blocks,
            .allocations = h->allocations,
            .frees = h->frees,
            .failures = h->failures,
            .instance = text_of(d, h->instance.name),
        };
}

static struct mpr_digest_line *add_line(struct mpr_digest *d, uint8_t heap, enum mpr_group by,
                                        const struct mpr_line *line)
{
    const struct mpr_row *r = &line->row;
    const struct mpr_path one = line->one.depth ? line->one : r->path;
    const char *path = path_of(d, by, r->path);
    d->line[d->lines] = (struct mpr_digest_line){
        .heap = heap,
        .path = path,
        .caller = text_of(d, line->caller),
        .alike = one.depth ? text_of(d, mpr_path_without_numbers(&d->arena, one)) : path,
        .bytes = r->bytes,
        .blocks = r->blocks,
        .end_bytes = r->end_bytes,
        .allocations = r->allocations,
        .error_bytes = mpr_variance_error(&r->variance),
        .estimated = r->estimated,
        .lines = 1,
    };
    return &d->line[d->lines++];
}

/* The remainder includes lines without bytes, because they have allocations. */
static void fill_lines(struct mpr_digest *d, const struct mpr_log_peaks *log,
                       const struct mpr_naming *naming)
{
    const size_t each =
        rows_each(MPR_DIGEST_LINES, log->heaps, MPR_DIGEST_LINES_LEAST, MPR_DIGEST_LINES_MOST);
    d->line = mpr_arena_alloc(&d->arena, log->heaps * (each + 1) * sizeof *d->line);
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        struct mpr_arena arena = { 0 };
        size_t lines, live;
        struct mpr_line *line =
            mpr_naming_lines(&arena, naming, log->choice.by, h->row, h->rows, &lines, &live);
        const size_t own = live < each ? live : each;
        for (size_t k = 0; k < own; k++) add_line(d, h->heap, log->choice.by, &line[k]);
        if (lines > own) {
            struct mpr_line sum = line[own];
            for (size_t k = own + 1; k < lines; k++) mpr_line_add(&sum, &line[k]);
            struct mpr_digest_line *rest = add_line(d, h->heap, MPR_GROUP_RANGE, &sum);
            rest->path = mpr_arena_format(&d->arena, "(%zu more)", lines - own);
            rest->alike = rest->caller = "";
            rest->lines = lines - own;
        }
        mpr_arena_free(&arena);
    }
}

/* ---- devices */

static void fill_comms(struct mpr_digest *d, const struct mpr_device *device)
{
    const struct mpr_device_state *s = &device->peak;
    struct mpr_digest_comm rest = { .device = device->index,
                                    .communicator = "",
                                    .first_use = "",
                                    .ranks = UINT64_MAX,
                                    .rank = UINT64_MAX,
                                    .first_ns = UINT64_MAX };
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        if (i < MPR_DIGEST_COMMS) {
            d->comm[d->comms++] = (struct mpr_digest_comm){ .device = device->index,
                                                            .communicator = text_of(d, c->name),
                                                            .first_use = text_of(d, c->first_use),
                                                            .ranks = c->ranks,
                                                            .rank = c->rank,
                                                            .first_ns = c->time,
                                                            .bytes = c->bytes,
                                                            .blocks = c->blocks };
            continue;
        }
        rest.bytes += c->bytes;
        rest.blocks += c->blocks;
    }
    if (s->comms > MPR_DIGEST_COMMS) d->comm[d->comms++] = rest;
}

static void fill_devices(struct mpr_digest *d, const struct mpr_log_peaks *log)
{
    size_t parts = 0;
    for (size_t i = 0; i < log->devices; i++) parts += log->device[i].peak.parts;
    d->device = mpr_arena_alloc(&d->arena, log->devices * sizeof *d->device);
    d->part = mpr_arena_alloc(&d->arena, parts * sizeof *d->part);
    d->comm = mpr_arena_alloc(&d->arena, log->devices * (MPR_DIGEST_COMMS + 1) * sizeof *d->comm);
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *device = &log->device[i];
        const struct mpr_device_state *s = &device->peak;
        d->device[d->devices++] = (struct mpr_digest_device){
            .device = device->index,
            .peak_ns = s->time,
            .used_bytes = s->valid ? s->used : UINT64_MAX,
            .total_bytes = s->valid ? s->total : UINT64_MAX,
            .name = text_of(d, device->name),
            .uuid = text_of(d, device->uuid),
        };
        for (size_t k = 0; k < s->parts; k++)
            d->part[d->parts++] =
                (struct mpr_digest_part){ device->index, text_of(d, s->part[k].key),
                                          text_of(d, s->part[k].name), s->part[k].bytes };
        fill_comms(d, device);
    }
}

/* ---- roles, instances and findings */

static void fill_roles(struct mpr_digest *d, const struct mpr_breakdown *b)
{
    d->role = mpr_arena_alloc(&d->arena, b->heaps * MPR_ROLES * sizeof *d->role);
    for (size_t i = 0; i < b->heaps; i++)
        for (int k = 0; k < MPR_ROLES; k++) {
            const struct mpr_breakdown_heap *h = &b->heap[i];
            const struct mpr_role_share *r = &h->role[k];
            if (r->blocks)
                d->role[d->roles++] = (struct mpr_digest_role){ h->heap, mpr_role_key(r->role),
                                                                h->time, r->bytes, r->blocks };
        }
}

/* Consecutive instances become one row if there are too many. */
static void fill_instances(struct mpr_digest *d, const struct mpr_instances *all)
{
    const size_t joined = (all->instances + MPR_DIGEST_INSTANCES - 1) / MPR_DIGEST_INSTANCES,
                 heaps = all->heaps < MPR_DIGEST_INSTANCE_HEAPS ? all->heaps
                                                                : MPR_DIGEST_INSTANCE_HEAPS;
    d->instance = mpr_arena_alloc(&d->arena, heaps * MPR_DIGEST_INSTANCES * sizeof *d->instance);
    for (size_t h = 0; h < heaps; h++)
        for (size_t k = 0; k < all->instances; k++) {
            const struct mpr_instance *i = &all->instance[k];
            const struct mpr_instance_heap *held = &all->heap[h].entry[k];
            if (k % joined == 0)
                d->instance[d->instances++] =
                    (struct mpr_digest_instance){ .heap = all->heap[h].heap,
                                                  .range = text_of(d, all->range),
                                                  .name = text_of(d, i->name),
                                                  .number = i->number,
                                                  .begin_ns = i->begin_ns,
                                                  .begin_bytes = held->begin_bytes };
            struct mpr_digest_instance *row = &d->instance[d->instances - 1];
            row->count += i->count;
            row->ended = !i->unended;
            row->end_bytes = held->end_bytes;
            if (i->end_ns > row->end_ns) row->end_ns = i->end_ns;
            if (held->peak_bytes > row->peak_bytes) row->peak_bytes = held->peak_bytes;
        }
}

static void fill_findings(struct mpr_digest *d, const struct mpr_insights *in,
                          const struct mpr_digest_words *words)
{
    d->finding = mpr_arena_alloc(&d->arena, MPR_DIGEST_FINDINGS * sizeof *d->finding);
    for (size_t i = 0; i < in->findings && i < MPR_DIGEST_FINDINGS; i++) {
        const struct mpr_finding *f = &in->finding[i];
        const struct mpr_finding_text text = words->finding(&d->arena, f);
        d->finding[d->findings++] = (struct mpr_digest_finding){
            .finding = text_of(d, mpr_finding_keys[f->kind]),
            .where = text_of(d, text.where),
            .what = text_of(d, text.what),
            .path = f->path.frame ? path_of(d, MPR_GROUP_RANGE, f->path) : "",
            .change = text_of(d, text.change),
            .report = text_of(d, text.report),
            .saves_at_most_bytes = f->bytes,
            .estimated = f->estimated,
        };
    }
}

/* ---- series over time */

/* Consecutive spans become one row if there are too many. */
static void fill_spans(struct mpr_digest *d, const struct mpr_timeline *t)
{
    const size_t each =
        rows_each(MPR_DIGEST_SPANS, t->heaps, MPR_DIGEST_SPANS_LEAST, MPR_DIGEST_SPANS_MOST);
    d->span = mpr_arena_alloc(&d->arena, t->heaps * each * sizeof *d->span);
    for (const struct mpr_heap_timeline *h = t->heap; h < t->heap + t->heaps; h++) {
        const size_t joined = (h->spans + each - 1) / each;
        for (size_t k = 0; k < h->spans; k++) {
            const struct mpr_span *s = &h->span[k];
            if (k % joined == 0) {
                d->span[d->spans++] = (struct mpr_digest_span){ h->heap, s->start, s->time,
                                                                s->max,  s->min,   s->close };
                continue;
            }
            /* A level lasts until it changes, so the row also covers the time between its spans. */
            struct mpr_digest_span *row = &d->span[d->spans - 1];
            if (s->max > row->max_bytes) {
                row->max_bytes = s->max;
                row->time_of_max_ns = s->time;
            }
            if (s->min < row->min_bytes) row->min_bytes = s->min;
            row->end_bytes = s->close;
        }
    }
}

/* ---- out-of-memory events */

/* Keeps the newest events, if there may be any. */
static int read_ooms(struct mpr_digest *d, const struct mpr_insights *in, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_log_peaks *peaks = &in->peaks.log[0];
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    bool any = in->oom.told || peaks->summary.oom != MPR_FATE_NO_OOM;
    for (size_t i = 0; i < peaks->heaps; i++)
        any |= peaks->heap[i].failures && mpf_heap_is_gpu(peaks->heap[i].heap);
    if (!any) return 0;
    const int status = mpr_ooms_add(&ooms, path, progress, error);
    for (const struct mpr_ooms_log *log = ooms.log; log < ooms.log + ooms.logs; log++) {
        const size_t first = log->stories > MPR_DIGEST_OOMS ? log->stories - MPR_DIGEST_OOMS : 0;
        d->oom = mpr_arena_alloc(&d->arena, MPR_DIGEST_OOMS * sizeof *d->oom);
        d->process->ooms_hard = log->hard;
        d->process->ooms_soft = log->soft;
        if (log->summary.oom != MPR_FATE_NO_OOM) d->process->failed_ns = log->summary.duration_ns;
        for (size_t i = log->stories; i-- > 0;)
            if (log->story[i].hard) d->process->failed_ns = log->story[i].time;
        for (const struct mpr_oom_event *s = log->story + first; s < log->story + log->stories; s++)
            d->oom[d->ooms++] = (struct mpr_digest_oom){
                .time_ns = s->time,
                .device = s->index,
                .heap = s->heap,
                .thread = text_of(d, s->thread),
                .path = path_of(d, MPR_GROUP_RANGE, s->path),
                .asked_bytes = s->bytes,
                .free_bytes = s->free,
                .total_bytes = s->total,
                .got_over = !s->hard,
            };
    }
    mpr_ooms_free(&ooms);
    return status;
}

/* ---- a log */

/* The sizes of the files are taken first, so that the digest is outdated if the files change
 * while they are read. */
int mpr_digest_make(struct mpr_digest *d, const char *path, const struct mpr_digest_words *words,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    const struct mpr_timeline_options options = { .by = MPR_GROUP_PLACE,
                                                  .to = UINT64_MAX,
                                                  .buckets = MPR_DIGEST_SPANS_MOST,
                                                  .bands = 1,
                                                  .changes = SIZE_MAX };
    struct mpr_timeline timeline;
    struct mpr_insights in;
    struct mpr_insights_reading *reading;
    *d = (struct mpr_digest){ 0 };
    d->process = mpr_arena_alloc(&d->arena, sizeof *d->process);
    d->processes = 1;
    fill_sizes(d->process, path);
    if (mpr_page_runs_read(&timeline, &in, &reading, path, &options, progress, error) != 0) {
        mpr_digest_free(d);
        return -1;
    }
    mpr_insights_finish(reading, NULL, progress);
    const struct mpr_log_peaks *log = &in.peaks.log[0];
    fill_process(d, log, words);
    fill_heaps(d, log);
    fill_lines(d, log, words->naming);
    fill_devices(d, log);
    if (in.has_breakdown) fill_roles(d, &in.breakdown);
    if (in.has_steps) fill_instances(d, &in.steps.instances);
    fill_findings(d, &in, words);
    fill_spans(d, &timeline);
    const int status = read_ooms(d, &in, path, progress, error);
    mpr_insights_free(&in);
    mpr_timeline_free(&timeline);
    if (status != 0) mpr_digest_free(d);
    return status;
}
