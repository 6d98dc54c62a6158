/* What lives at an instant, and what grows: of each heap in a line, then the sites that grow, those
 * that levelled off, and all that lives. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "leaks.h"
#include "mpf/event.h"
#include "naming.h"
#include "report_hint.h"
#include "report_rows.h"
#include "reports.h"
#include "shell.h"
#include "startup.h"
#include "units.h"

/* ---- growth, for people */

struct grown {
    struct mpr_line line;
    int64_t bytes_a_step; /* the whole of it, rounded */
    const char *blocks_a_step;
    const char *known; /* how old its blocks are, and how well its growth is known */
};

static struct mpr_value path(const void *row, const void *context)
{
    const struct grown *g = row;
    (void)context;
    struct mpr_value v = mpr_value_path(g->line.row.path);
    v.told = true;
    v.caller = g->line.caller;
    return v;
}

#define OF(member) MPR_FIELD(grown, member)
// clang-format off
static const struct mpr_column columns[] = {
    { .title = "path", .type = MPR_PATH, .get = path },
    { .title = "then live", .type = MPR_BYTES, OF(line.row.live_bytes), .sums = true, .estimate = true },
    { .title = "blocks", .type = MPR_COUNT, OF(line.row.live_blocks), .estimate = true,
      .spare = 1 },
    { .title = "bytes", .type = MPR_CHANGE, OF(bytes_a_step), .estimate = true },
    { .title = "blocks", .type = MPR_TEXT, OF(blocks_a_step) },
    { .title = "age", .type = MPR_TEXT, OF(known) },
};
// clang-format on

/* ---- what an instance is called: by its range, "epoch", where that is a short word */

static bool is_word(const char *name)
{
    enum { LEAST = 2, MOST = 9 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const size_t bytes = strlen(name);
    return bytes >= LEAST && bytes <= MOST && strspn(name, letters) == bytes &&
           name[bytes - 1] != 's';
}

static const char *instance_word(const struct mpr_leaks *l)
{
    return is_word(l->range) ? l->range : "instance";
}

static const char *unit(struct mpr_document *doc, const struct mpr_leaks *l)
{
    const char *word = instance_word(l);
    if (!*l->range) return "a second";
    return mpr_arena_format(&doc->arena, "%s %s", strchr("aeioAEIO", *word) ? "an" : "a", word);
}

static bool ends_with(const char *word, const char *end)
{
    const size_t bytes = strlen(word), its = strlen(end);
    return bytes >= its && strcmp(word + bytes - its, end) == 0;
}

/* "40 epochs", "3 batches" */
static const char *instances(struct mpr_document *doc, const struct mpr_leaks *l, uint64_t count)
{
    const char *word = instance_word(l);
    const bool hisses = ends_with(word, "x") || ends_with(word, "z") || ends_with(word, "sh") ||
                        ends_with(word, "tch") || ends_with(word, "nch");
    return mpr_arena_format(&doc->arena, "%s %s%s", mpr_doc_count(doc, count), word,
                            count == 1 ? ""
                            : hisses   ? "es"
                                       : "s");
}

/* Steps may be as short as a ns of a second. */
static int64_t share(uint64_t bytes, double steps)
{
    const double value = round((double)bytes / steps);
    return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

/* "+41", "+0.3", "+17,393": of which a tenth tells; not of thousands. */
static const char *number(struct mpr_document *doc, double value, bool estimated)
{
    const char *about = estimated ? "~" : "";
    const bool whole = fabs(value - round(value)) < 0.05;
    if (fabs(value) >= 1000 && fabs(value) < 0x1p63)
        return mpr_arena_format(&doc->arena, "%s%c%s", about, value < 0 ? '-' : '+',
                                mpr_doc_count(doc, (uint64_t)round(fabs(value))));
    return mpr_arena_format(&doc->arena, "%s%+.*f", about, whole ? 0 : 1, value);
}

/* Of the longest of these numbers, which are not cut. */
static int width_of_numbers(const struct grown *grown, size_t lines)
{
    size_t width = 8;
    for (size_t i = 0; i < lines; i++)
        if (strlen(grown[i].blocks_a_step) > width) width = strlen(grown[i].blocks_a_step);
    return (int)width;
}

static bool estimated(const void *row) { return ((const struct grown *)row)->line.row.estimated; }

/* "oldest 40 steps, median 20", "oldest 2.50 s, median 1.25 s"; ages of a sample are estimates. */
static const char *age_text(struct mpr_document *doc, const struct mpr_leaks *l,
                            const struct mpr_leaks_age *age, bool estimated)
{
    struct mpr_number oldest, median;
    const char *about = estimated ? "~" : "";
    if (age->oldest_ns == MPR_NO_AGE) return "";
    if (age->oldest_steps == MPR_NO_AGE)
        return mpr_arena_format(&doc->arena, "oldest %s%s, median %s%s", about,
                                mpr_units_span(&oldest, age->oldest_ns), about,
                                mpr_units_span(&median, age->median_ns));
    return mpr_arena_format(&doc->arena, "oldest %s%s, median %s%s", about,
                            instances(doc, l, age->oldest_steps), about,
                            mpr_doc_count(doc, age->median_steps));
}

/* Of the blocks of all of a line's rows; *variance: of the sum of their bytes. */
static struct mpr_leaks_age age_of(struct mpr_document *doc, const struct mpr_leaks *l,
                                   const struct mpr_line *line, const struct mpr_row *first,
                                   const struct mpr_leaks_row *row, double *variance)
{
    size_t count = 0;
    struct mpr_ages *ages = mpr_arena_alloc(&doc->arena, line->rows * sizeof *ages);
    const struct mpr_row_link *link = line->link;
    *variance = 0;
    do {
        const struct mpr_leaks_row *part = &row[link->row - first];
        ages[count++] = part->made;
        *variance += (double)part->error * (double)part->error;
        link = link->next;
    } while (link != line->link);
    if (count == 1) return mpr_leaks_age(l, ages);
    const struct mpr_ages all = mpr_ages_join(&doc->arena, ages, count);
    return mpr_leaks_age(l, &all);
}

/* "oldest ~2.50 s, median ~1.25 s, growth +-21 %": its standard error. */
static const char *known_text(struct mpr_document *doc, const struct mpr_leaks *l,
                              const struct mpr_line *line, const struct mpr_row *first,
                              const struct mpr_leaks_row *row)
{
    double variance;
    const struct mpr_leaks_age age = age_of(doc, l, line, first, row, &variance);
    const char *text = age_text(doc, l, &age, line->row.estimated);
    if (variance == 0) return text;
    return mpr_arena_format(&doc->arena, "%s%sgrowth +-%.0f %%", text, *text ? ", " : "",
                            100 * sqrt(variance) / (double)line->row.bytes);
}

static const struct mpr_row *rows_of(struct mpr_document *doc, const struct mpr_leaks_row *leak,
                                     size_t leaks)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, leaks * sizeof *row);
    for (size_t i = 0; i < leaks; i++) row[i] = leak[i].row;
    return row;
}

/* What a table of growth is told besides its rows. */
struct growth {
    const char *title, *bytes; /* headings */
    enum mpr_group by;
    double steps; /* what growth is shared by; 1: it is told as a whole */
};

static void table(struct mpr_document *doc, const struct mpr_leaks *l, const struct growth *told,
                  const struct mpr_leaks_row *leak, size_t leaks)
{
    const enum mpr_group by = told->by;
    size_t lines, live;
    if (!leaks) return;
    const struct mpr_row *row = rows_of(doc, leak, leaks);
    const struct mpr_line *line =
        mpr_naming_lines(&doc->arena, mpr_report_naming(doc), by, row, leaks, &lines, &live);
    struct grown *grown = mpr_arena_alloc(&doc->arena, lines * sizeof *grown);
    struct mpr_column *own = mpr_arena_alloc(&doc->arena, sizeof columns);
    memcpy(own, columns, sizeof columns);
    own[3].title = told->bytes;
    for (size_t i = 0; i < lines; i++)
        grown[i] =
            (struct grown){ .line = line[i],
                            .bytes_a_step = share(line[i].row.bytes, told->steps),
                            .blocks_a_step = number(doc, (double)line[i].row.blocks / told->steps,
                                                    line[i].row.estimated),
                            .known = known_text(doc, l, &line[i], row, leak) };
    own[4].width = width_of_numbers(grown, lines);
    mpr_doc_table(doc, &(struct mpr_table){ .title = told->title,
                                            .only = MPR_FOR_PEOPLE,
                                            .column = own,
                                            .columns = sizeof columns / sizeof *columns,
                                            MPR_ROWS(grown, lines),
                                            .estimated = estimated,
                                            .by = by });
}

/* ---- a heap */

struct around {
    struct mpr_site_context site;
    const char *log;
    uint8_t heap;
    const char *kind;
};

#define OF_ROW(member) MPR_FIELD(mpr_leaks_row, member)
#define AGE(name)                                                                                  \
    {                                                                                              \
        .key = #name, .type = MPR_SPAN, OF_ROW(age.name), .unless = MPR_ABSENT_AT_MAX              \
    }
#define STEPS(name)                                                                                \
    {                                                                                              \
        .key = #name, .type = MPR_COUNT, OF_ROW(age.name), .unless = MPR_ABSENT_AT_MAX             \
    }
// clang-format off
static const struct mpr_column row_columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },
    { .key = "kind", .type = MPR_WORD, MPR_CONTEXT(around, kind), .only = MPR_IN_CSV },
    { .key = "path", MPR_PATH_FIELD(mpr_leaks_row, row.path) },
    MPR_SITE_COLUMNS,
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(row.live_bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(row.live_blocks) },
    { .key = "grown_bytes", .type = MPR_BYTES, OF_ROW(row.bytes) },
    { .key = "grown_blocks", .type = MPR_COUNT, OF_ROW(row.blocks) },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(row.estimated) },
    { .key = "grown_error_bytes", .type = MPR_BYTES, OF_ROW(error), .unless = MPR_ABSENT_AT_0 },
    AGE(oldest_ns),
    AGE(median_ns),
    STEPS(oldest_steps),
    STEPS(median_steps),
};
// clang-format on

static void rows(struct mpr_document *doc, const struct mpr_leaks *l,
                 const struct mpr_leaks_heap *h, enum mpr_group by, const char *kind,
                 const char *bytes, const struct mpr_leaks_row *row, size_t count)
{
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    *around = (struct around){ { doc, by }, l->peaks.log[0].summary.path, h->live->heap, kind };
    const char *of = mpr_arena_format(&doc->arena, "%s, %s", mpr_heap_name(h->live->heap), kind);
    mpr_doc_table(doc, &(struct mpr_table){ .key = kind,
                                            .only = MPR_IN_JSON | MPR_IN_CSV,
                                            MPR_COLUMNS(row_columns),
                                            MPR_ROWS(row, count),
                                            .omitted = "",
                                            .context = around,
                                            .folded = { of, NULL, bytes } });
}

/* Those that hold something, as rows of growth have it. */
static const struct mpr_leaks_row *live_rows(struct mpr_document *doc,
                                             const struct mpr_heap_peak *h, size_t *count)
{
    struct mpr_leaks_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    *count = 0;
    for (size_t i = 0; i < h->rows; i++) {
        if (!h->row[i].bytes && !h->row[i].blocks) continue;
        struct mpr_leaks_row *to = &row[(*count)++];
        *to = (struct mpr_leaks_row){ .row = h->row[i],
                                      .age = { MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE, MPR_NO_AGE } };
        to->row.live_bytes = to->row.bytes;
        to->row.live_blocks = to->row.blocks;
        to->row.bytes = to->row.blocks = 0;
    }
    return row;
}

static bool is_known(const struct mpr_leaks *l)
{
    return l->kept >= MPR_LEAKS_LEAST && !l->is_too_short;
}

/* "1 site grows by 8.97 KiB a step"; sites as lines name them. */
static void say_growth(struct mpr_document *doc, const struct mpr_leaks *l,
                       const struct mpr_leaks_heap *h)
{
    size_t sites;
    uint64_t bytes = 0;
    bool about = false;
    const struct mpr_row *row = rows_of(doc, h->growing, h->growings);
    mpr_naming_merge(&doc->arena, mpr_report_naming(doc), h->by, row, h->growings, &sites);
    for (size_t i = 0; i < h->growings; i++) {
        bytes += row[i].bytes;
        about |= row[i].estimated;
    }
    mpr_doc_say(doc, "; ");
    if (mpr_startup_is_short(l)) {
        struct mpr_number span;
        mpr_doc_add(doc, MPR_STRONG, "%s site%s grew by %s%s in %s of a short run",
                    mpr_doc_count(doc, sites), sites == 1 ? "" : "s", about ? "~" : "",
                    mpr_doc_size(doc, bytes), mpr_units_span(&span, l->last_ns - l->warm_ns));
        return;
    }
    mpr_doc_add(doc, MPR_STRONG, "%s site%s grow%s by %s%s %s", mpr_doc_count(doc, sites),
                sites == 1 ? "" : "s", sites == 1 ? "s" : "", about ? "~" : "",
                mpr_doc_size(doc, (uint64_t)share(bytes, mpr_leaks_steps(l))), unit(doc, l));
}

/* Of a heap whose sum is exact, that must grow, too; where nothing but a sample of its blocks is in
 * the log, that is enough. */
static bool has_few(const struct mpr_leaks *l, const struct mpr_leaks_heap *h)
{
    const bool sampled = l->peaks.log[0].summary.recording.blocks == MPR_RECORDED_SAMPLE &&
                         h->live->heap == MPF_HEAP_HOST;
    return !h->growings && (h->grows ? h->fews || sampled : h->fews && h->live->inside);
}

/* "7 at most, of load (srv.py:12)": as many samples as make the growth as certain as it is. */
static void say_few(struct mpr_document *doc, const struct mpr_leaks_row *row)
{
    const double errors = row->error ? (double)row->row.bytes / (double)row->error : 0,
                 samples = round(errors * errors);
    if (samples < 1) return;
    mpr_doc_say(doc, ", %.0f at most, of %s", samples, mpr_report_telling(doc, row->row.path));
}

/* Returns true if the heap gained a notable part of its live bytes in jumps after the warm-up. */
static bool jumped(const struct mpr_leaks_heap *h)
{
    enum { NOTABLE_BYTES = 64 << 20, NOTABLE_PART = 8 };
    const uint64_t live = h->live->peak_bytes;
    return h->grown_bytes >= NOTABLE_BYTES && (uint64_t)h->grown_bytes >= live / NOTABLE_PART &&
           (uint64_t)h->grown_bytes <= live;
}

/* A heap that grows without one site that grows may be at work: a loader, a compiler. */
static bool is_by_clock(const struct mpr_leaks *l) { return !*l->range; }

/* Where no site grows: perhaps the heap does, or there are too few samples to tell. */
static void say_no_site(struct mpr_document *doc, const struct mpr_leaks *l,
                        const struct mpr_leaks_heap *h)
{
    const char *about = h->live->inside ? "~" : "";
    const uint64_t grown = h->grown_bytes > 0 ? (uint64_t)h->grown_bytes : 0;
    if (h->grows && is_by_clock(l))
        mpr_doc_say(doc, "; it grew by %s%s after the warm-up", about, mpr_doc_size(doc, grown));
    else if (h->grows)
        mpr_doc_say(doc, "; it grows by %s%s %s", about,
                    mpr_doc_size(doc, (uint64_t)share(grown, mpr_leaks_steps(l))), unit(doc, l));
    if (has_few(l, h)) {
        mpr_doc_say(doc, h->grows ? ", by too few samples to tell at which sites"
                                  : "; too few samples to tell what grows");
        if (h->fews) say_few(doc, h->few);
    } else if (h->grows) mpr_doc_say(doc, ", no site by itself");
    else if (jumped(h))
        mpr_doc_say(doc, "; no site grows steadily, but the heap grew by %s%s after the warm-up",
                    about, mpr_doc_size(doc, grown));
    else mpr_doc_say(doc, "; no site grows steadily");
}

static void headline(struct mpr_document *doc, const struct mpr_leaks *l,
                     const struct mpr_leaks_heap *h)
{
    const char *about = h->live->inside ? "~" : "";
    mpr_doc_say(doc, "%s: %s%s in %s%s block%s live", mpr_heap_name(h->live->heap), about,
                mpr_doc_size(doc, h->live->peak_bytes), about,
                mpr_doc_count(doc, h->live->peak_blocks), h->live->peak_blocks == 1 ? "" : "s");
    if (is_known(l) && h->growings) say_growth(doc, l, h);
    else if (is_known(l)) say_no_site(doc, l, h);
    mpr_report_inside(doc, h->live->inside);
    mpr_doc_end_wrapped(doc, 2);
}

static struct mpr_value growth_of(const struct mpr_leaks *l, int64_t amount)
{
    return is_known(l) ? mpr_value_amount(MPR_CHANGE, amount) : mpr_value_unknown;
}

static void heap(struct mpr_document *doc, const struct mpr_leaks *l,
                 const struct mpr_leaks_heap *h)
{
    const enum mpr_group by = l->peaks.log[0].choice.by;
    const char *name = mpr_heap_name(h->live->heap), *word = mpr_group_word(h->by);
    const bool is_short = mpr_startup_is_short(l);
    size_t live;
    const struct mpr_leaks_row *living = live_rows(doc, h->live, &live);
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "heap", mpr_value_text(name));
    if (h->live->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->live->inside));
    mpr_doc_fact(doc, "bytes", mpr_value_number(MPR_BYTES, h->live->peak_bytes));
    mpr_doc_fact(doc, "blocks", mpr_value_number(MPR_COUNT, h->live->peak_blocks));
    mpr_doc_fact(doc, "grown_bytes", growth_of(l, h->grown_bytes));
    mpr_doc_fact(doc, "grown_blocks", growth_of(l, h->grown_blocks));
    mpr_doc_fact(doc, "grows", is_known(l) ? mpr_value_flag(h->grows) : mpr_value_unknown);
    mpr_doc_fact(doc, "growth_by", mpr_value_text(mpr_group_name[h->by]));
    rows(doc, l, h, h->by, "growing", "grown_bytes", h->growing, h->growings);
    rows(doc, l, h, h->by, "levelled_off", "grown_bytes", h->levelled, h->levelleds);
    rows(doc, l, h, h->by, "may_grow", "grown_bytes", h->few, h->fews);
    rows(doc, l, h, by, "live", "bytes", living, live);
    table(doc, l,
          &(struct growth){
              mpr_arena_format(&doc->arena,
                               is_short ? "%s, larger at the end by %s" : "%s, growing by %s", name,
                               word),
              is_short ? "grew by" : unit(doc, l), h->by, is_short ? 1 : mpr_leaks_steps(l) },
          h->growing, h->growings);
    table(doc, l,
          &(struct growth){ mpr_arena_format(&doc->arena, "%s, levelled off by %s", name, word),
                            "grew by", h->by, 1 },
          h->levelled, h->levelleds);
    if (h->live->peak_bytes)
        mpr_report_rows(doc, &(struct mpr_rows){ .row = h->live->row,
                                                 .rows = h->live->rows,
                                                 .by = by,
                                                 .of = name,
                                                 .bytes = "live",
                                                 .whole = h->live->peak_bytes });
    mpr_doc_close(doc);
}

/* ---- all */

/* A site that grew only until shortly before the end is not listed, such as requests
 * before their tasks are cancelled. */
static void held_at_last(struct mpr_document *doc, const struct mpr_leaks *l,
                         const struct mpr_summary *s)
{
    if (!l->last_ns) return;
    mpr_doc_line(doc,
                 "  held at the last instant: memprof-report peaks --at %s --heap host/python %s",
                 mpr_doc_time(doc, l->last_ns), mpr_shell_word(&doc->arena, s->path));
}

/* What to record where the samples were too few. */
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
        held_at_last(doc, l, s);
    }
    if (!others) return;
    const bool sampled = s->recording.blocks == MPR_RECORDED_SAMPLE;
    mpr_doc_line(doc, "too few samples: run longer, or with %s:",
                 sampled ? "a shorter period" : "a stack for every block");
    mpr_report_run(doc, s, sampled ? "memprof run --host=sample:64K" : "memprof run --stacks=all");
}

/* There are fewer instants than it takes. */
static void unknown_growth(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_number every;
    const uint64_t folded = l->peaks.log[0].summary.fold.until_ns;
    if (folded)
        mpr_doc_line(doc,
                     "growth: not known, for the log is folded until %s and it takes six instants "
                     "behind that",
                     mpr_doc_time(doc, folded));
    else if (*l->range)
        mpr_doc_line(doc,
                     "growth: not known, for %s%s instance%s of %s ended and it takes six "
                     "(by the clock: --every=1s)",
                     l->instants ? "only " : "",
                     l->instants ? mpr_doc_count(doc, l->instants) : "no",
                     l->instants == 1 ? "" : "s", l->range);
    else if (l->is_too_short)
        mpr_doc_line(doc,
                     "growth: not known, because programs grow as they start, and only %s was left "
                     "after the warm-up (at least 500 ms; or --every)",
                     mpr_units_span(&every, l->last_ns - l->warm_ns));
    else
        mpr_doc_line(
            doc,
            "growth: not known, for the clock ticked only %s time%s, %s apart, and it takes six "
            "(shorter: --every)",
            mpr_doc_count(doc, l->instants), l->instants == 1 ? "" : "s",
            mpr_units_span(&every, l->every));
}

/* "growth: 9 of 12 instances of step, after 3 to warm up" */
static void growth_line(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_number every;
    const char *what = *l->range ? mpr_arena_format(&doc->arena, "instances of %s", l->range)
                                 : mpr_arena_format(&doc->arena, "times, %s apart",
                                                    mpr_units_span(&every, l->every));
    if (!is_known(l)) {
        unknown_growth(doc, l);
        return;
    }
    mpr_doc_say(doc, "growth: over %s %s, after %s to warm up, up to %s",
                mpr_doc_count(doc, l->last_number - l->warm_number), what,
                mpr_doc_count(doc, l->warm_number), mpr_doc_time(doc, l->last_ns));
    if (l->peaks.log[0].summary.fold.until_ns)
        mpr_doc_say(doc, "; since %s, for the log is folded until then",
                    mpr_doc_time(doc, l->peaks.log[0].summary.fold.until_ns));
    if (l->options.at_end && l->until < l->options.at.from)
        mpr_doc_say(doc, "; until %s, for then the program gives its memory back and ends",
                    mpr_doc_time(doc, l->until));
    mpr_doc_end_wrapped(doc, 2);
}

#define OF_ALL(member) MPR_FIELD(mpr_leaks, member)
// clang-format off
static const struct mpr_column fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_ALL(range), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "every_ns", .type = MPR_TIME, OF_ALL(every), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "instants", .type = MPR_COUNT, OF_ALL(instants) },
    { .key = "warm_up", .type = MPR_COUNT, OF_ALL(warm_number) },
    { .key = "warm_up_ns", .type = MPR_TIME, OF_ALL(warm_ns) },
    { .key = "last", .type = MPR_COUNT, OF_ALL(last_number) },
    { .key = "last_ns", .type = MPR_TIME, OF_ALL(last_ns) },
};
// clang-format on

/* Of a heap that was larger when growth was last looked at, what grew. */
static void use_grown(struct mpr_document *doc, struct mpr_heap_peak *live,
                      const struct mpr_leaks_heap *h)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->growings * sizeof *row);
    uint64_t bytes = 0;
    for (size_t i = 0; i < h->growings; i++) {
        row[i] = h->growing[i].row;
        row[i].bytes = row[i].live_bytes;
        bytes += row[i].bytes;
    }
    if (bytes <= live->peak_bytes) return;
    live->row = row;
    live->rows = h->growings;
    live->peak_bytes = bytes;
}

/* What to record the next time: a program that gave its memory back has nothing at its end. */
static void hint(struct mpr_document *doc, const struct mpr_leaks *l)
{
    struct mpr_log_peaks log = l->peaks.log[0];
    struct mpr_heap_peak *heap = mpr_arena_alloc(&doc->arena, log.heaps * sizeof *heap);
    for (size_t i = 0; i < log.heaps; i++) {
        heap[i] = log.heap[i];
        use_grown(doc, &heap[i], &l->heap[i]);
    }
    log.heap = heap;
    mpr_report_hint(doc, &log);
}

void mpr_report_leaks(struct mpr_document *doc, const struct mpr_leaks *l)
{
    const struct mpr_log_peaks *log = &l->peaks.log[0];
    mpr_report_schema(doc, "memprof.leaks/1");
    mpr_report_log(doc, &log->summary);
    mpr_report_choice(doc, &log->choice);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
    const struct mpr_instant at = mpr_report_shown(&log->summary, l->options.at);
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
