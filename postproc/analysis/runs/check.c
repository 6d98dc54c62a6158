#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "check_lines.h"
#include "diff_runs.h"
#include "path_pattern.h"
#include "telling.h"
#include "utf8.h"

void mpr_check_init(struct mpr_check *check, const struct mpr_naming *naming)
{
    *check = (struct mpr_check){ .naming = naming };
    mpr_peaks_init(&check->best,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    mpr_peaks_init(&check->ranges,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK });
    mpr_peaks_init(&check->threads,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_THREAD, .at = MPR_INSTANT_PEAK });
}

void mpr_check_free(struct mpr_check *check)
{
    mpr_peaks_free(&check->best);
    mpr_peaks_free(&check->ranges);
    mpr_peaks_free(&check->threads);
    for (size_t i = 0; i < check->breakdowns; i++) mpr_breakdown_free(&check->breakdown[i]);
    free(check->breakdown);
    mpr_arena_free(&check->arena);
    free(check->row);
}

static void add(struct mpr_check *check, struct mpr_check_row row)
{
    row.over = mpr_less(row.is, row.limit.bytes);
    check->broken += row.over != 0;
    MPR_GROW(check->row, check->rows, check->cap);
    check->row[check->rows++] = row;
}

/* ---- what a limit is about */

/* "step > forward" and what was opened inside. */
static bool is_within(const char *pattern, const struct mpr_row *row)
{
    struct mpr_arena scratch = { 0 };
    const char *path = mpr_frame_path_text(&scratch, row->path);
    const bool within =
        mpr_path_pattern_matches(pattern, path) ||
        mpr_path_pattern_matches(mpr_arena_format(&scratch, "%s > **", pattern), path);
    mpr_arena_free(&scratch);
    return within;
}

/* "worker (4243)" by its name alone. */
static bool is_thread(const char *pattern, const struct mpr_row *row)
{
    return mpr_telling_matches(pattern, row->path.depth ? row->path.frame[0]->name : "");
}

/* The rows of a heap that the pattern is about. */
static void pick(struct mpr_check *check, struct mpr_check_row *out,
                 const struct mpr_heap_peak *heap,
                 bool (*is_meant)(const char *pattern, const struct mpr_row *row))
{
    struct mpr_row *row = mpr_arena_alloc(&check->arena, heap->rows * sizeof *row);
    for (size_t i = 0; i < heap->rows; i++) {
        if (!is_meant(out->limit.name, &heap->row[i])) continue;
        row[out->rows++] = heap->row[i];
        out->is += heap->row[i].bytes;
        out->is_about |= heap->row[i].estimated;
    }
    out->row = row;
    out->unmatched = !out->rows;
}

/* ---- names that are near */

/* Each name is one of a heap, so only the number of a device can be wrong. */
static const char *near_heap(struct mpr_check *check, const struct mpr_log_peaks *log,
                             const char *name)
{
    struct mpr_nearest nearest = { .text = name };
    for (size_t i = 0; i < log->heaps; i++)
        mpr_nearest_try(&nearest, mpr_heap_name(log->heap[i].heap));
    return nearest.word && nearest.nearness == MPR_NEAR_NUMBERS
               ? mpr_arena_text(&check->arena, nearest.word)
               : "";
}

static struct mpr_check_table table_of(const struct mpr_check *check,
                                       const struct mpr_heap_peak *heap)
{
    const struct mpr_log_peaks *log = &check->best.log[check->best.logs - 1];
    return (struct mpr_check_table){ check->naming, log->choice.by, heap };
}

static void find_near_line(struct mpr_check *check, struct mpr_check_row *out)
{
    struct mpr_nearest nearest = { .text = out->limit.name };
    const struct mpr_heap_peak *heap =
        mpr_peaks_heap(&check->best.log[check->best.logs - 1], out->limit.heap);
    const struct mpr_check_table table = table_of(check, heap);
    if (heap) mpr_check_lines_near(&table, &check->arena, &nearest);
    if (!nearest.word) return;
    out->nearest = mpr_arena_text(&check->arena, nearest.word);
    out->nearest_is_line = true;
}

/* A range or a thread of nearly that name; a line of the table can look like a range. */
static void find_near_row(struct mpr_check *check, struct mpr_check_row *out,
                          const struct mpr_heap_peak *heap)
{
    const bool range = out->limit.of == MPR_LIMIT_RANGE;
    struct mpr_nearest nearest = { .text = out->limit.name };
    for (size_t i = 0; i < heap->rows; i++) {
        const struct mpr_row *row = &heap->row[i];
        if (row->path.depth)
            mpr_nearest_try(&nearest, range ? mpr_frame_path_text(&check->arena, row->path)
                                            : row->path.frame[0]->name);
    }
    if (nearest.word) out->nearest = nearest.word;
    else if (range) find_near_line(check, out);
}

static void pick_lines(struct mpr_check *check, struct mpr_check_row *out,
                       const struct mpr_heap_peak *heap)
{
    const struct mpr_check_table table = table_of(check, heap);
    const struct mpr_check_lines found = mpr_check_lines_of(&table, out->limit.name);
    out->is = found.bytes;
    out->is_about = found.estimated;
    out->unmatched = !found.lines;
    if (out->unmatched) find_near_line(check, out);
}

static void fill_from_peaks(struct mpr_check *check, struct mpr_check_row *out)
{
    const enum mpr_limit_of of = out->limit.of;
    const struct mpr_peaks *peaks = of == MPR_LIMIT_RANGE    ? &check->ranges
                                    : of == MPR_LIMIT_THREAD ? &check->threads
                                                             : &check->best;
    const struct mpr_log_peaks *log = &peaks->log[peaks->logs - 1];
    const struct mpr_heap_peak *heap = mpr_peaks_heap(log, out->limit.heap);
    out->log = log->summary.path;
    out->by = log->choice.by;
    out->absent = !heap;
    if (!heap) {
        out->nearest = near_heap(check, log, out->limit.account);
        return;
    }
    if (of == MPR_LIMIT_LINE) {
        pick_lines(check, out, heap);
        return;
    }
    if (of != MPR_LIMIT_HEAP) {
        pick(check, out, heap, of == MPR_LIMIT_RANGE ? is_within : is_thread);
        if (out->unmatched) find_near_row(check, out, heap);
        return;
    }
    out->is = heap->peak_bytes;
    out->is_about = heap->is_about || heap->inside;
    out->row = heap->row;
    out->rows = heap->rows;
}

static void fill_from_roles(const struct mpr_check *check, struct mpr_check_row *out)
{
    const struct mpr_breakdown *b = &check->breakdown[check->breakdowns - 1];
    out->log = b->summary.path;
    out->by = MPR_GROUP_AUTO;
    out->absent = true;
    for (size_t i = 0; i < b->heaps; i++) {
        if (b->heap[i].heap != out->limit.heap) continue;
        const struct mpr_role_share *share = &b->heap[i].role[out->limit.role];
        out->absent = false;
        out->is = share->bytes;
        out->unmatched = !share->blocks;
        out->row = share->row;
        out->rows = share->rows;
    }
}

/* ---- budgets */

static bool has(const struct mpr_budget *budget, enum mpr_limit_of of)
{
    for (size_t i = 0; i < budget->limits; i++)
        if (budget->limit[i].of == of) return true;
    return false;
}

static int read_roles(struct mpr_check *check, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    MPR_GROW(check->breakdown, check->breakdowns, check->breakdown_room);
    if (mpr_breakdown_read(&check->breakdown[check->breakdowns], path, MPR_INSTANT_PEAK, true,
                           progress, error) != 0)
        return -1;
    check->breakdowns++;
    return 0;
}

int mpr_check_add(struct mpr_check *check, const struct mpr_budget *budget, const char *path,
                  const struct mpr_progress *progress, struct mpr_error *error)
{
    if (mpr_peaks_add(&check->best, path, progress, error) != 0) return -1;
    if (has(budget, MPR_LIMIT_RANGE) && mpr_peaks_add(&check->ranges, path, progress, error) != 0)
        return -1;
    if (has(budget, MPR_LIMIT_THREAD) && mpr_peaks_add(&check->threads, path, progress, error) != 0)
        return -1;
    if (has(budget, MPR_LIMIT_ROLE) && read_roles(check, path, progress, error) != 0) return -1;
    for (size_t i = 0; i < budget->limits; i++) {
        struct mpr_check_row row = {
            .log_index = check->best.logs - 1, .limit = budget->limit[i], .nearest = "", .grown = ""
        };
        if (row.limit.of == MPR_LIMIT_ROLE) fill_from_roles(check, &row);
        else fill_from_peaks(check, &row);
        add(check, row);
    }
    return 0;
}

static bool is_found(const struct mpr_check *check, size_t limit)
{
    for (size_t i = limit; i < check->rows; i += check->limits)
        if (!check->row[i].absent && !check->row[i].unmatched) return true;
    return false;
}

/* Returns true if the limit of row @a says more about the process than that of row @b. */
static bool precedes(const struct mpr_check_row *a, const struct mpr_check_row *b)
{
    if (a->absent != b->absent) return b->absent;
    if (a->unmatched != b->unmatched) return b->unmatched;
    return a->is > b->is;
}

/* The programs that a process executed one after the other have a log each.  They count once: each
 * limit by the program that holds most of it. */
static void merge_programs(struct mpr_check *check, size_t limits)
{
    const size_t logs = check->best.logs;
    if (logs < 2 || !limits) return;
    size_t *first = mpr_alloc(logs + 1, sizeof *first); /* by process: its first row + 1, or 0
                                                           before it is seen */
    size_t rows = 0;
    mpr_peaks_find_processes(&check->best);
    check->broken = 0;
    for (size_t i = 0; i + limits <= check->rows; i += limits) {
        size_t *at = &first[check->best.log[check->row[i].log_index].process];
        if (!*at) {
            memmove(check->row + rows, check->row + i, limits * sizeof *check->row);
            *at = rows + 1;
            rows += limits;
            continue;
        }
        for (size_t k = 0; k < limits; k++)
            if (precedes(&check->row[i + k], &check->row[*at - 1 + k]))
                check->row[*at - 1 + k] = check->row[i + k];
    }
    check->rows = rows;
    for (size_t i = 0; i < rows; i++) check->broken += check->row[i].over != 0;
    free(first);
}

void mpr_check_end(struct mpr_check *check, const struct mpr_budget *budget)
{
    merge_programs(check, budget->limits);
    check->limits = budget->limits;
    check->budget_rows = check->rows;
    for (size_t i = 0; check->rows && i < budget->limits; i++) {
        if (budget->limit[i].optional || is_found(check, i)) continue;
        for (size_t k = i; k < check->rows; k += check->limits) {
            check->row[k].not_found = true;
            check->not_found++;
        }
    }
}

/* ---- a base */

static uint64_t bytes_of(int64_t amount) { return amount > 0 ? (uint64_t)amount : 0; }

static uint64_t with_part(uint64_t bytes, double part)
{
    return bytes + (uint64_t)((double)bytes * part);
}

static const char *line_name(struct mpr_arena *arena, const struct mpr_diff_row *row,
                             enum mpr_group by)
{
    const char *text =
        row->path.depth ? mpr_frame_path_text(arena, row->path) : mpr_group_nowhere(by);
    return *row->caller ? mpr_arena_format(arena, "%s <- %s", text, row->caller) : text;
}

/* What the account is made of in the newer run. */
static const struct mpr_row *rows_of(struct mpr_arena *arena, const struct mpr_diff_run *run,
                                     size_t *rows)
{
    struct mpr_row *row = mpr_arena_alloc(arena, run->entries * sizeof *row);
    *rows = 0;
    for (size_t i = 0; i < run->entries; i++) {
        const struct mpr_diff_entry *e = &run->entry[i];
        if (e->bytes > 0)
            row[(*rows)++] = (struct mpr_row){ .path = e->path, .bytes = bytes_of(e->bytes) };
    }
    return row;
}

static const struct mpr_diff_row *grown_most(const struct mpr_diff_row *row, size_t rows)
{
    const struct mpr_diff_row *most = NULL;
    for (size_t i = 0; i < rows; i++)
        if (row[i].kind == MPR_DIFF_GREW && (!most || row[i].change > most->change)) most = &row[i];
    return most;
}

static void check_account(struct mpr_check *check, const struct mpr_diff *diff,
                          const struct mpr_diff_account *a, const struct mpr_naming *naming,
                          double part)
{
    static const enum mpr_limit_of of[] = { [MPR_DIFF_DEVICE] = MPR_LIMIT_DEVICE,
                                            [MPR_DIFF_HEAP] = MPR_LIMIT_HEAP,
                                            [MPR_DIFF_COMMS] = MPR_LIMIT_COMMS,
                                            [MPR_DIFF_GRAPHS] = MPR_LIMIT_GRAPHS };
    size_t rows;
    const struct mpr_diff_run *run = &a->run[a->now_run];
    const uint64_t base = bytes_of(a->base.is), more = with_part(base, part) - base;
    struct mpr_check_row out = { .log = diff->peaks.log[a->now_run].summary.path,
                                 .limit = { .of = of[a->of],
                                            .name = "",
                                            .heap =
                                                a->of == MPR_DIFF_HEAP ? a->which : MPF_HEAP_NONE,
                                            .account = a->name,
                                            .from = diff->peaks.log[a->base_run].summary.path,
                                            .bytes = base + more },
                                 .is = bytes_of(a->now.is),
                                 .absent = !run->entries,
                                 .by = a->by,
                                 .nearest = "",
                                 .grown = "" };
    const struct mpr_diff_row *row = mpr_diff_rows(&check->arena, diff, a, naming, &rows);
    const struct mpr_diff_row *most = grown_most(row, rows);
    out.row = rows_of(&check->arena, run, &out.rows);
    if (most) {
        out.grown = line_name(&check->arena, most, a->by);
        out.grown_bytes = bytes_of(most->change);
        out.grown_estimated = most->estimated;
    }
    add(check, out);
    out.limit.of = MPR_LIMIT_LINE;
    out.grown = "";
    out.rows = 0;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].kind != MPR_DIFF_GREW || bytes_of(row[i].change) <= more) continue;
        out.limit.name = line_name(&check->arena, &row[i], a->by);
        out.limit.bytes = bytes_of(row[i].base.is) + more;
        out.is = bytes_of(row[i].now.is);
        add(check, out);
    }
}

void mpr_check_against(struct mpr_check *check, const struct mpr_diff *diff,
                       const struct mpr_naming *naming, double part)
{
    for (size_t i = 0; i < diff->accounts; i++)
        if (!diff->account[i].inside) /* an estimate of what is compared anyway */
            check_account(check, diff, &diff->account[i], naming, part);
}

/* ---- suggestions */

static size_t copy(char *to, const char *from, const char *end)
{
    memcpy(to, from, (size_t)(end - from));
    return (size_t)(end - from);
}

/* The pattern with * for what a budget's line cannot have. */
static const char *writable(struct mpr_arena *arena, const char *pattern)
{
    char *text = mpr_arena_alloc(arena, strlen(pattern) + 1);
    size_t bytes = 0;
    for (const char *at = pattern; *at;) {
        const char *from = at;
        uint32_t code;
        const bool good = mpr_utf8_next(&at, &code) && code != '"' && code != '*' &&
                          !mpr_utf8_unsafe(code) &&
                          !mpr_utf8_commands(from > pattern ? from[-1] : 0, code, *at);
        if (good) bytes += copy(text + bytes, from, at);
        else if (!bytes || text[bytes - 1] != '*') text[bytes++] = '*';
    }
    return text;
}

/* A suggested limit. */
struct subject {
    const char *pattern;
    uint64_t bytes;
};

static int by_pattern(const void *left, const void *right)
{
    const struct subject *a = left, *b = right;
    return strcmp(a->pattern, b->pattern);
}

/* Each pattern once; how many. */
static size_t merge(struct subject *subject, size_t rows)
{
    size_t merged = 0;
    if (rows) qsort(subject, rows, sizeof *subject, by_pattern);
    for (size_t i = 0; i < rows; i++) {
        if (merged && by_pattern(&subject[merged - 1], &subject[i]) == 0)
            subject[merged - 1].bytes += subject[i].bytes;
        else subject[merged++] = subject[i];
    }
    return merged;
}

static size_t outermost_of(struct mpr_arena *arena, const struct mpr_heap_peak *heap,
                           struct subject *range)
{
    size_t rows = 0;
    for (size_t i = 0; i < heap->rows; i++)
        if (heap->row[i].path.depth && heap->row[i].bytes)
            range[rows++] = (struct subject){
                writable(arena, mpr_check_starred(arena, heap->row[i].path.frame[0])->text),
                heap->row[i].bytes
            };
    return merge(range, rows);
}

/* Those with a hundredth of the heap. */
static void suggest_ranges(struct mpr_check *check, struct mpr_budget *budget,
                           const struct mpr_heap_peak *heap, double part)
{
    struct subject *range = mpr_arena_alloc(&check->arena, heap->rows * sizeof *range);
    const size_t ranges = outermost_of(&budget->arena, heap, range);
    for (size_t i = 0; i < ranges; i++) {
        struct mpr_check_row row = { .limit = { .of = MPR_LIMIT_RANGE,
                                                .name = range[i].pattern,
                                                .heap = heap->heap,
                                                .from = "" } };
        if (range[i].bytes < heap->peak_bytes / 100) continue;
        pick(check, &row, heap, is_within); /* the pattern may match more */
        row.limit.bytes = with_part(row.is, part);
        mpr_budget_add(budget, &row.limit);
    }
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The names of the outermost ranges, sorted. */
static const char **range_names(struct mpr_arena *arena, const struct mpr_heap_peak *heap,
                                size_t *names)
{
    const char **name = mpr_arena_alloc(arena, heap->rows * sizeof *name);
    *names = 0;
    for (size_t i = 0; i < heap->rows; i++)
        if (heap->row[i].path.depth) name[(*names)++] = heap->row[i].path.frame[0]->text;
    if (*names) qsort(name, *names, sizeof *name, by_text);
    return name;
}

/* Lines in no range, which has a limit by itself, with a hundredth of the heap.  @ranges: the same
 * heap by ranges. */
static void suggest_lines(struct mpr_check *check, struct mpr_budget *budget,
                          const struct mpr_heap_peak *heap, const struct mpr_heap_peak *ranges,
                          double part)
{
    size_t names;
    const char **name = range_names(&check->arena, ranges, &names);
    const struct mpr_check_table table = table_of(check, heap);
    size_t lines, subjects = 0;
    const struct mpr_line *line = mpr_check_live_lines(&check->arena, &table, &lines);
    struct subject *subject = mpr_arena_alloc(&check->arena, lines * sizeof *subject);
    for (size_t i = 0; i < lines; i++) {
        const char *text = mpr_check_line_pattern(&check->arena, &line[i]);
        const bool in_range =
            text && names &&
            bsearch(&line[i].row.path.frame[0]->text, name, names, sizeof *name, by_text);
        if (text && line[i].row.bytes && !in_range)
            subject[subjects++] =
                (struct subject){ writable(&budget->arena, text), line[i].row.bytes };
    }
    subjects = merge(subject, subjects);
    for (size_t i = 0; i < subjects; i++) {
        if (subject[i].bytes < heap->peak_bytes / 100) continue;
        const struct mpr_check_lines found = mpr_check_lines_of(&table, subject[i].pattern);
        mpr_budget_add(budget, &(struct mpr_limit){ .of = MPR_LIMIT_LINE,
                                                    .name = subject[i].pattern,
                                                    .heap = heap->heap,
                                                    .from = "",
                                                    .bytes = with_part(found.bytes, part) });
    }
}

/* Those that something was told to be, with a hundredth of the heap. */
static void suggest_roles(const struct mpr_breakdown *b, struct mpr_budget *budget, double part)
{
    for (size_t i = 0; i < b->heaps; i++)
        for (enum mpr_role role = 0; role < MPR_ROLE_UNEXPLAINED; role++) {
            const uint64_t bytes = b->heap[i].role[role].bytes;
            if (!bytes || bytes < b->heap[i].bytes / 100) continue;
            mpr_budget_add(budget, &(struct mpr_limit){ .of = MPR_LIMIT_ROLE,
                                                        .name = mpr_role_key(role),
                                                        .role = role,
                                                        .heap = b->heap[i].heap,
                                                        .from = "",
                                                        .bytes = with_part(bytes, part) });
        }
}

static bool has_roles(const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (mpr_heap_is_torch(log->heap[i].heap)) return true;
    return false;
}

int mpr_check_suggest(struct mpr_check *check, struct mpr_budget *budget, double part,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    if (mpr_peaks_add(&check->ranges, path, progress, error) != 0 ||
        mpr_peaks_add(&check->best, path, progress, error) != 0)
        return -1;
    const struct mpr_log_peaks *log = &check->ranges.log[check->ranges.logs - 1],
                               *best = &check->best.log[check->best.logs - 1];
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *heap = &log->heap[i];
        if (heap->inside || !heap->peak_bytes) continue; /* a limit of 0 breaks at the first byte */
        mpr_budget_add(budget, &(struct mpr_limit){ .of = MPR_LIMIT_HEAP,
                                                    .name = "",
                                                    .heap = heap->heap,
                                                    .from = "",
                                                    .bytes = with_part(heap->peak_bytes, part) });
        suggest_ranges(check, budget, heap, part);
        suggest_lines(check, budget, mpr_peaks_heap(best, heap->heap), heap, part);
    }
    if (!has_roles(log)) return 0;
    if (read_roles(check, path, progress, error) != 0) return -1;
    suggest_roles(&check->breakdown[check->breakdowns - 1], budget, part);
    return 0;
}
