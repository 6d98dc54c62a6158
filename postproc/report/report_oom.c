/* The story of each lack of memory. */
#include "report_oom.h"

#include <inttypes.h>

#include "fate.h"
#include "mpf/sample.h"
#include "naming.h"
#include "report_device.h"
#include "report_growth.h"
#include "reports.h"
#include "units.h"

/* Columns before what stands under a label; calls on the way to who asked. */
enum { IN = 10, PLACES = 8 };

/* With all its digits: what --at takes. */
static const char *exact_time(struct mpr_document *doc, uint64_t ns)
{
    return mpr_doc_instant(doc, ns, 1);
}

/* ---- what was asked, and what there was */

#define OF(member) MPR_FIELD(mpr_oom_story, member)

static const struct mpr_column story_columns[] = {
    { .key = "hard", .type = MPR_FLAG, OF(hard) },
    { .key = "time_ns", .type = MPR_TIME, OF(time) },
    { .key = "heap", .type = MPR_TEXT, OF(heap) },
    { .key = "thread", .type = MPR_TEXT, OF(thread) },
    { .key = "library", .type = MPR_TEXT, OF(library) },
    { .key = "path", MPR_PATH_FIELD(mpr_oom_story, path) },
    { .key = "python", MPR_PATH_FIELD(mpr_oom_story, python) },
    { .key = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "needed_bytes", .type = MPR_BYTES, OF(needed) },
    { .key = "free_bytes", .type = MPR_BYTES, OF(free), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, OF(total), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "flushed_bytes", .type = MPR_BYTES, OF(flushed) },
    { .key = "driver_refusals", .type = MPR_COUNT, OF(attempts) },
    { .key = "capturing", .type = MPR_FLAG, OF(capturing) },
};

/* "f (a.py:3) > Linear.forward <- main" */
static const char *telling_line(struct mpr_document *doc, const struct mpr_oom_story *s)
{
    const struct mpr_told told = mpr_telling_of(doc->naming->telling, &doc->arena, s->python, true);
    return mpr_arena_format(&doc->arena, "%s%s%s", mpr_doc_path(doc, told.path),
                            *told.caller ? " <- " : "", told.caller);
}

/* The call in the program's own code that asked, and the way to it; or all calls. */
static void where(struct mpr_document *doc, const struct mpr_oom_story *s)
{
    const bool tells = s->python.depth && doc->naming && doc->naming->telling;
    const bool in_range = s->path.depth || !tells;
    mpr_doc_line(doc, "  where   %s%s, thread %s",
                 in_range ? mpr_doc_path(doc, s->path) : telling_line(doc, s),
                 s->inherited ? " (inherited)" : "", s->thread);
    if (!tells) {
        for (size_t i = s->python.depth; i-- > 0;)
            mpr_doc_line(doc, "%*s%s", IN, "", s->python.frame[i]->text);
        return;
    }
    if (in_range) mpr_doc_line(doc, "%*s%s", IN, "", telling_line(doc, s));
    const char *places = mpr_telling_places(doc->naming->telling, &doc->arena, s->python, PLACES);
    if (*places) mpr_doc_line(doc, "%*s%s", IN, "", places);
}

static void request(struct mpr_document *doc, const struct mpr_oom_story *s)
{
    mpr_doc_say(doc, "  asked   %s (%" PRIu64 " B)", mpr_doc_size(doc, s->bytes), s->bytes);
    if (s->needed > s->bytes) mpr_doc_say(doc, ", a segment of %s", mpr_doc_size(doc, s->needed));
    if (*s->library) mpr_doc_say(doc, " by %s", s->library);
    mpr_doc_end(doc);
    where(doc, s);
}

static void supply(struct mpr_document *doc, const struct mpr_oom_story *s)
{
    static const char own_limit[] = "PyTorch's own limit (set_per_process_memory_fraction)";
    const char *tried = s->torch ? "PyTorch gave back its cache" : "gave back memory";
    const bool known = s->free != MPF_UNKNOWN;
    mpr_doc_say(doc, "  had     free %s", known ? mpr_doc_size(doc, s->free) : "not known");
    if (known) mpr_doc_say(doc, " of %s", mpr_doc_size(doc, s->total));
    if (!s->attempts) mpr_doc_say(doc, "; the driver was not asked: %s", own_limit);
    mpr_doc_line(doc, "; %s under way", s->capturing ? "a graph's capture was" : "no capture");
    if (s->attempts > 1)
        mpr_doc_line(doc, "  tried   %s (%s) and asked again", tried,
                     mpr_doc_size(doc, s->flushed));
    if (known && s->needed > s->free)
        mpr_doc_line(doc, "  SHORT BY %s", mpr_doc_size(doc, s->needed - s->free));
}

static void heading(struct mpr_document *doc, const struct mpr_ooms_log *log,
                    const struct mpr_oom_story *s, size_t number, const char *order)
{
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_WARN, "HARD OOM %zu/%zu", number, log->hard);
    mpr_doc_line(doc, "  %s  %s%s", mpr_heap_name(s->heap), exact_time(doc, s->time), order);
    request(doc, s);
    supply(doc, s);
}

/* ---- changes with which it would have fit */

const struct mpr_fit_text mpr_report_fit_text[MPR_FITS] = {
    [MPR_FIT_SPLIT_FREE] = { "split_free", "split free usable", "expandable_segments:True" },
    [MPR_FIT_GRAPH_POOLS] = { "graph_pools", "graph pools released",
                              "fewer graphs, or one pool for all of them" },
    [MPR_FIT_CACHE] = { "cache", "cache emptied", "torch.cuda.empty_cache()" },
    [MPR_FIT_COMMUNICATOR] = { "communicator", "largest communicator",
                               "fewer channels or communicators" },
    [MPR_FIT_LOCAL_MEMORY] = { "local_memory", "local memory of kernels returned",
                               "smaller local arrays, or cudaDeviceSetLimit(cudaLimitStackSize, "
                               "1024) after the launch" },
};

struct fit {
    struct mpr_fit f;
    struct mpr_fit_text text;
    const char *verdict;
};

static const struct mpr_column fit_columns[] = {
    { .key = "with", .type = MPR_TEXT, MPR_FIELD(fit, text.key) },
    { .title = "with", .type = MPR_TEXT, MPR_FIELD(fit, text.what), .width = 24 },
    { .key = "bytes", .title = "", .type = MPR_BYTES, MPR_FIELD(fit, f.bytes) },
    { .key = "fits", .type = MPR_FLAG, MPR_FIELD(fit, f.fits) },
    { .key = "computed", .type = MPR_FLAG, MPR_FIELD(fit, f.computed) },
    { .key = "short_bytes", .type = MPR_BYTES, MPR_FIELD(fit, f.missing) },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(fit, verdict) },
};

static const char *verdict(struct mpr_document *doc, const struct mpr_fit *f)
{
    const char *how = mpr_report_fit_text[f->kind].how;
    if (!f->computed)
        return mpr_arena_format(&doc->arena, "not computed (at most %s): %s",
                                mpr_doc_size(doc, f->bytes), how);
    if (f->fits) return mpr_arena_format(&doc->arena, "yes  %s", how);
    return mpr_arena_format(&doc->arena, "no   %s short", mpr_doc_size(doc, f->missing));
}

static void fits(struct mpr_document *doc, const struct mpr_oom_story *s, unsigned only)
{
    struct fit *row = mpr_arena_alloc(&doc->arena, s->fits * sizeof *row);
    for (size_t i = 0; i < s->fits; i++)
        row[i] = (struct fit){ s->fit[i], mpr_report_fit_text[s->fit[i].kind],
                               verdict(doc, &s->fit[i]) };
    mpr_doc_table(doc, &(struct mpr_table){ .key = "would_fit",
                                            .title = "would it have fit?",
                                            .only = only,
                                            MPR_COLUMNS(fit_columns),
                                            MPR_ROWS(row, s->fits),
                                            .all = MPR_EVERYWHERE });
}

/* ---- what held it */

static const struct mpr_column block_columns[] = {
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_oom_block, bytes) },
    { .key = "age_ns", .type = MPR_TIME, .lasting = true, MPR_FIELD(mpr_oom_block, age) },
    { .key = "path", MPR_PATH_FIELD(mpr_oom_block, path) },
};

static void growth(struct mpr_document *doc, const struct mpr_oom_story *s, enum mpr_group by)
{
    if (!s->growth.valid) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "since the last good peak (%s%s%s)", s->good, *s->good ? ", " : "",
                 mpr_doc_time(doc, s->growth.time));
    mpr_report_growth_rows(doc, s->state.used != MPF_UNKNOWN ? "used" : "tracked", &s->growth, by);
}

static void device(struct mpr_document *doc, const struct mpr_ooms_log *log,
                   const struct mpr_oom_story *s)
{
    if (!s->state.valid) return;
    mpr_doc_open(doc, "device");
    mpr_doc_fact(doc, "index", mpr_value_number(MPR_COUNT, s->index));
    mpr_report_device(doc, &log->device[s->index], &s->state, s->hard ? "then" : NULL,
                      log->choice.by);
    mpr_doc_close(doc);
}

/* What stands first in flame graphs. */
static const char *failure(struct mpr_document *doc, const struct mpr_oom_story *s, size_t number)
{
    return mpr_arena_format(&doc->arena, "OOM %zu, gpu%u", number, s->index);
}

/* One that was got over people see in a line with others (soft_ones). */
static void story(struct mpr_document *doc, const struct mpr_ooms_log *log,
                  const struct mpr_oom_story *s, size_t number, const char *order)
{
    const unsigned only = s->hard ? 0 : MPR_IN_JSON;
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, story_columns, s);
    if (s->hard) heading(doc, log, s, number, order);
    device(doc, log, s);
    fits(doc, s, only);
    mpr_report_growth(doc, "since_good_peak", &s->growth, s->hard ? failure(doc, s, number) : NULL);
    if (s->hard) growth(doc, s, log->choice.by);
    mpr_doc_fact(doc, "good_instance", mpr_value_known_text(s->good, MPR_UNKNOWN));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "largest",
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(block_columns),
                                            MPR_ROWS(s->largest, s->blocks),
                                            .all = MPR_IN_JSON });
    if (s->hard) mpr_report_oom_blocks(doc, s, log->choice.by);
    mpr_doc_close(doc);
}

/* ---- processes */

static void soft_ones(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    uint64_t flushed = 0;
    if (!log->soft) return;
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard) flushed += log->story[i].flushed;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "history  soft OOMs (got over): %zu, given back %s, at", log->soft,
                mpr_doc_size(doc, flushed));
    for (size_t i = 0; i < log->stories; i++)
        if (!log->story[i].hard) mpr_doc_say(doc, " %s", exact_time(doc, log->story[i].time));
    mpr_doc_end(doc);
}

static void stories(struct mpr_document *doc, const struct mpr_ooms_log *log, const char *order)
{
    size_t number = 0;
    mpr_doc_list(doc, "ooms");
    for (size_t i = 0; i < log->stories; i++) {
        number += log->story[i].hard;
        story(doc, log, &log->story[i], number, order);
    }
    mpr_doc_close(doc);
}

static void without_detail(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    mpr_doc_fact(doc, "ooms_without_detail", mpr_value_number(MPR_COUNT, log->undetailed));
    if (!log->undetailed) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%zu of %zu failures without detail: what was live is kept of the newest",
                 log->undetailed, log->stories);
}

/* It only shares a full cgroup with those that failed. */
static bool stands_by(const struct mpr_ooms *ooms, const struct mpr_ooms_log *log)
{
    return ooms->failed && !log->run && log->host.full && !log->host.killed && !log->host.failures;
}

/* Nothing is to be told of it beside others. */
static bool healthy(const struct mpr_ooms *ooms, const struct mpr_ooms_log *log)
{
    return !log->stories && (!log->host.told || stands_by(ooms, log)) && !log->summary.incomplete;
}

/* Another program was the end of its process. */
static bool is_worth_a_line(const struct mpr_ooms *ooms, const struct mpr_ooms_log *log)
{
    return healthy(ooms, log) && !log->executed;
}

/* Behind the heading of a failure: the place of its process among those that failed, where they are
 * several. */
static const char *order_of(struct mpr_document *doc, const struct mpr_ooms *ooms, size_t index)
{
    if (!ooms->compared || ooms->failed < 2 || ooms->log[index].run) return "";
    return mpr_arena_format(&doc->arena, "  %zu. of %zu processes to fail", index + 1,
                            ooms->failed);
}

/* What ended by a signal ended by something else. */
static void nothing(struct mpr_document *doc, const struct mpr_summary *s)
{
    struct mpr_fate_text fate;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "no lack of memory was recorded");
    if (s->fate == MPR_FATE_SIGNAL)
        mpr_doc_say(doc, ": no allocation had failed when %s ended the process",
                    mpr_fate_words(&fate, s));
    mpr_doc_end(doc);
}

/* told: to people, too. */
static void one_log(struct mpr_document *doc, const struct mpr_ooms *ooms, size_t index, bool told)
{
    const struct mpr_ooms_log *log = &ooms->log[index];
    mpr_doc_open(doc, NULL);
    mpr_report_fields(doc, &log->summary);
    if (told) mpr_report_lines(doc, &log->summary);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
    if (*log->choice.source) mpr_doc_fact(doc, "ranges_from", mpr_value_text(log->choice.source));
    if (log->stories) mpr_report_choice(doc, &log->choice);
    without_detail(doc, log);
    stories(doc, log, order_of(doc, ooms, index));
    if (told && !log->stories && !log->host.told) nothing(doc, &log->summary);
    soft_ones(doc, log);
    mpr_report_oom_host(doc, log, told && !stands_by(ooms, log));
    mpr_doc_close(doc);
}

static void healthy_ones(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    size_t count = 0;
    for (size_t i = 0; i < ooms->logs; i++) count += is_worth_a_line(ooms, &ooms->log[i]);
    if (!count || ooms->logs == 1) return;
    if (count < ooms->logs) mpr_doc_gap(doc);
    mpr_doc_line(doc, "no lack of memory was recorded in %zu log%s", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < ooms->logs; i++)
        if (is_worth_a_line(ooms, &ooms->log[i])) mpr_report_title(doc, &ooms->log[i].summary);
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
    const char *start = mpr_report_start(doc, first);
    mpr_doc_line(doc, "%s%s%s%s", *id ? "run " : "logs without a run id", id,
                 *start ? ", began at " : "", start);
}

void mpr_report_ooms(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    size_t shown = 0, run = 0;
    mpr_report_schema(doc, "memprof.oom/1");
    if (ooms->runs > 1) {
        mpr_doc_line(doc, "logs of %zu runs, of which one is compared: the newest%s", ooms->runs,
                     ooms->failed ? " that failed" : "");
        run_title(doc, ooms, 0);
        mpr_doc_gap(doc);
    }
    mpr_report_oom_comparison(doc, ooms);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < ooms->logs; i++) {
        const bool told = ooms->logs == 1 || !healthy(ooms, &ooms->log[i]);
        if (told && shown++) mpr_doc_gap(doc);
        if (told && ooms->log[i].run != run) run_title(doc, ooms, run = ooms->log[i].run);
        one_log(doc, ooms, i, told);
    }
    mpr_doc_close(doc);
    healthy_ones(doc, ooms);
    mpr_report_oom_first_failure(doc, ooms);
    mpr_report_oom_threads(doc, ooms);
    mpr_report_oom_cause(doc, ooms);
    mpr_report_oom_records(doc, ooms);
    doc->json_ends_blank = true;
}
