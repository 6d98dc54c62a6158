/* The card at the top of the page: what happened to a process, in the sentences of `summary` and
 * `oom`. It has only fields; the page shows them. */
#include <string.h>

#include "insights.h"
#include "naming.h"
#include "readings.h"
#include "report_device.h"
#include "report_oom.h"
#include "report_rows.h"
#include "reports.h"

enum { OWNERS = 5, GROWN = 3 };

/* ---- lines of other reports */

/* A line, with the lines that continue it, of which at most CONTINUED are kept. */
enum { CONTINUED = 64 };
struct line {
    const char *label;
    const char **room; /* the same texts, to be filled */
    const char *const *text;
    size_t texts;
};

static const struct mpr_column line_columns[] = {
    { .key = "label", .type = MPR_TEXT, MPR_FIELD(line, label) },
    { .key = "text", MPR_TEXTS_FIELD(line, text, texts) },
};

/* Returns a document for the lines of another report. */
static struct mpr_document document_for(const struct mpr_document *doc)
{
    return (struct mpr_document){ .naming = doc->naming, .without_folders = doc->without_folders };
}

/* Returns the text of a line from this part on, in the document's memory. */
static const char *text_of(struct mpr_document *doc, const struct mpr_run *run)
{
    const char *text = mpr_arena_text(&doc->arena, "");
    for (; run; run = run->next) text = mpr_arena_format(&doc->arena, "%s%s", text, run->text);
    while (*text == ' ') text++;
    return text;
}

static struct line begin(struct mpr_document *doc, const char *label)
{
    const char **text = mpr_arena_alloc(&doc->arena, CONTINUED * sizeof *text);
    return (struct line){ label, text, text, 0 };
}

/* Adds the lines of the other document as a list, and frees that document. */
static void lines(struct mpr_document *doc, const char *key, struct mpr_document *of)
{
    size_t count = 0;
    for (const struct mpr_item *i = of->first; i; i = i->next) count++;
    struct line *line = mpr_arena_alloc(&doc->arena, (count + 1) * sizeof *line);
    count = 0;
    for (const struct mpr_item *i = of->first; i; i = i->next) {
        if (i->kind != MPR_LINE || !i->run) continue;
        const char *text = text_of(doc, i->label ? i->run->next : i->run);
        if (!count || !i->label || *i->label) line[count++] = begin(doc, i->label ? i->label : "");
        struct line *to = &line[count - 1];
        if (to->texts < CONTINUED) to->room[to->texts++] = text;
    }
    mpr_doc_objects(doc, key, line_columns, line, count);
    mpr_doc_free(of);
}

/* ---- what happened */

/* Returns the newest out-of-memory event from which the program did not recover, or NULL.
 * *number: how many there are. */
static const struct mpr_oom_event *event_of(const struct mpr_ooms_log *log, size_t *number)
{
    const struct mpr_oom_event *found = NULL;
    *number = 0;
    for (size_t i = 0; i < log->stories; i++) {
        if (!log->story[i].hard) continue;
        found = &log->story[i];
        ++*number;
    }
    return found;
}

/* Adds the state of the process, and the sentence about it unless all is well. */
static void headline(struct mpr_document *doc, const struct mpr_insights *in,
                     const struct mpr_ooms_log *log)
{
    struct mpr_document other = document_for(doc);
    const char *state = "fine";
    if (in->oom.told) {
        state = "oom";
        mpr_report_ran_out(&other, &in->oom);
    } else if (log && log->host.told) {
        state = log->host.killed ? "killed" : log->host.refused ? "refused" : "limit";
        if (in->refused.count && !log->host.killed) mpr_report_refused(&other, &in->refused);
        else mpr_report_oom_host_heading(&other, log);
    } else if (in->refused.count) {
        state = "refused";
        mpr_report_refused(&other, &in->refused);
    }
    const struct mpr_item *line = other.first;
    while (line && !line->run) line = line->next;
    mpr_doc_fact(doc, "state", mpr_value_text(state));
    mpr_doc_fact(doc, "headline", mpr_value_text(line ? text_of(doc, line->run) : ""));
    mpr_doc_free(&other);
}

/* ---- the account of the device */

#define OF_PART(member) MPR_FIELD(mpr_device_part, member)

static const struct mpr_column part_columns[] = {
    { .key = "use", .type = MPR_TEXT, OF_PART(key), .unless = MPR_ABSENT_AT_0 },
    { .key = "name", .type = MPR_TEXT, OF_PART(name) },
    { .key = "bytes", .type = MPR_SIGNED, OF_PART(bytes) },
    { .key = "note", .type = MPR_TEXT, OF_PART(note) },
};

/* Returns the device that ran out of memory, otherwise the one with the largest allocations;
 * NULL if no account is known. */
static const struct mpr_device *device_of(const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    const struct mpr_device *found = NULL;
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        if (in->oom.told && d->index == in->oom.device) return d;
        if (!in->oom.told && d->peak.valid && (!found || d->peak.tracked > found->peak.tracked))
            found = d;
    }
    return found;
}

static void account(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_device *d = device_of(in);
    const struct mpr_device_state *s = !d ? NULL : in->oom.told ? &in->oom.state : &d->peak;
    size_t parts;
    if (!s || !s->valid) return;
    struct mpr_document other = document_for(doc);
    mpr_report_device_heading(&other, d, s, in->oom.told ? "when memory ran out" : "peak");
    lines(doc, "account", &other);
    const struct mpr_device_part *part = mpr_report_largest_parts(doc, s, &parts);
    mpr_doc_objects(doc, "parts", part_columns, part, parts);
}

/* Adds the account of a device at this instant if it has parts of other processes. */
static void shared_account(struct mpr_document *doc, unsigned device,
                           const struct mpr_device_state *s)
{
    size_t parts;
    if (!s->valid || !s->shares) return;
    const struct mpr_device_part *part = mpr_report_named_parts(doc, s, &parts);
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "device", mpr_value_number(MPR_COUNT, device));
    mpr_doc_fact(doc, "time_ns", mpr_value_number(MPR_TIME, s->time));
    mpr_doc_objects(doc, "parts", part_columns, part, parts);
    mpr_doc_close(doc);
}

static void shared_accounts(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    mpr_doc_list(doc, "shared_accounts");
    for (size_t i = 0; i < log->devices; i++)
        shared_account(doc, log->device[i].index, &log->device[i].peak);
    if (in->oom.told) shared_account(doc, in->oom.device, &in->oom.state);
    mpr_doc_close(doc);
}

/* Adds PyTorch's heaps of which a part was unmapped at the device's peak. */
static void asleep(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    mpr_doc_list(doc, "asleep");
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        if (!d->peak.valid || !d->peak.torch_asleep) continue;
        mpr_doc_open(doc, NULL);
        mpr_doc_fact(doc, "heap", mpr_value_heap(mpf_heap_gpu(MPF_HEAP_TORCH, d->index)));
        mpr_doc_fact(doc, "bytes", mpr_value_number(MPR_BYTES, d->peak.torch_asleep));
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
}

/* ---- owners */

struct owner {
    const char *name;
    uint64_t bytes, blocks;
    bool estimated;
};

#define OF_OWNER(member) MPR_FIELD(owner, member)

static const struct mpr_column owner_columns[] = {
    { .key = "name", .type = MPR_TEXT, OF_OWNER(name) },
    { .key = "bytes", .type = MPR_BYTES, OF_OWNER(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_OWNER(blocks) },
    { .key = "estimated", .type = MPR_FLAG, OF_OWNER(estimated) },
};

static void owners(struct mpr_document *doc, const struct mpr_insights *in)
{
    const struct mpr_owners o = mpr_report_summary_owners(in);
    const enum mpr_group by = in->peaks.log[0].choice.by;
    size_t count, live;
    if (!o.rows) return;
    const struct mpr_line *line =
        mpr_naming_lines(&doc->arena, mpr_report_naming(doc), by, o.row, o.rows, &count, &live);
    const size_t shown = live < OWNERS ? live : OWNERS;
    struct owner *owner = mpr_arena_alloc(&doc->arena, OWNERS * sizeof *owner);
    for (size_t i = 0; i < shown; i++) {
        const struct mpr_row *row = &line[i].row;
        owner[i] =
            (struct owner){ row->path.depth ? mpr_report_call_words(doc, row->path, line[i].caller)
                                            : mpr_group_empty_path(by),
                            row->bytes, row->blocks, row->estimated };
    }
    mpr_doc_fact(doc, "owners_of", mpr_value_text(mpr_heap_name(o.of)));
    mpr_doc_fact(doc, "owners_title",
                 mpr_value_text(mpr_report_heading(doc, mpr_heap_name(o.of), by)));
    mpr_doc_fact(doc, "owners_at", mpr_value_text(o.bytes));
    mpr_doc_fact(doc, "owned_bytes", mpr_value_number(MPR_BYTES, o.whole));
    mpr_doc_objects(doc, "owners", owner_columns, owner, shown);
    mpr_doc_fact(doc, "more_owners", mpr_value_number(MPR_COUNT, live - shown));
}

/* ---- requests that would have fit, and growth */

MPR_VALUE(fit_what, mpr_fit, f, mpr_value_text(mpr_report_fit_what(f)))
MPR_VALUE(fit_answer, mpr_fit, f, mpr_value_text(mpr_report_fit_answer(f)))
MPR_VALUE(fit_words, mpr_fit, f, mpr_value_text(mpr_report_fit_words(doc, f)))

static const struct mpr_column fit_columns[] = {
    { .key = "what", .type = MPR_TEXT, .get = fit_what },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_fit, bytes) },
    { .key = "answer", .type = MPR_TEXT, .get = fit_answer },
    { .key = "text", .type = MPR_TEXT, .get = fit_words },
};

#define OF_GROWN(member) MPR_FIELD(mpr_grown_line, member)

static const struct mpr_column grown_columns[] = {
    { .key = "name", .type = MPR_TEXT, OF_GROWN(name) },
    { .key = "before_bytes", .type = MPR_SIGNED, OF_GROWN(before) },
    { .key = "after_bytes", .type = MPR_SIGNED, OF_GROWN(after) },
    { .key = "estimated", .type = MPR_FLAG, OF_GROWN(estimated) },
};

static void grown(struct mpr_document *doc, const struct mpr_growth *g, const char *since,
                  enum mpr_group by)
{
    size_t count;
    if (!g->valid) return;
    const struct mpr_grown_line *line = mpr_report_grown(doc, g, by, &count);
    mpr_doc_fact(doc, "since", mpr_value_text(since));
    mpr_doc_fact(doc, "before_bytes", mpr_value_number(MPR_BYTES, g->before));
    mpr_doc_fact(doc, "after_bytes", mpr_value_number(MPR_BYTES, g->after));
    mpr_doc_objects(doc, "grown", grown_columns, line, count < GROWN ? count : GROWN);
}

/* ---- the log that failed */

/* @other: the document for the lines */
static void failure(struct mpr_document *doc, struct mpr_document *other,
                    const struct mpr_insights *in, const struct mpr_ooms *ooms,
                    const struct mpr_ooms_log *log)
{
    size_t number;
    const struct mpr_oom_event *event = event_of(log, &number);
    if (event) mpr_report_oom_request_lines(other, event);
    else if (log->host.told) mpr_report_oom_process_lines(other, log);
    if (event || log->host.told) mpr_report_oom_why(other, ooms, log, in);
    if (event) {
        mpr_doc_objects(doc, "fits", fit_columns, event->fit, event->fits);
        grown(doc, &event->growth, mpr_report_since_good(doc, event), log->choice.by);
    } else if (log->host.told)
        grown(doc, &log->host.growth,
              mpr_arena_format(&doc->arena, "live host memory since %s",
                               mpr_doc_time(doc, log->host.mark)),
              log->choice.by);
}

/* ---- all */

static const struct mpr_ooms_log *log_of(const struct mpr_ooms *ooms, const char *path)
{
    for (size_t i = 0; i < ooms->logs; i++)
        if (strcmp(ooms->log[i].summary.path, path) == 0) return &ooms->log[i];
    return NULL;
}

void mpr_report_job_lines(struct mpr_document *doc, const struct mpr_ranks *ranks,
                          const struct mpr_insights *in)
{
    struct mpr_document other = document_for(doc);
    mpr_report_job(&other, ranks, in);
    lines(doc, "job", &other);
}

void mpr_report_card(struct mpr_document *doc, const struct mpr_insights *in,
                     const struct mpr_ooms *ooms)
{
    const struct mpr_log_peaks *peaks = &in->peaks.log[0];
    const struct mpr_ooms_log *log = log_of(ooms, peaks->summary.path);
    struct mpr_document other = document_for(doc);
    mpr_doc_open(doc, "card");
    headline(doc, in, log);
    if (log) failure(doc, &other, in, ooms, log);
    lines(doc, "lines", &other);
    other = document_for(doc);
    mpr_report_instances(&other, peaks, true);
    if (mpr_report_rss_peak(&other, peaks)) mpr_doc_end(&other);
    lines(doc, "peaks", &other);
    if (in->family) {
        other = document_for(doc);
        mpr_report_family(&other, in->family, peaks->summary.path, false);
        lines(doc, "family", &other);
    }
    account(doc, in);
    shared_accounts(doc, in);
    asleep(doc, in);
    owners(doc, in);
    other = document_for(doc);
    mpr_report_next(&other, in, NULL);
    lines(doc, "next", &other);
    mpr_doc_close(doc);
}
