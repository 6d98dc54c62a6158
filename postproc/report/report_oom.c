/* The report of each out-of-memory event, and all events as records of CSV. */
#include "report_oom.h"

#include <inttypes.h>

#include "mpf/sample.h"
#include "naming.h"
#include "report_device.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"

/* ---- records: each event of a device, in CSV also each group of refusals of host memory, and each
 * process that was killed for host memory or is at its limit */

/* Unknown numbers are MPF_UNKNOWN. */
struct record {
    const char *log, *rank, *kind, *outcome, *heap;
    uint64_t pid, attempts, error, count;
    struct mpr_oom_event event; /* of host memory: its time, thread, path and bytes */
};

#define OF(member)    MPR_FIELD(record, member)
#define KNOWN(member) MPR_FIELD(record, member), .unless = MPR_UNKNOWN_AT_MAX

// clang-format off
static const struct mpr_column record_columns[] = {
    { .key = "log", .type = MPR_TEXT, OF(log), .only = MPR_IN_CSV },
    { .key = "pid", .type = MPR_COUNT, OF(pid), .only = MPR_IN_CSV },
    { .key = "rank", .type = MPR_TEXT, OF(rank), .only = MPR_IN_CSV },
    { .key = "kind", .type = MPR_TEXT, OF(kind), .only = MPR_IN_CSV },
    { .key = "outcome", .type = MPR_TEXT, OF(outcome), .only = MPR_IN_CSV },
    { .key = "hard", .type = MPR_FLAG, OF(event.hard), .only = MPR_IN_JSON },
    { .key = "time_ns", .type = MPR_TIME, KNOWN(event.time) },
    { .key = "heap", .type = MPR_TEXT, OF(heap) },
    { .key = "thread", .type = MPR_TEXT, OF(event.thread) },
    { .key = "library", .type = MPR_TEXT, OF(event.library) },
    { .key = "path", MPR_PATH_FIELD(record, event.path), .only = MPR_IN_JSON },
    { .key = "python", MPR_PATH_FIELD(record, event.python), .only = MPR_IN_JSON },
    { .key = "path", MPR_PATH_FIELD(record, event.path), .unless = MPR_ABSENT_AT_0, .only = MPR_IN_CSV },
    { .key = "python", MPR_PATH_FIELD(record, event.python), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_CSV },
    { .key = "bytes", .type = MPR_BYTES, KNOWN(event.bytes) },
    { .key = "needed_bytes", .type = MPR_BYTES, KNOWN(event.needed) },
    { .key = "free_bytes", .type = MPR_BYTES, KNOWN(event.free) },
    { .key = "total_bytes", .type = MPR_BYTES, KNOWN(event.total) },
    { .key = "flushed_bytes", .type = MPR_BYTES, KNOWN(event.flushed) },
    { .key = "driver_refusals", .type = MPR_COUNT, KNOWN(attempts) },
    { .key = "capturing", .type = MPR_FLAG, OF(event.capturing), .only = MPR_IN_JSON },
    { .key = "errno", .type = MPR_COUNT, KNOWN(error), .only = MPR_IN_CSV },
    { .key = "count", .type = MPR_COUNT, KNOWN(count), .only = MPR_IN_CSV },
};
// clang-format on

/* Returns the record of an event of a device, of a refusal, or of the end of the process, whose
 * free bytes are those of the cgroup.  @s, @f: NULL for the others. */
static struct record record_of(const struct mpr_ooms_log *log, const struct mpr_oom_event *s,
                               const struct mpr_refused_request *f)
{
    struct record r = { .log = log->summary.path,
                        .rank = log->summary.process.rank,
                        .pid = log->summary.process.pid,
                        .kind = "host",
                        .outcome = log->host.killed ? "killed" : "at_limit",
                        .heap = "host",
                        .attempts = MPF_UNKNOWN,
                        .error = MPF_UNKNOWN,
                        .count = 1,
                        .event = { .time = log->host.end,
                                   .thread = "",
                                   .library = "",
                                   .bytes = MPF_UNKNOWN,
                                   .needed = MPF_UNKNOWN,
                                   .free = MPF_UNKNOWN,
                                   .total = MPF_UNKNOWN,
                                   .flushed = MPF_UNKNOWN } };
    if (s) {
        r.kind = "device";
        r.outcome = s->hard ? "hard" : "got_over";
        r.heap = mpr_heap_name(s->heap);
        r.attempts = s->attempts;
        r.event = *s;
    } else if (f) {
        r.outcome = "refused";
        r.heap = mpr_heap_name(f->heap);
        r.error = f->error;
        r.count = f->count;
        r.event.thread = f->thread;
        r.event.path = f->path;
        r.event.time = f->time;
        r.event.bytes = f->bytes;
    } else if (log->host.cgroup.valid) {
        const uint64_t *cgroup = log->host.cgroup.value;
        r.event.total = cgroup[MPF_CGROUP_LIMIT];
        if (r.event.total != MPF_UNKNOWN && cgroup[MPF_CGROUP_USAGE] <= r.event.total)
            r.event.free = r.event.total - cgroup[MPF_CGROUP_USAGE];
    }
    return r;
}

/* ---- the request and the free memory */

/* Returns the call in the program's own code: "main > f (a.py:3) > Linear.forward". */
static const char *user_call(struct mpr_document *doc, const struct mpr_oom_event *s)
{
    const struct mpr_frame_summary call =
        mpr_user_frames_summary(doc->naming->user_frames, &doc->arena, s->python, true);
    return mpr_report_call_words(doc, call.path, call.caller);
}

static void continued(struct mpr_document *doc, const char *text)
{
    mpr_report_oom_label(doc, "");
    mpr_doc_line(doc, "%s", text);
}

/* The range, then the call in the program's own code and the way to it, or all calls if paths are
 * not shortened. */
static void where(struct mpr_document *doc, const struct mpr_oom_event *s)
{
    enum { PLACES = 8 };
    const bool has_user_call = s->python.depth && doc->naming && doc->naming->user_frames,
               in_range = s->path.depth || !has_user_call;
    mpr_report_oom_label(doc, "where");
    mpr_doc_line(doc, "%s%s, thread %s", in_range ? mpr_doc_path(doc, s->path) : user_call(doc, s),
                 s->inherited ? " (inherited)" : "", s->thread);
    for (size_t i = s->python.depth; !has_user_call && i-- > 0;)
        continued(doc, s->python.frame[i]->text);
    if (!has_user_call) return;
    if (in_range) continued(doc, user_call(doc, s));
    const char *places =
        mpr_user_frames_places(doc->naming->user_frames, &doc->arena, s->python, PLACES);
    if (*places) continued(doc, places);
}

const char mpr_report_own_limit[] =
    "the driver was not called: PyTorch's own limit (set_per_process_memory_fraction)";

void mpr_report_oom_request_lines(struct mpr_document *doc, const struct mpr_oom_event *s)
{
    const bool known = s->free != MPF_UNKNOWN;
    mpr_report_oom_label(doc, "asked");
    mpr_doc_add_plain(doc, "%s (%" PRIu64 " B)", mpr_doc_size(doc, s->bytes), s->bytes);
    if (s->needed > s->bytes)
        mpr_doc_add_plain(doc, ", a segment of %s", mpr_doc_size(doc, s->needed));
    if (*s->library) mpr_doc_add_plain(doc, " by %s", s->library);
    mpr_doc_end(doc);
    where(doc, s);
    mpr_report_oom_label(doc, "had");
    mpr_doc_add_plain(doc, "free %s", known ? mpr_doc_size(doc, s->free) : "not known");
    if (known && s->total != MPF_UNKNOWN)
        mpr_doc_add_plain(doc, " of %s", mpr_doc_size(doc, s->total));
    if (!s->attempts) mpr_doc_add_plain(doc, "; %s", mpr_report_own_limit);
    mpr_doc_line(doc, "; %s under way", s->capturing ? "a graph's capture was" : "no capture");
    if (s->attempts > 1) {
        mpr_report_oom_label(doc, "tried");
        mpr_doc_line(doc, "%s (%s) and retried",
                     s->torch ? "PyTorch released its cache" : "released memory",
                     mpr_doc_size(doc, s->flushed));
    }
    if (!known || s->needed <= s->free) return;
    mpr_report_oom_label(doc, "SHORT BY");
    mpr_doc_line(doc, " %s", mpr_doc_size(doc, s->needed - s->free));
}

/* @order: the place of its process among those that failed, or "". */
static void heading(struct mpr_document *doc, const struct mpr_ooms_log *log,
                    const struct mpr_oom_event *s, size_t number, const char *order)
{
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_WARN, "HARD OOM %zu/%zu", number, log->hard);
    /* The time has all its digits, which --at takes. */
    mpr_doc_line(doc, "  %s  %s%s", mpr_heap_name(s->heap), mpr_doc_instant(doc, s->time, 1),
                 order);
    mpr_report_oom_request_lines(doc, s);
}

/* ---- changes with which it would have fit */

const struct mpr_fit_text mpr_report_fit_text[MPR_FITS] = {
    [MPR_FIT_SPLIT_FREE] = { "split_free", "without fragmentation", "expandable_segments:True" },
    [MPR_FIT_GRAPH_POOLS] = { "graph_pools", "without graph pools",
                              "fewer graphs, or one pool for all of them" },
    [MPR_FIT_CACHE] = { "cache", "with the cache emptied", "torch.cuda.empty_cache()" },
    [MPR_FIT_COMMUNICATOR] = { "communicator", "without one communicator",
                               "fewer channels or communicators" },
    [MPR_FIT_LOCAL_MEMORY] = { "local_memory", "without local memory",
                               "smaller local arrays, or cudaDeviceSetLimit(cudaLimitStackSize, "
                               "1024) after the launch" },
};

const char *mpr_report_fit_what(const struct mpr_fit *f)
{
    return f->replayed ? "expandable segments" : mpr_report_fit_text[f->kind].what;
}

const char *mpr_report_fit_answer(const struct mpr_fit *f)
{
    return !f->computed ? "not computed" : f->fits ? "yes" : "no";
}

const char *mpr_report_fit_words(struct mpr_document *doc, const struct mpr_fit *f)
{
    const char *how = mpr_report_fit_text[f->kind].how;
    if (!f->computed)
        return mpr_arena_format(&doc->arena, "(at most %s): %s", mpr_doc_size(doc, f->bytes), how);
    return f->fits ? how : mpr_arena_format(&doc->arena, "%s short", mpr_doc_size(doc, f->missing));
}

/* Returns "yes  expandable_segments:True". */
static const char *verdict_text(struct mpr_document *doc, const struct mpr_fit *f)
{
    return mpr_arena_format(&doc->arena, f->computed ? "%-4s %s" : "%s %s",
                            mpr_report_fit_answer(f), mpr_report_fit_words(doc, f));
}

MPR_VALUE(fit_key, mpr_fit, f, mpr_value_text(mpr_report_fit_text[f->kind].key))
MPR_VALUE(fit_what, mpr_fit, f, mpr_value_text(mpr_report_fit_what(f)))
MPR_VALUE(verdict, mpr_fit, f, mpr_value_text(verdict_text(doc, f)))

#define OF_FIT(member) MPR_FIELD(mpr_fit, member)

// clang-format off
static const struct mpr_column fit_columns[] = {
    { .key = "with", .title = "with", .type = MPR_TEXT, .get = fit_key,
      MPR_SHOWN(MPR_TEXT, fit_what), .width = 24 },
    { .key = "bytes", .title = "", .type = MPR_BYTES, OF_FIT(bytes) },
    { .key = "fits", .title = "", .type = MPR_FLAG, OF_FIT(fits), MPR_SHOWN(MPR_TEXT, verdict) },
    { .key = "computed", .type = MPR_FLAG, OF_FIT(computed) },
    { .key = "short_bytes", .type = MPR_BYTES, OF_FIT(missing) },
};
// clang-format on

/* ---- the largest live blocks: JSON also has each */

static const struct mpr_column block_columns[] = {
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_oom_block, bytes) },
    { .key = "age_ns", .type = MPR_TIME, .lasting = true, MPR_FIELD(mpr_oom_block, age) },
    { .key = "path", MPR_PATH_FIELD(mpr_oom_block, path) },
};

#define OF_PLACE(member) MPR_FIELD(mpr_oom_place, member)

// clang-format off
static const struct mpr_column place_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_oom_place, path) },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_PLACE(bytes) },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_PLACE(blocks), .width = 8 },
    { .key = "largest_bytes", .title = "largest", .type = MPR_BYTES, OF_PLACE(largest),
      .merge = MPR_MERGE_MAX, .spare = 1 },
    { .key = "oldest_age_ns", .title = "oldest's age", .type = MPR_TIME, OF_PLACE(age),
      .lasting = true, .merge = MPR_MERGE_MAX },
};
// clang-format on

static struct mpr_row row_of_place(const void *row)
{
    const struct mpr_oom_place *p = row;
    return (struct mpr_row){ .path = p->path, .bytes = p->bytes, .blocks = p->blocks };
}

static void blocks(struct mpr_document *doc, const struct mpr_oom_event *s, enum mpr_group by)
{
    mpr_doc_objects(doc, "largest", block_columns, s->largest, s->blocks);
    if (s->hard)
        mpr_doc_rows(doc, place_columns, s->place, s->places, .key = "live_by_path",
                     .title = "largest live blocks", .top = 10, .all = MPR_IN_JSON,
                     .by = mpr_group_is_calls(by) ? by : MPR_GROUP_AUTO, .partial = true,
                     .lines = { .merged = true, .row_of = row_of_place });
}

/* ---- an event */

const char *mpr_report_since_good(struct mpr_document *doc, const struct mpr_oom_event *s)
{
    return mpr_arena_format(&doc->arena, "since the last good peak (%s%s%s)", s->good,
                            *s->good ? ", " : "", mpr_doc_time(doc, s->growth.time));
}

/* People see events that the program recovered from in one line (soft_ones). */
static void story(struct mpr_document *doc, const struct mpr_ooms_log *log,
                  const struct mpr_oom_event *s, size_t number, const char *order)
{
    const char *flame_root = NULL;
    struct record *record = mpr_arena_alloc(&doc->arena, sizeof *record);
    *record = record_of(log, s, NULL);
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, record_columns, record);
    if (s->hard) {
        flame_root = mpr_arena_format(&doc->arena, "OOM %zu, gpu%u", number, s->index);
        heading(doc, log, s, number, order);
    }
    if (s->state.valid) {
        mpr_doc_open(doc, "device");
        mpr_doc_fact(doc, "index", mpr_value_number(MPR_COUNT, s->index));
        mpr_report_device(doc, &log->device[s->index], &s->state, s->hard ? "then" : NULL,
                          log->choice.by);
        mpr_doc_close(doc);
    }
    mpr_doc_rows(doc, fit_columns, s->fit, s->fits, .key = "would_fit",
                 .title = "would it have fit?", .only = s->hard ? 0 : MPR_IN_JSON,
                 .all = MPR_EVERYWHERE);
    mpr_report_growth(doc, "since_good_peak", &s->growth, flame_root);
    if (s->hard && s->growth.valid) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc, "%s", mpr_report_since_good(doc, s));
        mpr_report_growth_rows(doc, s->state.used != MPF_UNKNOWN ? "used" : "tracked", &s->growth,
                               log->choice.by);
    }
    mpr_doc_fact(doc, "good_instance", mpr_value_known_text(s->good, MPR_UNKNOWN));
    blocks(doc, s, log->choice.by);
    mpr_doc_close(doc);
}

/* ---- a log */

static void soft_ones(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    uint64_t flushed = 0;
    if (!log->soft) return;
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard) flushed += log->story[i].flushed;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "history  %s (recovered), %s released, at",
                      mpr_doc_counted(doc, log->soft, "soft OOM", "soft OOMs"),
                      mpr_doc_size(doc, flushed));
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard)
            mpr_doc_add_plain(doc, " %s", mpr_doc_instant(doc, log->story[i].time, 1));
    mpr_doc_end(doc);
}

/* Returns true if the process only shares a full cgroup with those that failed. */
static bool is_bystander(const struct mpr_ooms *ooms, const struct mpr_ooms_log *log)
{
    return ooms->failed && !log->run && log->host.full && !log->host.killed && !log->host.failures;
}

static bool is_healthy(const struct mpr_ooms *ooms, const struct mpr_ooms_log *log)
{
    return !log->stories && (!log->host.told || is_bystander(ooms, log)) &&
           !log->summary.incomplete;
}

/* @shown: also for people. */
static void one_log(struct mpr_document *doc, const struct mpr_ooms *ooms, size_t index, bool shown)
{
    const struct mpr_ooms_log *log = &ooms->log[index];
    const char *order = "";
    size_t number = 0;
    if (ooms->compared && ooms->failed > 1 && !log->run)
        order = mpr_arena_format(&doc->arena, "  number %zu of %zu processes that failed",
                                 index + 1, ooms->failed);
    mpr_doc_open(doc, NULL);
    mpr_report_log_fields(doc, &log->summary);
    if (shown) mpr_report_log_lines(doc, &log->summary);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
    if (*log->choice.source) mpr_doc_fact(doc, "ranges_from", mpr_value_text(log->choice.source));
    if (log->stories) mpr_report_choice(doc, &log->choice);
    mpr_doc_fact(doc, "ooms_without_detail", mpr_value_number(MPR_COUNT, log->undetailed));
    if (log->undetailed) {
        mpr_doc_gap(doc);
        mpr_doc_line(
            doc,
            "%zu of %zu failures have no detail: live blocks are kept only for the newest ones",
            log->undetailed, log->stories);
    }
    mpr_doc_list(doc, "ooms");
    for (size_t i = 0; i < log->stories; i++) {
        number += log->story[i].hard;
        story(doc, log, &log->story[i], number, order);
    }
    mpr_doc_close(doc);
    if (shown && !log->stories && !log->host.told) {
        mpr_doc_gap(doc);
        mpr_doc_add_plain(doc, "no out-of-memory event was recorded");
        if (log->summary.fate == MPR_FATE_SIGNAL)
            mpr_doc_add_plain(doc, ": no allocation had failed when %s ended the process",
                              mpr_report_fate(&doc->arena, &log->summary));
        mpr_doc_end(doc);
    }
    soft_ones(doc, log);
    mpr_report_oom_host(doc, log, shown && !is_bystander(ooms, log));
    mpr_doc_close(doc);
}

static void records(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    size_t max = 0, rows = 0;
    for (size_t i = 0; i < ooms->logs; i++)
        max += ooms->log[i].stories + ooms->log[i].host.refusals + 1;
    struct record *row = mpr_arena_alloc(&doc->arena, max * sizeof *row);
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_ooms_log *log = &ooms->log[i];
        for (size_t k = 0; k < log->stories; k++)
            row[rows++] = record_of(log, &log->story[k], NULL);
        if (!log->host.told) continue;
        for (size_t k = 0; k < log->host.refusals; k++)
            row[rows++] = record_of(log, NULL, &log->host.refusal[k]);
        if (log->host.killed || log->host.full) row[rows++] = record_of(log, NULL, NULL);
    }
    mpr_doc_rows(doc, record_columns, row, rows, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, record_columns);
}

/* ---- all logs */

/* A program that executed another one is not listed, because its process continued. */
static void healthy_ones(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    size_t count = 0;
    if (ooms->logs == 1) return;
    for (size_t i = 0; i < ooms->logs; i++)
        count += is_healthy(ooms, &ooms->log[i]) && !ooms->log[i].executed;
    if (!count) return;
    if (count < ooms->logs) mpr_doc_gap(doc);
    mpr_doc_line(doc, "no out-of-memory event was recorded in %s",
                 mpr_doc_counted(doc, count, "log", "logs"));
    for (size_t i = 0; i < ooms->logs; i++)
        if (is_healthy(ooms, &ooms->log[i]) && !ooms->log[i].executed)
            mpr_report_title(doc, &ooms->log[i].summary);
}

/* "run 5f0c..., began at ..." */
static void run_title(struct mpr_document *doc, const struct mpr_ooms *ooms, size_t run)
{
    const char *id = "";
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_summary *s = &ooms->log[i].summary;
        if (ooms->log[i].run != run) continue;
        id = mpr_summary_run(s);
        if (s->process.start_ns < first) first = s->process.start_ns;
    }
    const char *start = mpr_report_utc(doc, first);
    mpr_doc_line(doc, "%s%s%s%s", *id ? "run " : "logs without a run id", id,
                 *start ? ", began at " : "", start);
}

void mpr_report_ooms(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    size_t logs_shown = 0, run = 0;
    mpr_report_schema(doc, "memprof.oom/1");
    if (ooms->runs > 1) {
        mpr_doc_line(doc, "logs of %zu runs; only the processes of the newest one%s are compared",
                     ooms->runs, ooms->failed ? " that failed" : "");
        run_title(doc, ooms, 0);
        mpr_doc_gap(doc);
    }
    mpr_report_oom_comparison(doc, ooms);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < ooms->logs; i++) {
        const bool shown = ooms->logs == 1 || !is_healthy(ooms, &ooms->log[i]);
        if (shown && logs_shown++) mpr_doc_gap(doc);
        if (shown && ooms->log[i].run != run) run_title(doc, ooms, run = ooms->log[i].run);
        one_log(doc, ooms, i, shown);
    }
    mpr_doc_close(doc);
    healthy_ones(doc, ooms);
    mpr_report_oom_first_failure(doc, ooms);
    mpr_report_oom_threads(doc, ooms);
    mpr_report_oom_cause(doc, ooms);
    records(doc, ooms);
    doc->json_ends_blank = true;
}
