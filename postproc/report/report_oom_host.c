/* The story of host memory. */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "fate.h"
#include "mpf/sample.h"
#include "readings.h"
#include "report_growth.h"
#include "report_oom.h"
#include "shell.h"

/* Growth of a shorter time says nothing of a minute's. */
#define RATE_NS   UINT64_C(1000000000)
#define MINUTE_NS UINT64_C(60000000000)
/* Samples so old are told with their time. */
#define STALE_NS UINT64_C(10000000)

/* ---- samples */

static uint64_t value(const struct mpr_reading *r, int i)
{
    return r->valid ? r->value[i] : MPF_UNKNOWN;
}

static void known(struct mpr_document *doc, const char *what, uint64_t bytes)
{
    if (bytes != MPF_UNKNOWN) mpr_doc_say(doc, "  %s %s", what, mpr_doc_size(doc, bytes));
}

static void own_files(struct mpr_document *doc, const struct mpr_host_story *s)
{
    const uint64_t bytes = value(&s->cgroup, MPF_CGROUP_MEMPROF);
    if (!bytes || bytes == MPF_UNKNOWN) return;
    mpr_doc_line(doc, "          memprof's own log and journal on tmpfs hold %s of the cgroup's %s",
                 mpr_doc_size(doc, bytes), mpr_doc_size(doc, value(&s->cgroup, MPF_CGROUP_USAGE)));
}

/* A process that grows fast has more by its end than its newest sample says. */
static void sampled_at(struct mpr_document *doc, const struct mpr_host_story *s,
                       const struct mpr_reading *r)
{
    if (mpr_less(s->end, r->time) >= STALE_NS)
        mpr_doc_say(doc, " at %s", mpr_doc_time(doc, r->time));
}

static void cgroup(struct mpr_document *doc, const struct mpr_host_story *s)
{
    const uint64_t kills = value(&s->cgroup, MPF_CGROUP_OOM_KILLS);
    const uint64_t usage = value(&s->cgroup, MPF_CGROUP_USAGE),
                   limit = value(&s->cgroup, MPF_CGROUP_LIMIT);
    if (usage == MPF_UNKNOWN || limit == MPF_UNKNOWN) return;
    mpr_doc_say(doc, "  cgroup  %s of its limit %s", mpr_doc_size(doc, usage),
                mpr_doc_size(doc, limit));
    sampled_at(doc, s, &s->cgroup);
    const bool kills_known = kills && kills != MPF_UNKNOWN;
    /* Page cache alone fills a cgroup to its limit, and is given back. */
    if (s->full && (s->killed || kills_known)) mpr_doc_say(doc, ": the kernel kills in it");
    if (kills_known) mpr_doc_say(doc, "; kills so far: %" PRIu64, kills);
    mpr_doc_end(doc);
    own_files(doc, s);
}

static void rss(struct mpr_document *doc, const struct mpr_host_story *s)
{
    if (!s->rss.valid) return;
    mpr_doc_say(doc, "  RSS     %s", mpr_doc_size(doc, mpr_reading_resident(&s->rss)));
    sampled_at(doc, s, &s->rss);
    known(doc, "anonymous", value(&s->rss, MPF_RSS_ANON));
    known(doc, "file", value(&s->rss, MPF_RSS_FILE));
    known(doc, "shared", value(&s->rss, MPF_RSS_SHMEM));
    known(doc, "Private_Dirty", value(&s->rss, MPF_RSS_PRIVATE_DIRTY));
    mpr_report_rollup_time(doc, &s->rss);
    known(doc, "swap", value(&s->rss, MPF_RSS_SWAP));
    mpr_doc_end(doc);
    mpr_doc_line(doc, "  live    %s of host memory", mpr_doc_size(doc, s->growth.after));
}

static void limits(struct mpr_document *doc, const struct mpr_host_story *s)
{
    const uint64_t addresses = mpr_reading_newest(&s->limits, MPF_RSS_LIMIT_AS),
                   data = mpr_reading_newest(&s->limits, MPF_RSS_LIMIT_DATA);
    if (addresses == MPF_UNKNOWN && data == MPF_UNKNOWN) return;
    mpr_doc_say(doc, "  limits");
    known(doc, "RLIMIT_AS", addresses);
    known(doc, "RLIMIT_DATA", data);
    known(doc, "address space", value(&s->limits, MPF_RSS_VM_SIZE));
    mpr_doc_end(doc);
}

/* ---- growth */

static uint64_t per_minute(uint64_t change, uint64_t ns)
{
    const unsigned __int128 minute = (unsigned __int128)change * MINUTE_NS / ns;
    return minute < UINT64_MAX ? (uint64_t)minute : UINT64_MAX;
}

static void rate(struct mpr_document *doc, const char *what, uint64_t before, uint64_t after,
                 uint64_t ns)
{
    const char *sign = after < before ? "-" : "+";
    const uint64_t change = after < before ? before - after : after - before;
    if (!ns) return;
    mpr_doc_say(doc, "  growth  %s %s%s in the last %s", what, sign, mpr_doc_size(doc, change),
                mpr_doc_lasting(doc, ns));
    if (ns >= RATE_NS)
        mpr_doc_say(doc, ": %s%s a minute", sign, mpr_doc_size(doc, per_minute(change, ns)));
    mpr_doc_end(doc);
}

static void growth(struct mpr_document *doc, const struct mpr_host_story *s, enum mpr_group by)
{
    if (s->rss.valid && s->rss_then.valid)
        rate(doc, "RSS", mpr_reading_resident(&s->rss_then), mpr_reading_resident(&s->rss),
             mpr_less(s->rss.time, s->rss_then.time));
    if (!s->growth.valid) return;
    rate(doc, "live", s->growth.before, s->growth.after, mpr_less(s->end, s->mark));
    if (!s->growth.rows) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "live host memory since %s", mpr_doc_time(doc, s->mark));
    mpr_report_growth_rows(doc, NULL, &s->growth, by);
}

/* ---- refusals */

struct refusal {
    struct mpr_host_refusal f;
    const char *newest;
};

#define OF_REFUSAL(member) MPR_FIELD(refusal, f.member)

static const struct mpr_column refusal_columns[] = {
    { .key = "heap", .type = MPR_TEXT, OF_REFUSAL(heap) },
    { .key = "path", .title = "path", MPR_PATH_FIELD(refusal, f.path) },
    { .title = "largest", .type = MPR_BYTES, OF_REFUSAL(largest) },
    { .key = "thread", .type = MPR_TEXT, OF_REFUSAL(thread) },
    { .key = "errno", .type = MPR_COUNT, OF_REFUSAL(error) },
    { .key = "count", .title = "count", .type = MPR_COUNT, OF_REFUSAL(count), .width = 9 },
    { .key = "largest_bytes", .type = MPR_BYTES, OF_REFUSAL(largest) },
    { .key = "newest_ns", .type = MPR_TIME, OF_REFUSAL(time) },
    { .title = "newest", .type = MPR_TEXT, MPR_FIELD(refusal, newest) },
};

static void refusals(struct mpr_document *doc, const struct mpr_host_story *s)
{
    struct refusal *row = mpr_arena_alloc(&doc->arena, s->refusals * sizeof *row);
    for (size_t i = 0; i < s->refusals; i++) {
        const struct mpr_host_refusal *f = &s->refusal[i];
        const char *why = strerror((int)f->error);
        row[i] = (struct refusal){ *f, mpr_arena_format(&doc->arena, "%s %s, %s, %s",
                                                        mpr_doc_time(doc, f->time),
                                                        mpr_heap_name(f->heap), why, f->thread) };
    }
    mpr_doc_table(doc, &(struct mpr_table){ .key = "failed",
                                            .title = "failed allocations",
                                            MPR_COLUMNS(refusal_columns),
                                            MPR_ROWS(row, s->refusals),
                                            .all = MPR_IN_JSON,
                                            .partial = true });
}

/* ---- all */

static void heading(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    const struct mpr_host_story *s = &log->host;
    const bool by_signal = log->summary.fate == MPR_FATE_SIGNAL || s->full;
    struct mpr_fate_text fate;
    mpr_doc_gap(doc);
    if (s->killed)
        mpr_doc_add(doc, MPR_WARN, "%s  host  %s", by_signal ? "KILLED" : "ENDED",
                    mpr_doc_time(doc, s->end));
    else if (s->refused)
        mpr_doc_add(doc, MPR_WARN, "REFUSED  %s  host  %s; %s allocation%s failed",
                    mpr_doc_time(doc, s->end), mpr_doc_size(doc, s->newest.bytes),
                    mpr_doc_count(doc, s->failures), s->failures == 1 ? "" : "s");
    else mpr_doc_add(doc, MPR_WARN, "AT THE LIMIT  host");
    if (s->killed && !(s->full && log->summary.fate == MPR_FATE_UNKNOWN))
        mpr_doc_say(doc, "  %s", mpr_fate_words(&fate, &log->summary));
    mpr_doc_end(doc);
}

#define OF(member) MPR_FIELD(mpr_host_story, member)

static const struct mpr_column fields[] = {
    { .key = "killed", .type = MPR_FLAG, OF(killed) },
    { .key = "at_limit", .type = MPR_FLAG, OF(full) },
};

static void story(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    const struct mpr_host_story *s = &log->host;
    heading(doc, log);
    cgroup(doc, s);
    rss(doc, s);
    limits(doc, s);
    growth(doc, s, log->choice.by);
}

static void hint(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    mpr_doc_gap(doc);
    mpr_doc_command(doc, "who held it: memprof-report peaks%s %s",
                    log->host.killed ? " --at end" : "",
                    mpr_shell_word(&doc->arena, log->summary.path));
}

void mpr_report_oom_host(struct mpr_document *doc, const struct mpr_ooms_log *log, bool told)
{
    const struct mpr_host_story *s = &log->host;
    mpr_doc_fact(doc, "host_failures", mpr_value_number(MPR_COUNT, s->failures));
    if (!s->told) {
        mpr_doc_fact(doc, "host", mpr_value_unknown);
        return;
    }
    mpr_doc_open(doc, "host");
    mpr_doc_facts(doc, fields, s);
    mpr_report_reading(doc, "cgroup", MPR_READ_CGROUP, &s->cgroup);
    mpr_report_reading(doc, "rss", MPR_READ_RSS, &s->rss);
    mpr_report_reading(doc, "rss_before", MPR_READ_RSS, &s->rss_then);
    mpr_doc_fact(doc, "end_ns", mpr_value_number(MPR_TIME, s->end));
    mpr_report_growth(doc, "growth", &s->growth, "host");
    if (told) story(doc, log);
    refusals(doc, s);
    if (told) hint(doc, log);
    mpr_doc_close(doc);
}
