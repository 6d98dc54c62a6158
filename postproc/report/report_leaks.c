/* Live blocks and growing call sites: a line for each heap, then sites that grow, sites that
 * stopped growing, and all live blocks. */
#include <math.h>
#include <string.h>

#include "leaks.h"
#include "mpf/event.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"
#include "utf8.h"

/* ---- words for instances of the range, and for rates */

/* Returns the range's name if it is one short word, such as "epoch". */
static const char *instance_word(const struct mpr_leaks *l)
{
    enum { SHORTEST = 2, LONGEST = 9 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const size_t bytes = strlen(l->range);
    const bool is_word = bytes >= SHORTEST && bytes <= LONGEST &&
                         strspn(l->range, letters) == bytes && l->range[bytes - 1] != 's';
    return is_word ? l->range : "instance";
}

static const char *unit(struct mpr_document *doc, const struct mpr_leaks *l)
{
    const char *word = instance_word(l);
    if (!*l->range) return "a second";
    return mpr_arena_format(&doc->arena, "%s %s", strchr("aeioAEIO", *word) ? "an" : "a", word);
}

/* "40 epochs", "3 batches" */
static const char *instances(struct mpr_document *doc, const struct mpr_leaks *l, uint64_t count)
{
    static const char *const takes_es[] = { "x", "z", "sh", "tch", "nch" };
    const char *word = instance_word(l), *end = "s";
    const size_t bytes = strlen(word);
    for (size_t i = 0; i < sizeof takes_es / sizeof *takes_es; i++) {
        const size_t end_bytes = strlen(takes_es[i]);
        if (bytes >= end_bytes && strcmp(word + bytes - end_bytes, takes_es[i]) == 0) end = "es";
    }
    return mpr_doc_counted(doc, count, word, mpr_arena_format(&doc->arena, "%s%s", word, end));
}

/* Returns the bytes per step, which may be many because a step may be as short as 1 ns. */
static int64_t bytes_a_step(uint64_t bytes, double steps)
{
    const double value = round((double)bytes / steps);
    return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

/* "+41", "+0.3", "+17,393" */
static const char *signed_number(struct mpr_document *doc, double value, bool estimated)
{
    const char *about = estimated ? "~" : "";
    const bool whole = fabs(value - round(value)) < 0.05;
    if (fabs(value) >= 1000 && fabs(value) < 0x1p63)
        return mpr_arena_format(&doc->arena, "%s%c%s", about, value < 0 ? '-' : '+',
                                mpr_doc_count(doc, (uint64_t)round(fabs(value))));
    return mpr_arena_format(&doc->arena, "%s%+.*f", about, whole ? 0 : 1, value);
}

/* ---- rows; people see the growth per step */

struct row_context {
    struct mpr_document *doc;
    const struct mpr_leaks *leaks;
    uint8_t heap;
    const char *kind;
    double steps; /* growth is divided by this */
};

MPR_VALUE_IN(growth_a_step, mpr_leaks_row, r, row_context, c,
             mpr_value_amount(MPR_CHANGE, bytes_a_step(r->row.bytes, c->steps)))
MPR_VALUE_IN(blocks_a_step, mpr_leaks_row, r, row_context, c,
             mpr_value_text(signed_number(c->doc, (double)r->row.blocks / c->steps,
                                          r->row.estimated)))

/* Returns the ages of the blocks and the standard error of the growth: "oldest 40 steps, median
 * 20", "oldest ~2.50 s, median ~1.25 s, growth +-21 %". */
static const char *ages_and_error(const struct mpr_leaks_row *r, const struct row_context *c)
{
    struct mpr_arena *arena = &c->doc->arena;
    struct mpr_number oldest, median;
    const struct mpr_leaks_age age = mpr_leaks_age(c->leaks, &r->made);
    const char *about = r->row.estimated ? "~" : "", *text = "";
    if (age.oldest_ns != MPR_NO_AGE && age.oldest_steps == MPR_NO_AGE)
        text = mpr_arena_format(arena, "oldest %s%s, median %s%s", about,
                                mpr_units_span(&oldest, age.oldest_ns), about,
                                mpr_units_span(&median, age.median_ns));
    else if (age.oldest_ns != MPR_NO_AGE)
        text = mpr_arena_format(arena, "oldest %s%s, median %s%s", about,
                                instances(c->doc, c->leaks, age.oldest_steps), about,
                                mpr_doc_count(c->doc, age.median_steps));
    if (!r->error) return text;
    return mpr_arena_format(arena, "%s%sgrowth +-%.0f %%", text, *text ? ", " : "",
                            fmax(1, 100 * (double)r->error / (double)r->row.bytes));
}

MPR_VALUE_IN(ages, mpr_leaks_row, r, row_context, c, mpr_value_text(ages_and_error(r, c)))

#define OF_ROW(member) MPR_FIELD(mpr_leaks_row, member)

// clang-format off
static const struct mpr_column row_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(row_context, heap), .only = MPR_IN_CSV },
    { .key = "kind", .type = MPR_WORD, MPR_CONTEXT(row_context, kind), .only = MPR_IN_CSV },
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_leaks_row, row.path) },
    MPR_SITE_COLUMNS,
    { .key = "bytes", .title = "live", .type = MPR_BYTES, OF_ROW(row.live_bytes), .sums = true,
      .estimate = true },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_ROW(row.live_blocks),
      .estimate = true, .spare = 1 },
    { .key = "grown_bytes", .title = "bytes", .titled = true, .type = MPR_BYTES, OF_ROW(row.bytes),
      MPR_SHOWN(MPR_CHANGE, growth_a_step), .estimate = true },
    { .key = "grown_blocks", .title = "blocks", .type = MPR_COUNT, OF_ROW(row.blocks),
      MPR_SHOWN(MPR_TEXT, blocks_a_step), .width = 8, .fits = true, .spare = 2 },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(row.estimated) },
    { .key = "grown_error_bytes", .type = MPR_BYTES, OF_ROW(error), .unless = MPR_ABSENT_AT_0,
      .merge = MPR_MERGE_SQUARES },
    { .key = "oldest_ns", .title = "age", .type = MPR_SPAN, OF_ROW(age.oldest_ns),
      .unless = MPR_ABSENT_AT_MAX, MPR_SHOWN(MPR_TEXT, ages) },
    { .key = "median_ns", .type = MPR_SPAN, OF_ROW(age.median_ns), .unless = MPR_ABSENT_AT_MAX },
    { .key = "oldest_steps", .type = MPR_COUNT, OF_ROW(age.oldest_steps),
      .unless = MPR_ABSENT_AT_MAX, .merge = MPR_MERGE_MAX },
    { .key = "median_steps", .type = MPR_COUNT, OF_ROW(age.median_steps),
      .unless = MPR_ABSENT_AT_MAX, .merge = MPR_MERGE_FIRST },
};
// clang-format on

static void join_ages(struct mpr_arena *arena, void *line, const void *const *row, size_t rows)
{
    struct mpr_ages *ages = mpr_arena_alloc(arena, rows * sizeof *ages);
    for (size_t i = 0; i < rows; i++) ages[i] = ((const struct mpr_leaks_row *)row[i])->made;
    ((struct mpr_leaks_row *)line)->made = mpr_ages_join(arena, ages, rows);
}

/* A table of a heap's sites. */
struct part {
    const char *key, *bytes; /* keys of the table, and of its bytes in flame graphs */
    enum mpr_group by;
    const char *title; /* for people: "growing", or NULL if they do not see it */
    const char *rate;  /* title of the growth's column: "a step" */
    double steps;      /* growth is divided by this */
};

static void part(struct mpr_document *doc, const struct mpr_leaks *l, uint8_t heap,
                 const struct part *p, const struct mpr_leaks_rows *rows)
{
    struct mpr_arena *arena = &doc->arena;
    const char *name = mpr_heap_name(heap), *title = NULL;
    struct row_context *context = mpr_arena_alloc(arena, sizeof *context);
    *context = (struct row_context){ doc, l, heap, p->key, p->steps };
    if (p->title)
        title = mpr_report_heading(doc, mpr_arena_format(arena, "%s, %s", name, p->title), p->by);
    mpr_doc_rows(doc, row_columns, rows->row, rows->rows, .key = p->key, .title = title,
                 .only = title ? MPR_EVERYWHERE : MPR_IN_JSON | MPR_IN_CSV, .omitted = "",
                 .context = context, .by = p->by,
                 .lines = { .merged = true, .join = join_ages, .bytes_title = p->rate },
                 .folded = { mpr_arena_format(arena, "%s, %s", name, p->key), NULL, p->bytes });
}

/* Returns rows for all live blocks, without growth. */
static struct mpr_leaks_rows live_rows(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    struct mpr_leaks_rows live = { mpr_arena_alloc(&doc->arena, h->rows * sizeof *live.row), 0 };
    for (size_t i = 0; i < h->rows; i++) {
        struct mpr_leaks_row *to = &live.row[live.rows];
        if (!h->row[i].bytes && !h->row[i].blocks) continue;
        *to = (struct mpr_leaks_row){ .row = h->row[i],
                                      .age = { MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE } };
        to->row.live_bytes = to->row.bytes;
        to->row.live_blocks = to->row.blocks;
        to->row.bytes = to->row.blocks = 0;
        live.rows++;
    }
    return live;
}

/* ---- growth with each call of a site */

#define OF_GROWTH(member) MPR_FIELD(mpr_site_growth, member)

// clang-format off
static const struct mpr_column growth_columns[] = {
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_site_growth, path) },
    { .key = "kept_bytes", .title = "left", .type = MPR_BYTES, OF_GROWTH(kept_bytes) },
    { .key = "times", .title = "allocations", .type = MPR_COUNT, OF_GROWTH(times) },
    { .key = "sites", .title = "sites", .type = MPR_COUNT, OF_GROWTH(sites) },
};
// clang-format on

static const struct mpr_site_growth *growth_by_call(const struct mpr_leaks *l, uint8_t heap)
{
    return mpr_site_growth_of(l->site_growth, l->site_growths, &l->peaks.log[0], heap);
}

/* Adds "1 site grows by 8.97 KiB a step". Sites are counted as lines. */
static void say_growth(struct mpr_document *doc, const struct mpr_leaks *l,
                       const struct mpr_leaks_heap *h)
{
    size_t sites;
    uint64_t bytes = 0;
    bool about = false;
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->growing.rows * sizeof *row);
    for (size_t i = 0; i < h->growing.rows; i++) {
        row[i] = h->growing.row[i].row;
        bytes += row[i].bytes;
        about |= row[i].estimated;
    }
    mpr_naming_merge(&doc->arena, mpr_report_naming(doc), h->by, row, h->growing.rows, &sites);
    mpr_doc_add_plain(doc, "; ");
    if (mpr_startup_is_short(l)) {
        struct mpr_number span;
        mpr_doc_add(doc, MPR_STRONG, "%s grew by %s%s in %s of a short run",
                    mpr_doc_counted(doc, sites, "site", "sites"), about ? "~" : "",
                    mpr_doc_size(doc, bytes), mpr_units_span(&span, l->last_ns - l->warm_ns));
        return;
    }
    mpr_doc_add(doc, MPR_STRONG, "%s by %s%s %s",
                mpr_doc_counted(doc, sites, "site grows", "sites grow"), about ? "~" : "",
                mpr_doc_size(doc, (uint64_t)bytes_a_step(bytes, mpr_leaks_steps(l))), unit(doc, l));
}

/* Returns true if there are too few samples to decide which sites grow, although the heap itself
 * grows or its sum is also estimated. */
static bool has_few(const struct mpr_leaks *l, const struct mpr_leaks_heap *h)
{
    const bool sampled = l->peaks.log[0].summary.recording.blocks == MPR_RECORDED_SAMPLE &&
                         h->live->heap == MPF_HEAP_HOST;
    return !h->growing.rows && (h->grows ? h->few.rows || sampled : h->few.rows && h->live->inside);
}

/* Says whether the heap grows although no site does, whether it grew in jumps after the warm-up
 * by a large part of its live bytes, and whether there are too few samples. */
static void say_no_site(struct mpr_document *doc, const struct mpr_leaks *l,
                        const struct mpr_leaks_heap *h)
{
    enum { NOTABLE_BYTES = 64 << 20, NOTABLE_PART = 8 };
    const char *about = h->live->inside || h->live->estimated ? "~" : "";
    const uint64_t grown = h->grown_bytes > 0 ? (uint64_t)h->grown_bytes : 0,
                   live = h->live->peak_bytes;
    if (h->grows && !*l->range)
        mpr_doc_add_plain(doc, "; it grew by %s%s after the warm-up", about,
                          mpr_doc_size(doc, grown));
    else if (h->grows)
        mpr_doc_add_plain(doc, "; it grows by %s%s %s", about,
                          mpr_doc_size(doc, (uint64_t)bytes_a_step(grown, mpr_leaks_steps(l))),
                          unit(doc, l));
    if (has_few(l, h)) {
        mpr_doc_add_plain(doc, h->grows ? ", but there are too few samples to show at which sites"
                                        : "; there are too few samples to show growth");
        if (h->few.rows && h->few.row->samples)
            mpr_doc_add_plain(doc, " (at most %s, of %s)", mpr_doc_count(doc, h->few.row->samples),
                              mpr_report_path_words(doc, h->few.row->row.path));
    } else if (h->grows) mpr_doc_add_plain(doc, ", but no single site does");
    else if (grown >= NOTABLE_BYTES && grown >= live / NOTABLE_PART && grown <= live)
        mpr_doc_add_plain(
            doc, "; sites do not grow steadily, but the heap grew by %s%s after the warm-up", about,
            mpr_doc_size(doc, grown));
    else mpr_doc_add_plain(doc, "; sites do not grow steadily");
}

static void headline(struct mpr_document *doc, const struct mpr_leaks *l,
                     const struct mpr_leaks_heap *h)
{
    const char *about = h->live->inside || h->live->estimated ? "~" : "";
    mpr_doc_add_plain(doc, "%s: %s%s in %s%s live", mpr_heap_name(h->live->heap), about,
                      mpr_doc_size(doc, h->live->peak_bytes), about,
                      mpr_doc_counted(doc, h->live->peak_blocks, "block", "blocks"));
    const struct mpr_site_growth *g = growth_by_call(l, h->live->heap);
    if (mpr_leaks_has_growth(l) && h->growing.rows) say_growth(doc, l, h);
    else if (g)
        mpr_doc_add(doc, MPR_STRONG, "; %s allocations of %s left %s", mpr_doc_count(doc, g->times),
                    mpr_doc_counted(doc, g->sites, "site", "sites"),
                    mpr_doc_size(doc, g->kept_bytes));
    else if (mpr_leaks_has_growth(l)) say_no_site(doc, l, h);
    mpr_report_inside(doc, h->live->inside);
    mpr_doc_end_wrapped(doc, 2);
}

#define OF_HEAP(member) MPR_FIELD(mpr_leaks_heap, member)

/* The fields of a heap if growth is known. */
static const struct mpr_column grown_fields[] = {
    { .key = "grown_bytes", .type = MPR_CHANGE, OF_HEAP(grown_bytes) },
    { .key = "grown_blocks", .type = MPR_CHANGE, OF_HEAP(grown_blocks) },
    { .key = "grows", .type = MPR_FLAG, OF_HEAP(grows) },
};

static void heap(struct mpr_document *doc, const struct mpr_leaks *l,
                 const struct mpr_leaks_heap *h)
{
    const enum mpr_group by = l->peaks.log[0].choice.by;
    const uint8_t code = h->live->heap;
    const char *name = mpr_heap_name(code);
    const bool is_short = mpr_startup_is_short(l);
    const struct mpr_leaks_rows live = live_rows(doc, h->live);
    const struct mpr_site_growth *g = growth_by_call(l, code);
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_text(name));
    if (h->live->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->live->inside));
    mpr_doc_fact(doc, "bytes", mpr_value_number(MPR_BYTES, h->live->peak_bytes));
    mpr_doc_fact(doc, "blocks", mpr_value_number(MPR_COUNT, h->live->peak_blocks));
    if (mpr_leaks_has_growth(l)) mpr_doc_facts(doc, grown_fields, h);
    else
        for (size_t i = 0; i < sizeof grown_fields / sizeof *grown_fields; i++)
            mpr_doc_fact(doc, grown_fields[i].key, mpr_value_unknown);
    mpr_doc_fact(doc, "growth_by", mpr_value_text(mpr_group_name[h->by]));
    part(doc, l, code,
         &(struct part){ "growing", "grown_bytes", h->by,
                         is_short ? "larger at the end" : "growing",
                         is_short ? "grew by" : unit(doc, l), is_short ? 1 : mpr_leaks_steps(l) },
         &h->growing);
    if (g)
        mpr_doc_rows(
            doc, growth_columns, g, 1, .key = "growing_by_call",
            .title = mpr_report_heading(
                doc, mpr_arena_format(&doc->arena, "%s, growing with each call", name), by),
            .only = MPR_FOR_PEOPLE | MPR_IN_JSON, .by = by);
    part(doc, l, code,
         &(struct part){ "levelled_off", "grown_bytes", h->by, "levelled off", "grew by", 1 },
         &h->levelled);
    part(doc, l, code, &(struct part){ "may_grow", "grown_bytes", h->by, NULL, NULL, 1 }, &h->few);
    part(doc, l, code, &(struct part){ "live", "bytes", by, NULL, NULL, 1 }, &live);
    if (h->live->peak_bytes)
        mpr_doc_rows(doc, mpr_row_columns, h->live->row, h->live->rows,
                     .title = mpr_report_heading(doc, name, by), .only = MPR_FOR_PEOPLE, .by = by,
                     .whole = h->live->peak_bytes,
                     .lines = { .merged = true, .bytes_title = "live", .siblings = true });
    mpr_doc_close(doc);
}

/* ---- all */

/* Says what to record if there are too few samples. */
static void more_samples(struct mpr_document *doc, const struct mpr_leaks *l)
{
    bool python = false, others = false;
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct mpr_leaks_heap *h = &l->heap[i];
        if (!has_few(l, h)) continue;
        if (h->live->heap == MPF_HEAP_PYTHON) python = true;
        else others = true;
    }
    const struct mpr_summary *s = &l->peaks.log[0].summary;
    if (python) {
        mpr_doc_line(doc, "too few samples of Python's small objects: run longer, unless the "
                          "growth stopped earlier");
        /* a site that stopped growing before the end may have no live blocks at the end */
        if (l->last_ns)
            mpr_doc_line(doc,
                         "  held at the last instant: memprof-report peaks --at %s --heap "
                         "host/python %s",
                         mpr_doc_time(doc, l->last_ns), mpr_shell_word(&doc->arena, s->path));
    }
    if (!others) return;
    const bool sampled = s->recording.blocks == MPR_RECORDED_SAMPLE;
    mpr_doc_line(doc, "too few samples: run longer, or with %s:",
                 sampled ? "a shorter period" : "a stack for every block");
    mpr_report_run(doc, s, sampled ? "memprof run --host=sample:64K" : "memprof run --stacks=all");
}

/* Says why growth is not known. */
static void unknown_growth(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_number every;
    const uint64_t folded = l->peaks.log[0].summary.fold.until_ns;
    if (folded)
        mpr_doc_line(
            doc,
            "growth: not known. The log is thinned until %s, and growth needs six instants after that",
            mpr_doc_time(doc, folded));
    else if (*l->range)
        mpr_doc_line(doc,
                     "growth: not known. Only %s of %s ended, and growth needs six (by time: "
                     "--every=1s)",
                     mpr_doc_counted(doc, l->instants, "instance", "instances"), l->range);
    else if (l->is_too_short)
        mpr_doc_line(
            doc,
            "growth: not known. Programs grow as they start, and only %s was recorded after the warm-up (at least 500 ms, or use --every)",
            mpr_units_span(&every, l->last_ns - l->warm_ns));
    else
        mpr_doc_line(
            doc,
            "growth: not known. There are only %s, %s apart, and growth needs six (use a shorter "
            "--every)",
            mpr_doc_counted(doc, l->instants, "instant", "instants"),
            mpr_units_span(&every, l->every));
}

/* Adds "growth: measured from 1.640 s to 6.450 s, over 9 instances of step; ..." */
static void growth_line(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_number every;
    const uint64_t count = l->last_number - l->warm_number;
    const char *instants =
        *l->range ? mpr_arena_format(&doc->arena, "%s of %s",
                                     mpr_doc_counted(doc, count, "instance", "instances"), l->range)
                  : mpr_arena_format(&doc->arena, "%s, %s apart",
                                     mpr_doc_counted(doc, count, "instant", "instants"),
                                     mpr_units_span(&every, l->every));
    if (!mpr_leaks_has_growth(l)) {
        unknown_growth(doc, l);
        return;
    }
    mpr_doc_add_plain(doc, "growth: measured from %s to %s, over %s; the first %s are excluded",
                      mpr_doc_time(doc, l->warm_ns), mpr_doc_time(doc, l->last_ns), instants,
                      mpr_doc_count(doc, l->warm_number));
    if (l->peaks.log[0].summary.fold.until_ns)
        mpr_doc_add_plain(doc, "; the log is thinned until %s",
                          mpr_doc_time(doc, l->peaks.log[0].summary.fold.until_ns));
    if (l->options.at_end && l->until < l->options.at.from)
        mpr_doc_add_plain(doc,
                          "; from %s on the program frees its memory and ends, which is excluded",
                          mpr_doc_time(doc, l->until));
    mpr_doc_end_wrapped(doc, 2);
}

#define OF_ALL(member) MPR_FIELD(mpr_leaks, member)
static const struct mpr_column fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_ALL(range), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "every_ns", .type = MPR_TIME, OF_ALL(every), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "instants", .type = MPR_COUNT, OF_ALL(instants) },
    { .key = "warm_up", .type = MPR_COUNT, OF_ALL(warm_number) },
    { .key = "warm_up_ns", .type = MPR_TIME, OF_ALL(warm_ns) },
    { .key = "last", .type = MPR_COUNT, OF_ALL(last_number) },
    { .key = "last_ns", .type = MPR_TIME, OF_ALL(last_ns) },
};

/* Says what to record the next time. If the program freed its memory, no live blocks are left at
 * the end. So growing rows replace the live ones if they had more bytes at the last instant. */
static void hint(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_log_peaks log = l->peaks.log[0];
    struct mpr_heap_peak *live = mpr_arena_alloc(&doc->arena, log.heaps * sizeof *live);
    for (size_t i = 0; i < log.heaps; i++) {
        const struct mpr_leaks_rows *growing = &l->heap[i].growing;
        struct mpr_row *row = mpr_arena_alloc(&doc->arena, growing->rows * sizeof *row);
        uint64_t bytes = 0;
        live[i] = log.heap[i];
        for (size_t k = 0; k < growing->rows; k++) {
            row[k] = growing->row[k].row;
            row[k].bytes = row[k].live_bytes;
            bytes += row[k].bytes;
        }
        if (bytes <= live[i].peak_bytes) continue;
        live[i].row = row;
        live[i].rows = growing->rows;
        live[i].peak_bytes = bytes;
    }
    log.heap = live;
    mpr_report_hint(doc, &log, true);
}

void mpr_report_leaks(struct mpr_document *doc, const struct mpr_leaks *l)
{
    const struct mpr_log_peaks *log = &l->peaks.log[0];
    mpr_report_schema(doc, "memprof.leaks/1");
    mpr_report_log(doc, &log->summary);
    mpr_report_choice(doc, &log->choice);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
    const struct mpr_instant at = mpr_report_shown_instant(&log->summary, l->options.at);
    mpr_doc_fact(doc, "at_ns", mpr_value_number(MPR_TIME, at.from));
    mpr_doc_facts(doc, fields, l);
    mpr_report_too_late(doc, &log->summary, l->options.at);
    mpr_doc_line(doc, "live at %s", mpr_doc_time(doc, at.from));
    growth_line(doc, l);
    for (size_t i = 0; i < log->heaps; i++) headline(doc, l, &l->heap[i]);
    more_samples(doc, l);
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < log->heaps; i++) heap(doc, l, &l->heap[i]);
    mpr_doc_close(doc);
    mpr_report_notes(doc, log->note, log->notes);
    if (l->options.by == MPR_GROUP_AUTO) hint(doc, l);
    mpr_doc_csv(doc, row_columns);
}
