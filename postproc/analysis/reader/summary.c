/* The facts of a log that every report prints, from its header, its state and its replay. */
#include "summary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "reader.h"
#include "reading.h"

void mpr_reader_process(const struct mpr_header *h, struct mpr_arena *arena,
                        struct mpr_process_info *out)
{
    *out = (struct mpr_process_info){ 0 };
    const char **argv = mpr_arena_alloc(arena, (h->pairs + 1) * sizeof *argv);
    for (size_t i = 0; i < h->pairs; i++) {
        if (strcmp(h->pair[i].key, "argv") == 0)
            argv[out->argc++] = mpr_arena_text(arena, h->pair[i].value);
    }
    out->argv = argv;
    out->host = mpr_arena_text(arena, mpr_header_get(h, "host"));
    out->rank = mpr_arena_text(arena, mpr_header_get(h, "rank"));
    out->run = mpr_arena_text(arena, mpr_header_get(h, "run"));
    out->parent_log = mpr_arena_text(arena, mpr_header_get(h, "parent.log"));
    out->pid = h->pid;
    out->ppid = h->ppid;
    out->start_ns = h->start.real;
}

static struct mpr_recording recording(const struct mpr_header *h)
{
    const char *large = mpr_header_get(h, "stacks.large"), *root = mpr_header_get(h, "root"),
               *blocks = mpr_header_get(h, "host.blocks"),
               *blocks_large = mpr_header_get(h, "host.large"),
               *blocks_mean = mpr_header_get(h, "host.mean");
    return (struct mpr_recording){ .stacks = mpr_recorded_named(mpr_header_get(h, "stacks")),
                                   .stacks_large = large ? strtoull(large, NULL, 10) : 0,
                                   .small_objects = mpr_recorded_named(mpr_header_get(
                                                        h, "stacks.python")) == MPR_RECORDED_SAMPLE,
                                   .blocks = blocks ? mpr_recorded_named(blocks) : MPR_RECORDED_ALL,
                                   .blocks_large =
                                       blocks_large ? strtoull(blocks_large, NULL, 10) : 0,
                                   .blocks_mean = blocks_mean ? strtoull(blocks_mean, NULL, 10) : 0,
                                   .root = root && strcmp(root, "1") == 0 };
}

static void fill_windows(const struct mpr_header *h, const struct mpr_replay *r,
                         struct mpr_arena *arena, struct mpr_recording *out)
{
    const char *text = mpr_header_get(h, "window");
    const struct mpr_capture_windows *w = &r->windows;
    out->window.text = text ? mpr_arena_text(arena, text) : "";
    out->window.blocks = mpr_header_get(h, "window.blocks") != NULL;
    out->window.count = w->count;
    out->window.from_ns = w->first_ns;
    out->window.to_ns = w->open ? r->now : w->last_ns;
    out->window.ns = w->closed_ns + (w->open ? mpr_saturating_sub(r->now, w->since) : 0);
}

/* Returns the file with the malloc that the program calls, if that is not memprof's, or "". */
static const char *unseen_malloc(const struct mpr_header *h, struct mpr_arena *arena)
{
    const char *heap = mpr_header_get(h, "heap"), *name = mpr_header_get(h, "allocator");
    return heap && !strcmp(heap, "unseen") ? mpr_arena_text(arena, name ? name : "another library")
                                           : "";
}

static struct mpr_summary_fold fold(const struct mpr_log_fold *f)
{
    static const enum mpr_fold_state state[] = {
        [MPR_LOG_WHOLE] = MPR_FOLD_NONE,           [MPR_LOG_FOLDED] = MPR_FOLD_GOOD,
        [MPR_LOG_FOLD_MISSING] = MPR_FOLD_MISSING, [MPR_LOG_FOLD_OUTDATED] = MPR_FOLD_OLDER,
        [MPR_LOG_FOLD_FOREIGN] = MPR_FOLD_FOREIGN, [MPR_LOG_FOLD_DAMAGED] = MPR_FOLD_DAMAGED
    };
    return (struct mpr_summary_fold){ state[f->state], f->until_ns, f->grain_ns, f->events,
                                      f->bytes };
}

static void fill_state(const struct mpr_log_status *s, struct mpr_arena *arena,
                       struct mpr_summary *out)
{
    out->end = s->end;
    out->life = s->process.life == MPR_LIFE_RUNS      ? MPR_RUNS
                : s->process.life == MPR_LIFE_UNKNOWN ? MPR_NOT_TOLD
                                                      : MPR_ENDED;
    out->life_reason = mpr_arena_text(arena, s->process.why);
    out->journal = s->has_journal;
    out->journal_only = s->journal_only;
    out->copied = s->copied;
    out->fold = fold(&s->fold);
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

/* A log without an END ended when its process died; the reason is unknown. */
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
    const bool cut_off = s->copied || (s->cut && !s->has_journal), /* it ended then or later, by any
                                                                       means */
        ended = s->run.known || (s->process.life == MPR_LIFE_ENDED && !cut_off);
    if (!s->has_header || !ended || (s->end != MPF_END_NONE && s->end != MPF_END_RECOVERED)) return;
    out->fate = fate[s->run.how];
    out->oom = oom[s->run.oom];
    out->fate_status = s->run.status;
}

static_assert(MPF_LOSS_CODES <= sizeof((struct mpr_replay *)0)->lost_by / sizeof(uint64_t),
              "each reason has its count");
/* Losses without a LOST event, because the log itself could not be written, have no reason. */
static void fill_losses(const struct mpr_replay *r, uint64_t in_all, struct mpr_summary *out)
{
    const size_t reasons = sizeof out->loss / sizeof *out->loss;
    for (unsigned i = 0; i < sizeof r->lost_by / sizeof *r->lost_by && out->losses < reasons; i++) {
        const char *text = mpf_loss_text(i);
        if (r->lost_by[i])
            out->loss[out->losses++] =
                (struct mpr_loss_row){ text ? text : "unknown reason", r->lost_by[i] };
    }
    out->lost_events = r->lost > in_all ? r->lost : in_all;
}

static void add_unwritten(struct mpr_summary *out, const struct mpf_unwritten *u, uint64_t start)
{
    if (!u->events || out->unwrittens == sizeof out->unwritten / sizeof *out->unwritten) return;
    out->unwritten[out->unwrittens++] =
        (struct mpr_unwritten_row){ (unsigned)u->error, mpr_saturating_sub(u->from, start),
                                    mpr_saturating_sub(u->to, start), u->events };
}

/* A process that is killed between two stores may have recorded an interval twice. */
static bool is_recorded(const struct mpr_replay *r, const struct mpf_unwritten *u)
{
    for (uint32_t i = 0; i < r->unwrittens; i++)
        if (r->unwritten[i].from == u->from) return true;
    return false;
}

/* The log is complete up to the first of these intervals only. */
static void fill_unwritten(const struct mpr_reader *reader, struct mpr_summary *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpf_unwritten *rest = &mpr_log_status(reader->log)->unwritten;
    const uint64_t start = mpr_log_header(reader->log)->start.mono;
    for (uint32_t i = 0; i < r->unwrittens; i++) add_unwritten(out, &r->unwritten[i], start);
    if (!is_recorded(r, rest)) add_unwritten(out, rest, start);
    if (out->unwrittens && out->unwritten[0].from_ns < out->good_ns)
        out->good_ns = out->unwritten[0].from_ns;
}

static void fill_repairs(const struct mpr_accounts *accounts, struct mpr_summary *out)
{
    for (int i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *heap = &accounts->heap[i];
        out->order_repairs += heap->repairs;
        out->unmatched_frees += heap->unmatched;
        out->missed_frees += heap->missed;
        out->inherited_frees += heap->inherited;
    }
}

void mpr_reader_summary(const struct mpr_reader *reader, const char *path, struct mpr_arena *arena,
                        struct mpr_summary *out)
{
    const struct mpr_log_status *status = mpr_log_status(reader->log);
    const struct mpr_header *header = mpr_log_header(reader->log);
    const struct mpr_samples *samples = &reader->replay.samples;
    *out = (struct mpr_summary){ .path = mpr_arena_text(arena, path) };
    mpr_reader_process(header, arena, &out->process);
    out->recording = recording(header);
    fill_windows(header, &reader->replay, arena, &out->recording);
    out->allocator = mpr_arena_text(arena, mpr_header_get(header, "allocator"));
    out->unseen_malloc = unseen_malloc(header, arena);
    fill_state(status, arena, out);
    fill_fate(status, out);
    out->anonymous = mpr_reading_high(samples, MPF_RSS_ANON);
    out->alone = mpr_saturating_sub(mpr_reading_high(samples, MPF_RSS_PRIVATE_DIRTY),
                                    mpr_reading_high(samples, MPF_RSS_MEMPROF));
    fill_losses(&reader->replay, status->lost, out);
    fill_unwritten(reader, out);
    fill_repairs(&reader->replay.accounts, out);
    out->incomplete = mpr_log_incomplete(status) || out->lost_events;
    /* a lost name is not a lost byte */
    const bool events_missing = out->lost_events > reader->replay.lost_by[MPF_LOSS_NAMES];
    out->complete = status->ended && !mpr_log_incomplete(status) && !events_missing;
}
