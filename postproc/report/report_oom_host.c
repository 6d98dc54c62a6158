/* Host memory that ran out: the process and its limits, the growth, failed allocations, and the
 * threads that held it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "mpf/sample.h"
#include "naming.h"
#include "readings.h"
#include "report_oom.h"
#include "report_rows.h"
#include "reports.h"
#include "utf8.h"

/* ---- samples */

static uint64_t value(const struct mpr_reading *r, int i)
{
    return r->valid ? r->value[i] : MPF_UNKNOWN;
}

static void known(struct mpr_document *doc, const char *what, uint64_t bytes)
{
    if (bytes != MPF_UNKNOWN) mpr_doc_add_plain(doc, "  %s %s", what, mpr_doc_size(doc, bytes));
}

/* Adds the time of an old sample.  A process that grows fast has more by its end. */
static void sampled_at(struct mpr_document *doc, const struct mpr_host_oom *s,
                       const struct mpr_reading *r)
{
    enum { OLD_NS = 10000000 };
    if (mpr_saturating_sub(s->end, r->time) >= OLD_NS)
        mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, r->time));
}

/* Page cache alone fills a cgroup to its limit, and the kernel frees it without a kill. */
static void cgroup(struct mpr_document *doc, const struct mpr_host_oom *s)
{
    const uint64_t kills = value(&s->cgroup, MPF_CGROUP_OOM_KILLS),
                   usage = value(&s->cgroup, MPF_CGROUP_USAGE),
                   limit = value(&s->cgroup, MPF_CGROUP_LIMIT),
                   own_files = value(&s->cgroup, MPF_CGROUP_MEMPROF);
    const bool has_kills = kills && kills != MPF_UNKNOWN;
    if (usage == MPF_UNKNOWN || limit == MPF_UNKNOWN) return;
    mpr_report_oom_label(doc, "cgroup");
    mpr_doc_add_plain(doc, "%s of its limit %s", mpr_doc_size(doc, usage),
                      mpr_doc_size(doc, limit));
    sampled_at(doc, s, &s->cgroup);
    if (s->full && (s->killed || has_kills))
        mpr_doc_add_plain(doc, ": the kernel kills its processes");
    if (has_kills) mpr_doc_add_plain(doc, "; kills so far: %" PRIu64, kills);
    mpr_doc_end(doc);
    if (!own_files || own_files == MPF_UNKNOWN) return;
    mpr_report_oom_label(doc, "");
    mpr_doc_line(doc, "memprof's own log and journal on tmpfs hold %s of the cgroup's %s",
                 mpr_doc_size(doc, own_files), mpr_doc_size(doc, usage));
}

static void rss_and_limits(struct mpr_document *doc, const struct mpr_host_oom *s)
{
    const uint64_t addresses = mpr_reading_newest(&s->limits, MPF_RSS_LIMIT_AS),
                   data = mpr_reading_newest(&s->limits, MPF_RSS_LIMIT_DATA);
    if (s->rss.valid) {
        mpr_report_oom_label(doc, "RSS");
        mpr_doc_add_plain(doc, "%s", mpr_doc_size(doc, mpr_reading_resident_bytes(&s->rss)));
        sampled_at(doc, s, &s->rss);
        known(doc, "anonymous", value(&s->rss, MPF_RSS_ANON));
        known(doc, "file", value(&s->rss, MPF_RSS_FILE));
        known(doc, "shared", value(&s->rss, MPF_RSS_SHMEM));
        known(doc, "Private_Dirty", value(&s->rss, MPF_RSS_PRIVATE_DIRTY));
        mpr_report_smaps_time(doc, &s->rss);
        known(doc, "swap", value(&s->rss, MPF_RSS_SWAP));
        mpr_doc_end(doc);
        mpr_report_oom_label(doc, "live");
        mpr_doc_line(doc, "%s of host memory", mpr_doc_size(doc, s->growth.after));
    }
    if (addresses == MPF_UNKNOWN && data == MPF_UNKNOWN) return;
    mpr_doc_label(doc, MPR_PLAIN, 2, 0, "limits");
    known(doc, "RLIMIT_AS", addresses);
    known(doc, "RLIMIT_DATA", data);
    known(doc, "address space", value(&s->limits, MPF_RSS_VM_SIZE));
    mpr_doc_end(doc);
}

/* ---- growth */

/* The growth of a second or more is also given for a minute. */
static void rate(struct mpr_document *doc, const char *what, uint64_t before, uint64_t after,
                 uint64_t ns)
{
    const uint64_t second_ns = 1000000000, minute_ns = 60 * second_ns;
    const char *sign = after < before ? "-" : "+";
    const uint64_t change = after < before ? before - after : after - before;
    if (!ns) return;
    mpr_report_oom_label(doc, "growth");
    mpr_doc_add_plain(doc, "%s %s%s in the last %s", what, sign, mpr_doc_size(doc, change),
                      mpr_doc_duration(doc, ns));
    if (ns >= second_ns) {
        const unsigned __int128 a_minute = (unsigned __int128)change * minute_ns / ns;
        mpr_doc_add_plain(
            doc, ": %s%s a minute", sign,
            mpr_doc_size(doc, a_minute < UINT64_MAX ? (uint64_t)a_minute : UINT64_MAX));
    }
    mpr_doc_end(doc);
}

static void rates(struct mpr_document *doc, const struct mpr_host_oom *s)
{
    if (s->rss.valid && s->rss_then.valid)
        rate(doc, "RSS", mpr_reading_resident_bytes(&s->rss_then),
             mpr_reading_resident_bytes(&s->rss),
             mpr_saturating_sub(s->rss.time, s->rss_then.time));
    if (s->growth.valid)
        rate(doc, "live", s->growth.before, s->growth.after, mpr_saturating_sub(s->end, s->mark));
}

static void growth(struct mpr_document *doc, const struct mpr_host_oom *s, enum mpr_group by)
{
    if (!s->growth.valid || !s->growth.rows) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "live host memory since %s", mpr_doc_time(doc, s->mark));
    mpr_report_growth_rows(doc, NULL, &s->growth, by);
}

/* ---- failed allocations */

struct refusal {
    struct mpr_refused_request f;
    const char *newest;
};

#define OF_REFUSAL(member) MPR_FIELD(refusal, f.member)

// clang-format off
static const struct mpr_column refusal_columns[] = {
    { .key = "heap", .type = MPR_TEXT, OF_REFUSAL(heap) },
    { .key = "path", .title = "path", MPR_PATH_FIELD(refusal, f.path) },
    { .key = "thread", .type = MPR_TEXT, OF_REFUSAL(thread) },
    { .key = "errno", .type = MPR_COUNT, OF_REFUSAL(error) },
    { .key = "count", .title = "count", .type = MPR_COUNT, OF_REFUSAL(count), .width = 9 },
    { .key = "largest_bytes", .title = "largest", .type = MPR_BYTES, OF_REFUSAL(bytes),
      .after = "path" },
    { .key = "newest_ns", .title = "newest", .type = MPR_TIME, OF_REFUSAL(time),
      MPR_SHOWN_FIELD(MPR_TEXT, refusal, newest) },
};
// clang-format on

static void refusals(struct mpr_document *doc, const struct mpr_host_oom *s)
{
    struct refusal *row = mpr_arena_alloc(&doc->arena, s->refusals * sizeof *row);
    for (size_t i = 0; i < s->refusals; i++) {
        const struct mpr_refused_request *f = &s->refusal[i];
        const char *why = strerror((int)f->error);
        row[i] = (struct refusal){ *f, mpr_arena_format(&doc->arena, "%s %s, %s, %s",
                                                        mpr_doc_time(doc, f->time),
                                                        mpr_heap_name(f->heap), why, f->thread) };
    }
    mpr_doc_rows(doc, refusal_columns, row, s->refusals, .key = "failed",
                 .title = "failed allocations", .all = MPR_IN_JSON, .partial = true);
}

/* ---- a process */

void mpr_report_oom_host_heading(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    const struct mpr_host_oom *s = &log->host;
    const bool by_signal = log->summary.fate == MPR_FATE_SIGNAL || s->full;
    if (s->killed)
        mpr_doc_add(doc, MPR_WARN, "%s  host  %s", by_signal ? "KILLED" : "ENDED",
                    mpr_doc_time(doc, s->end));
    else if (s->refused)
        mpr_doc_add(doc, MPR_WARN, "REFUSED  %s  host  %s; %s failed", mpr_doc_time(doc, s->end),
                    mpr_doc_size(doc, s->newest.bytes),
                    mpr_doc_counted(doc, s->failures, "allocation", "allocations"));
    else mpr_doc_add(doc, MPR_WARN, "AT THE LIMIT  host");
    if (s->killed && !(s->full && log->summary.fate == MPR_FATE_UNKNOWN))
        mpr_doc_add_plain(doc, "  %s", mpr_report_fate(&doc->arena, &log->summary));
    mpr_doc_end(doc);
}

void mpr_report_oom_process_lines(struct mpr_document *doc, const struct mpr_ooms_log *log)
{
    cgroup(doc, &log->host);
    rss_and_limits(doc, &log->host);
    rates(doc, &log->host);
}

#define OF(member) MPR_FIELD(mpr_host_oom, member)

static const struct mpr_column fields[] = {
    { .key = "killed", .type = MPR_FLAG, OF(killed) },
    { .key = "at_limit", .type = MPR_FLAG, OF(full) },
};

void mpr_report_oom_host(struct mpr_document *doc, const struct mpr_ooms_log *log, bool shown)
{
    const struct mpr_host_oom *s = &log->host;
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
    if (shown) {
        mpr_doc_gap(doc);
        mpr_report_oom_host_heading(doc, log);
        mpr_report_oom_process_lines(doc, log);
        growth(doc, s, log->choice.by);
    }
    refusals(doc, s);
    if (shown) {
        mpr_doc_gap(doc);
        mpr_doc_command(doc, "next: memprof-report peaks%s %s", s->killed ? " --at end" : "",
                        mpr_shell_word(&doc->arena, log->summary.path));
    }
    mpr_doc_close(doc);
}

/* ---- threads */

MPR_COMPARE(by_path, struct mpr_row, mpr_row_by_path(a, b) ?: mpr_compare(b->bytes, a->bytes))

/* Returns the thread's name without the kernel's number: "worker-3" of "worker-3 (4242)". */
static const char *name_of(const struct mpr_row *row)
{
    return row->path.depth ? row->path.frame[0]->name : "";
}

/* Returns one row for all threads of one name.  The table folds numbers in names. */
static struct mpr_row *by_name(struct mpr_document *doc, const struct mpr_heap_peak *h,
                               size_t *rows)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    if (h->rows) memcpy(row, h->row, h->rows * sizeof *row);
    if (h->rows) qsort(row, h->rows, sizeof *row, by_path);
    *rows = 0;
    for (size_t i = 0, to; i < h->rows; i = to) {
        const char *name = name_of(&row[i]);
        struct mpr_row sum = row[i];
        size_t threads = sum.bytes != 0;
        for (to = i + 1; to < h->rows && strcmp(name_of(&row[to]), name) == 0; to++) {
            sum.bytes += row[to].bytes;
            sum.blocks += row[to].blocks;
            sum.estimated |= row[to].estimated;
            threads += row[to].bytes != 0;
        }
        if (threads > 1)
            name =
                mpr_arena_format(&doc->arena, "%s, %s threads", name, mpr_doc_count(doc, threads));
        sum.path = mpr_frame_labels(&doc->arena, &name, 1);
        row[(*rows)++] = sum;
    }
    return row;
}

/* Returns the largest heap of the host if several threads held it: others than the largest one
 * together at least a tenth.  NULL otherwise. */
static const struct mpr_heap_peak *shared_heap(const struct mpr_log_peaks *log)
{
    enum { TENTH = 10 };
    const struct mpr_heap_peak *found = NULL;
    uint64_t largest = 0;
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        if (h->inside || !mpf_heap_is_host(h->heap)) continue;
        if (!found || h->peak_bytes > found->peak_bytes) found = h;
    }
    for (size_t i = 0; found && i < found->rows; i++)
        if (found->row[i].bytes > largest) largest = found->row[i].bytes;
    return found && found->peak_bytes &&
                   mpr_saturating_sub(found->peak_bytes, largest) >= found->peak_bytes / TENTH
               ? found
               : NULL;
}

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

static const struct mpr_column thread_columns[] = {
    { .key = "path", MPR_PATH_FIELD(mpr_row, path) },
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(bytes), .sums = true },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks) },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0 },
};

void mpr_report_oom_threads(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    enum { TOP = 5 };
    const struct mpr_heap_peak *h = ooms->threads.logs ? shared_heap(&ooms->threads.log[0]) : NULL;
    size_t rows;
    if (!h) return;
    mpr_doc_fact(doc, "threads_of", mpr_value_heap(h->heap));
    mpr_doc_rows(doc, thread_columns, h->row, h->rows, .key = "threads", .only = MPR_IN_JSON,
                 .omitted = "threads_omitted_bytes");
    const struct mpr_row *row = by_name(doc, h, &rows);
    mpr_doc_rows(doc, mpr_row_columns, row, rows,
                 .title = mpr_arena_format(&doc->arena, "%s by thread", mpr_heap_name(h->heap)),
                 .only = MPR_FOR_PEOPLE, .whole = h->peak_bytes, .top = TOP,
                 .lines = { .merged = true, .bytes_title = "at that time", .siblings = true });
}
