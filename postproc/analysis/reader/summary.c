/* Collects the facts about a log from its header, its state and its replay. */
#include "summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "mpf/event.h"
#include "reader.h"
#include "reading.h"

static void fill_process(const struct mpr_header *h, struct mpr_arena *arena,
                         struct mpr_process_info *out)
{
    const char **argv = mpr_arena_alloc(arena, (h->pairs + 1) * sizeof *argv);
    *out = (struct mpr_process_info){ .argv = argv,
                                      .host = mpr_arena_text(arena, mpr_header_get(h, "host")),
                                      .rank = mpr_arena_text(arena, mpr_header_get(h, "rank")),
                                      .run = mpr_arena_text(arena, mpr_header_get(h, "run")),
                                      .parent_log =
                                          mpr_arena_text(arena, mpr_header_get(h, "parent.log")),
                                      .pid = h->pid,
                                      .ppid = h->ppid,
                                      .start_ns = h->start.real };
    for (size_t i = 0; i < h->pairs; i++)
        if (strcmp(h->pair[i].key, "argv") == 0)
            argv[out->argc++] = mpr_arena_text(arena, h->pair[i].value);
}

static uint64_t number_in(const struct mpr_header *h, const char *key)
{
    const char *text = mpr_header_get(h, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void fill_recording(const struct mpr_header *h, const struct mpr_replay *r,
                           struct mpr_arena *arena, struct mpr_recording *out)
{
    const char *blocks = mpr_header_get(h, "host.blocks"), *window = mpr_header_get(h, "window");
    const struct mpr_capture_windows *w = &r->windows;
    *out = (struct mpr_recording){
        .stacks = mpr_recorded_named(mpr_header_get(h, "stacks")),
        .stacks_large = number_in(h, "stacks.large"),
        .small_objects =
            mpr_recorded_named(mpr_header_get(h, "stacks.python")) == MPR_RECORDED_SAMPLE,
        .blocks = blocks ? mpr_recorded_named(blocks) : MPR_RECORDED_ALL,
        .blocks_large = number_in(h, "host.large"),
        .blocks_mean = number_in(h, "host.mean"),
        .sums_estimated = mpr_header_get(h, "host.sums") != NULL,
        .root = number_in(h, "root") == 1,
        .window = { .text = window ? mpr_arena_text(arena, window) : "",
                    .blocks = mpr_header_get(h, "window.blocks") != NULL,
                    .count = w->count,
                    .from_ns = w->first_ns,
                    .to_ns = w->open ? r->now : w->last_ns,
                    .ns = w->closed_ns + (w->open ? mpr_saturating_sub(r->now, w->since) : 0) },
    };
}

static void fill_state(const struct mpr_log_status *s, struct mpr_arena *arena,
                       struct mpr_summary *out)
{
    static const enum mpr_fold_state fold[] = {
        [MPR_LOG_WHOLE] = MPR_FOLD_NONE,           [MPR_LOG_FOLDED] = MPR_FOLD_GOOD,
        [MPR_LOG_FOLD_MISSING] = MPR_FOLD_MISSING, [MPR_LOG_FOLD_OUTDATED] = MPR_FOLD_OLDER,
        [MPR_LOG_FOLD_FOREIGN] = MPR_FOLD_FOREIGN, [MPR_LOG_FOLD_DAMAGED] = MPR_FOLD_DAMAGED
    };
    out->end = s->end;
    out->life = s->process.life == MPR_LIFE_RUNS      ? MPR_RUNS
                : s->process.life == MPR_LIFE_UNKNOWN ? MPR_LIFE_NOT_KNOWN
                                                      : MPR_ENDED;
    out->life_reason = mpr_arena_text(arena, s->process.why);
    out->journal = s->has_journal;
    out->journal_only = s->journal_only;
    out->copied = s->copied;
    out->fold = (struct mpr_summary_fold){ fold[s->fold.state], s->fold.until_ns, s->fold.grain_ns,
                                           s->fold.events, s->fold.bytes };
    out->cut = s->cut;
    out->has_header = s->has_header;
    out->cut_offset = s->cut ? s->cut_offset : MPR_NOWHERE;
    out->bad_offset = s->bad_offset;
    out->damaged = s->damaged;
    out->missing_frames = s->missing_frames;
    out->good_ns = s->good_ns;
    out->frames = s->frames;
    out->bytes = s->bytes;
    out->events = s->events;
    out->journal_events = s->journal_events;
    out->journal_bytes = s->journal_bytes;
    out->torn = s->torn;
    out->duration_ns = s->end_ns;
    out->major = s->major;
    out->minor = s->minor;
}

/* The process of a log without END died. The reason is unknown unless the run's record has it. */
static void fill_fate(const struct mpr_log_status *s, struct mpr_summary *out)
{
    static const enum mpr_fate fate[] = { [MPR_RUN_UNKNOWN] = MPR_FATE_UNKNOWN,
                                          [MPR_RUN_EXIT] = MPR_FATE_EXIT,
                                          [MPR_RUN_SIGNAL] = MPR_FATE_SIGNAL };
    static const enum mpr_fate_oom oom[] = {
        MPR_FATE_NO_OOM, [MPR_RUN_OOM_CGROUP] = MPR_FATE_OOM_CGROUP,
        [MPR_RUN_OOM_KERNEL] = MPR_FATE_OOM_KERNEL
    };
    static_assert(sizeof fate / sizeof *fate == MPR_RUN_SIGNAL + 1 &&
                      sizeof oom / sizeof *oom == MPR_RUN_OOM_KERNEL + 1,
                  "each end is here");
    out->hwm = s->hwm > s->run.rss ? s->hwm : s->run.rss;
    out->exit_status_known = s->exit_status_known;
    if (s->exit_status_known) out->fate_status = s->exit_status;
    const bool cut_off = s->copied || (s->cut && !s->has_journal), /* the process may have run on
                                                                      after the log's end */
        ended = s->run.known || (s->process.life == MPR_LIFE_ENDED && !cut_off);
    if (!s->has_header || !ended || (s->end != MPF_END_NONE && s->end != MPF_END_RECOVERED)) return;
    out->fate = fate[s->run.how];
    out->oom = oom[s->run.oom];
    out->fate_status = s->run.status;
}

static_assert(MPF_LOSS_CODES <= sizeof((struct mpr_replay *)0)->lost_by / sizeof(uint64_t),
              "each reason has its count");
static void add_unwritten(struct mpr_summary *out, const struct mpf_unwritten *u, uint64_t start)
{
    if (!u->events || out->unwrittens == sizeof out->unwritten / sizeof *out->unwritten) return;
    out->unwritten[out->unwrittens++] =
        (struct mpr_unwritten_row){ (unsigned)u->error, mpr_saturating_sub(u->from, start),
                                    mpr_saturating_sub(u->to, start), u->events };
}

/* The log is complete up to the first of these intervals only.  A process that is killed between
 * two stores may have recorded an interval twice. */
static void fill_unwritten(const struct mpr_reader *reader, struct mpr_summary *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpf_unwritten *rest = &mpr_log_status(reader->log)->unwritten;
    const uint64_t start = mpr_log_header(reader->log)->start.mono;
    bool recorded = false;
    for (uint32_t i = 0; i < r->unwrittens; i++) {
        add_unwritten(out, &r->unwritten[i], start);
        recorded |= r->unwritten[i].from == rest->from;
    }
    if (!recorded) add_unwritten(out, rest, start);
    if (out->unwrittens && out->unwritten[0].from_ns < out->good_ns)
        out->good_ns = out->unwritten[0].from_ns;
}

void mpr_reader_summary(const struct mpr_reader *reader, const char *path, struct mpr_arena *arena,
                        struct mpr_summary *out)
{
    const struct mpr_log_status *status = mpr_log_status(reader->log);
    const struct mpr_header *header = mpr_log_header(reader->log);
    const struct mpr_replay *r = &reader->replay;
    const char *allocator = mpr_header_get(header, "allocator"),
               *heap = mpr_header_get(header, "heap");
    const bool unseen = heap && strcmp(heap, "unseen") == 0;
    const size_t reasons = sizeof out->loss / sizeof *out->loss;
    *out = (struct mpr_summary){
        .path = mpr_arena_text(arena, path),
        .allocator = mpr_arena_text(arena, allocator),
        .unseen_malloc =
            unseen ? mpr_arena_text(arena, allocator ? allocator : "another library") : "",
        .attached = r->options.attached,
        .anonymous = mpr_reading_high(&r->samples, MPF_RSS_ANON),
        .alone = mpr_saturating_sub(mpr_reading_high(&r->samples, MPF_RSS_PRIVATE_DIRTY),
                                    mpr_reading_high(&r->samples, MPF_RSS_MEMPROF)),
    };
    const char *source = mpr_header_get(header, "source");
    out->torch_snapshot = source && strcmp(source, "torch-snapshot") == 0;
    fill_process(header, arena, &out->process);
    fill_recording(header, r, arena, &out->recording);
    fill_state(status, arena, out);
    fill_fate(status, out);
    for (unsigned i = 0; i < sizeof r->lost_by / sizeof *r->lost_by && out->losses < reasons; i++) {
        const char *text = mpf_loss_text(i);
        if (r->lost_by[i])
            out->loss[out->losses++] =
                (struct mpr_loss_row){ text ? text : "unknown reason", r->lost_by[i] };
    }
    /* losses without a LOST event have no reason: the log itself could not be written */
    out->lost_events = r->lost > status->lost ? r->lost : status->lost;
    fill_unwritten(reader, out);
    for (int i = 0; i < MPR_HEAPS; i++) {
        out->order_repairs += r->accounts.heap[i].repairs;
        out->unmatched_frees += r->accounts.heap[i].unmatched;
        out->missed_frees += r->accounts.heap[i].missed;
        out->inherited_frees += r->accounts.heap[i].inherited;
    }
    out->incomplete = mpr_log_incomplete(status) || out->lost_events;
    /* a lost name is not a lost byte */
    const bool events_missing = out->lost_events > r->lost_by[MPF_LOSS_NAMES];
    out->complete = status->ended && !mpr_log_incomplete(status) && !events_missing;
}

/* ---- facts to choose one of several logs */

int mpr_summary_read(struct mpr_summary *log, struct mpr_arena *arena, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, arena, log);
    mpr_reader_close(&reader);
    return 0;
}

int mpr_log_identity_read(struct mpr_process_info *process, struct mpr_arena *arena,
                          const char *path, struct mpr_error *error)
{
    struct mpr_log *log;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    fill_process(mpr_log_header(log), arena, process);
    mpr_log_close(log);
    return 0;
}

int mpr_log_outcome_read(struct mpr_log_outcome *end, const char *path, uint8_t heap,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    struct mpr_arena arena = { 0 };
    struct mpr_summary s;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &arena, &s);
    const struct mpr_heap *at = reader.replay.accounts.heap;
    const struct mpr_gpu *gpu = &reader.replay.gpu;
    *end = (struct mpr_log_outcome){ .lacks = heap && !at[heap].used, .failed = MPR_NEVER };
    for (int i = 0; i < MPR_HEAPS; i++)
        if (at[i].peak_bytes > end->peak) end->peak = at[i].peak_bytes;
    if (s.oom != MPR_FATE_NO_OOM) end->failed = s.process.start_ns + s.duration_ns;
    for (uint32_t i = gpu->ooms; i-- > 0;)
        if (gpu->oom[i].hard) end->failed = s.process.start_ns + gpu->oom[i].time;
    mpr_reader_close(&reader);
    mpr_arena_free(&arena);
    return 0;
}

bool mpr_log_outcome_precedes(const struct mpr_log_outcome *left,
                              const struct mpr_log_outcome *right)
{
    if (left->lacks != right->lacks) return right->lacks;
    if (left->failed != right->failed) return left->failed < right->failed;
    return left->peak > right->peak;
}

int mpr_log_has_heap(const char *path, uint8_t heap, struct mpr_log_heaps *heaps,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    static_assert(MPR_LOG_HEAPS == MPR_HEAPS, "each heap has its place");
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.until_heap = heap;
    if (mpr_reader_replay(&reader, path, progress, error) < 0) return -1;
    const struct mpr_accounts *accounts = &reader.replay.accounts;
    const bool has = accounts->heap[heap].used;
    for (unsigned i = 0; i < MPR_HEAPS; i++) heaps->there[i] |= accounts->heap[i].used;
    mpr_reader_close(&reader);
    return has;
}
