/* Compares runs with the limits of a budget or of a base run, and suggests limits. A limit on
 * ranges, lines or threads applies to the sum of the rows that match its pattern. */
#include "check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "nearest.h"
#include "numbered_names.h"
#include "user_frame.h"
#include "utf8.h"

void mpr_check_init(struct mpr_check *check, const struct mpr_naming *naming,
                    const struct mpr_budget *budget)
{
    struct mpr_peaks_options options = { .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK };
    *check = (struct mpr_check){ .naming = naming, .budget = budget };
    mpr_peaks_init(&check->best, &options);
    options.by = MPR_GROUP_RANGE;
    mpr_peaks_init(&check->ranges, &options);
    options.by = MPR_GROUP_THREAD;
    mpr_peaks_init(&check->threads, &options);
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
    row.over = mpr_saturating_sub(row.bytes, row.limit.bytes);
    check->broken += row.over != 0;
    MPR_GROW(check->row, check->rows, check->cap);
    check->row[check->rows++] = row;
}

static const struct mpr_log_peaks *newest(const struct mpr_peaks *peaks)
{
    return &peaks->log[peaks->logs - 1];
}

/* ---- lines of a heap's table, as `peaks` prints them */

/* Returns the lines in the arena. The first *live lines hold bytes. @unfold: lines that differ
 * only in numbers are separate. */
static struct mpr_line *lines_of(const struct mpr_check *check, struct mpr_arena *arena,
                                 const struct mpr_heap_peak *heap, bool unfold, size_t *lines,
                                 size_t *live)
{
    struct mpr_naming naming = *check->naming;
    naming.unfold |= unfold;
    return mpr_naming_lines(arena, &naming, newest(&check->best)->choice.by, heap->row, heap->rows,
                            lines, live);
}

static const char *path_text(struct mpr_arena *arena, struct mpr_path path, enum mpr_group by)
{
    return path.depth ? mpr_frame_path_text(arena, path) : mpr_group_empty_path(by);
}

/* Sums the lines whose text matches the row's pattern, with or without their caller. First each
 * line that differs in a number is matched separately; if none matches, lines are matched as
 * they are printed ("layers.{0..15}"). */
static void choose_lines(const struct mpr_check *check, struct mpr_check_row *out,
                         const struct mpr_heap_peak *heap)
{
    const enum mpr_group by = newest(&check->best)->choice.by;
    const char *pattern = out->limit.name;
    struct mpr_arena scratch = { 0 };
    size_t lines, live;
    out->unmatched = true;
    for (int unfold = 1; out->unmatched && unfold >= 0; unfold--) {
        const struct mpr_line *line = lines_of(check, &scratch, heap, unfold, &lines, &live);
        for (size_t i = 0; i < lines; i++) {
            const char *text = path_text(&scratch, line[i].row.path, by);
            if (!mpr_pattern_matches_path(pattern, text) &&
                !mpr_pattern_matches_path(pattern,
                                          mpr_frame_with_caller(&scratch, text, line[i].caller)))
                continue;
            out->unmatched = false;
            out->bytes += line[i].row.bytes;
            out->is_approximate |= line[i].row.estimated;
        }
    }
    mpr_arena_free(&scratch);
}

/* ---- rows of ranges and threads */

/* Returns true if the row is a range that matches the pattern "step > forward", or a range
 * inside such a range. */
static bool is_within(const char *pattern, const struct mpr_row *row)
{
    struct mpr_arena scratch = { 0 };
    const char *path = mpr_frame_path_text(&scratch, row->path);
    const bool within =
        mpr_pattern_matches_path(pattern, path) ||
        mpr_pattern_matches_path(mpr_arena_format(&scratch, "%s > **", pattern), path);
    mpr_arena_free(&scratch);
    return within;
}

/* Compares the name without the number: "worker" of "worker (4243)". */
static bool is_thread(const char *pattern, const struct mpr_row *row)
{
    return mpr_pattern_matches(pattern, row->path.depth ? row->path.frame[0]->name : "");
}

static void choose_rows(struct mpr_check *check, struct mpr_check_row *out,
                        const struct mpr_heap_peak *heap,
                        bool (*matches)(const char *pattern, const struct mpr_row *row))
{
    struct mpr_row *row = mpr_arena_alloc(&check->arena, heap->rows * sizeof *row);
    for (size_t i = 0; i < heap->rows; i++) {
        if (!matches(out->limit.name, &heap->row[i])) continue;
        row[out->rows++] = heap->row[i];
        out->bytes += heap->row[i].bytes;
        out->is_approximate |= heap->row[i].estimated;
    }
    out->row = row;
    out->unmatched = !out->rows;
}

/* ---- similar names, for limits that match nothing */

/* Suggests a heap of another device: the name itself is valid, because the budget was read. */
static void find_near_heap(struct mpr_check *check, struct mpr_check_row *out,
                           const struct mpr_log_peaks *log)
{
    struct mpr_nearest nearest = { .text = out->limit.account };
    for (size_t i = 0; i < log->heaps; i++)
        mpr_nearest_try(&nearest, mpr_heap_name(log->heap[i].heap));
    if (nearest.word && nearest.nearness == MPR_NEAR_NUMBERS)
        out->nearest = mpr_arena_text(&check->arena, nearest.word);
}

/* Finds a line, a range or a thread with a similar name. For a range, lines of the table are
 * also tried, because they can look like ranges. */
static void find_near_row(struct mpr_check *check, struct mpr_check_row *out,
                          const struct mpr_heap_peak *heap)
{
    const struct mpr_log_peaks *log = newest(&check->best);
    const struct mpr_heap_peak *best = mpr_peaks_heap(log, out->limit.heap);
    struct mpr_nearest nearest = { .text = out->limit.name };
    size_t lines = 0, live;
    for (size_t i = 0; out->limit.kind != MPR_LIMIT_LINE && i < heap->rows; i++) {
        const struct mpr_path path = heap->row[i].path;
        if (path.depth)
            mpr_nearest_try(&nearest, out->limit.kind == MPR_LIMIT_RANGE
                                          ? mpr_frame_path_text(&check->arena, path)
                                          : path.frame[0]->name);
    }
    if (!nearest.word && out->limit.kind != MPR_LIMIT_THREAD && best) {
        const struct mpr_line *line = lines_of(check, &check->arena, best, true, &lines, &live);
        for (size_t i = 0; i < lines; i++) {
            const char *text = path_text(&check->arena, line[i].row.path, log->choice.by);
            mpr_nearest_try(&nearest, text);
            if (*line[i].caller)
                mpr_nearest_try(&nearest,
                                mpr_frame_with_caller(&check->arena, text, line[i].caller));
        }
        out->nearest_is_line = nearest.word != NULL;
    }
    if (nearest.word) out->nearest = mpr_arena_text(&check->arena, nearest.word);
}

/* ---- budgets */

static void fill_from_peaks(struct mpr_check *check, struct mpr_check_row *out)
{
    const enum mpr_limit_kind kind = out->limit.kind;
    const struct mpr_log_peaks *log = newest(kind == MPR_LIMIT_RANGE    ? &check->ranges
                                             : kind == MPR_LIMIT_THREAD ? &check->threads
                                                                        : &check->best);
    const struct mpr_heap_peak *heap = mpr_peaks_heap(log, out->limit.heap);
    out->log = log->summary.path;
    out->by = log->choice.by;
    if (kind == MPR_LIMIT_RSS || kind == MPR_LIMIT_CGROUP) {
        out->reached = kind == MPR_LIMIT_RSS ? log->rss_peak : log->cgroup_peak;
        out->absent = out->reached.bytes == MPF_UNKNOWN;
        if (!out->absent) out->bytes = out->reached.bytes;
        return;
    }
    out->absent = !heap;
    if (!heap) find_near_heap(check, out, log);
    else if (kind == MPR_LIMIT_HEAP) {
        out->bytes = heap->peak_bytes;
        out->is_approximate = heap->is_approximate || heap->inside;
        out->row = heap->row;
        out->rows = heap->rows;
    } else {
        if (kind == MPR_LIMIT_LINE) choose_lines(check, out, heap);
        else choose_rows(check, out, heap, kind == MPR_LIMIT_RANGE ? is_within : is_thread);
        if (out->unmatched) find_near_row(check, out, heap);
    }
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
        out->bytes = share->bytes;
        out->unmatched = !share->blocks;
        out->row = share->row;
        out->rows = share->rows;
    }
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

int mpr_check_add(struct mpr_check *check, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    const struct mpr_budget *budget = check->budget;
    bool ranges = false, threads = false, roles = false;
    for (size_t i = 0; i < budget->limits; i++) {
        ranges |= budget->limit[i].kind == MPR_LIMIT_RANGE;
        threads |= budget->limit[i].kind == MPR_LIMIT_THREAD;
        roles |= budget->limit[i].kind == MPR_LIMIT_ROLE;
    }
    if (mpr_peaks_add(&check->best, path, progress, error) != 0 ||
        (ranges && mpr_peaks_add(&check->ranges, path, progress, error) != 0) ||
        (threads && mpr_peaks_add(&check->threads, path, progress, error) != 0) ||
        (roles && read_roles(check, path, progress, error) != 0))
        return -1;
    for (size_t i = 0; i < budget->limits; i++) {
        struct mpr_check_row row = {
            .log_index = check->best.logs - 1, .limit = budget->limit[i], .nearest = "", .grown = ""
        };
        if (row.limit.kind == MPR_LIMIT_ROLE) fill_from_roles(check, &row);
        else fill_from_peaks(check, &row);
        add(check, row);
    }
    return 0;
}

/* Returns true if row @a should be kept instead of row @b, which is for the same limit. */
static bool precedes(const struct mpr_check_row *a, const struct mpr_check_row *b)
{
    if (a->absent != b->absent) return b->absent;
    if (a->unmatched != b->unmatched) return b->unmatched;
    return a->bytes > b->bytes;
}

/* Each program that a process executed has its own log. The process counts once: for each limit
 * the program that holds most of it. */
static void merge_programs(struct mpr_check *check)
{
    const size_t logs = check->best.logs, limits = check->budget->limits;
    if (logs < 2 || !limits) return;
    size_t *first = mpr_alloc(logs + 1, sizeof *first); /* by process: its first row + 1, or 0 if
                                                           not seen yet */
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

void mpr_check_end(struct mpr_check *check)
{
    const struct mpr_budget *budget = check->budget;
    merge_programs(check);
    check->budget_rows = check->rows;
    for (size_t i = 0; check->rows && i < budget->limits; i++) {
        bool found = budget->limit[i].optional;
        for (size_t k = i; k < check->rows; k += budget->limits)
            found |= !check->row[k].absent && !check->row[k].unmatched;
        for (size_t k = i; k < check->rows && !found; k += budget->limits) {
            check->row[k].not_found = true;
            check->not_found++;
        }
    }
}

/* ---- a base run */

static uint64_t bytes_of(int64_t amount) { return amount > 0 ? (uint64_t)amount : 0; }

static uint64_t with_part(uint64_t bytes, double part)
{
    return bytes + (uint64_t)((double)bytes * part);
}

static const char *line_text(struct mpr_arena *arena, const struct mpr_diff_row *row,
                             enum mpr_group by)
{
    return mpr_frame_with_caller(arena, path_text(arena, row->path, by), row->caller);
}

/* Returns the rows of a run that have more than 0 bytes. */
static struct mpr_row *rows_of(struct mpr_arena *arena, const struct mpr_diff_run *run,
                               size_t *rows)
{
    struct mpr_row *row = mpr_arena_alloc(arena, run->entries * sizeof *row);
    *rows = 0;
    for (const struct mpr_diff_entry *e = run->entry; e < run->entry + run->entries; e++)
        if (e->bytes > 0)
            row[(*rows)++] = (struct mpr_row){ .path = e->path, .bytes = bytes_of(e->bytes) };
    return row;
}

/* Adds a row for the account, and one for each of its lines that exceeds its limit. */
static void check_account(struct mpr_check *check, const struct mpr_diff *diff,
                          const struct mpr_diff_account *a, double part)
{
    static const enum mpr_limit_kind kind[] = { [MPR_DIFF_DEVICE] = MPR_LIMIT_DEVICE,
                                                [MPR_DIFF_HEAP] = MPR_LIMIT_HEAP,
                                                [MPR_DIFF_COMMS] = MPR_LIMIT_COMMS,
                                                [MPR_DIFF_GRAPHS] = MPR_LIMIT_GRAPHS };
    size_t rows;
    const struct mpr_diff_run *run = &a->run[a->now_run];
    const uint64_t base = bytes_of(a->total.base.bytes), more = with_part(base, part) - base;
    struct mpr_check_row out = { .log = diff->peaks.log[a->now_run].summary.path,
                                 .limit = { .kind = kind[a->subject],
                                            .name = "",
                                            .heap = a->subject == MPR_DIFF_HEAP ? a->number
                                                                                : MPF_HEAP_NONE,
                                            .account = a->name,
                                            .from = diff->peaks.log[a->base_run].summary.path,
                                            .bytes = base + more },
                                 .bytes = bytes_of(a->total.now.bytes),
                                 .absent = !run->entries,
                                 .by = a->by,
                                 .nearest = "",
                                 .grown = "" };
    out.row = rows_of(&check->arena, run, &out.rows);
    const struct mpr_diff_row *row = mpr_diff_rows(&check->arena, diff, a, check->naming, &rows),
                              *largest = NULL;
    for (size_t i = 0; i < rows; i++)
        if (row[i].kind == MPR_DIFF_GREW && (!largest || row[i].change > largest->change))
            largest = &row[i];
    if (largest) {
        out.grown = line_text(&check->arena, largest, a->by);
        out.grown_bytes = bytes_of(largest->change);
        out.grown_estimated = largest->estimated;
    }
    add(check, out);
    out.limit.kind = MPR_LIMIT_LINE;
    out.grown = "";
    out.rows = 0;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].kind != MPR_DIFF_GREW || bytes_of(row[i].change) <= more) continue;
        out.limit.name = line_text(&check->arena, &row[i], a->by);
        out.limit.bytes = bytes_of(row[i].base.bytes) + more;
        out.bytes = bytes_of(row[i].now.bytes);
        add(check, out);
    }
}

/* Leaves out heaps inside of others, because these are estimates of bytes that are already
 * compared. */
void mpr_check_against(struct mpr_check *check, const struct mpr_diff *diff, double part)
{
    for (size_t i = 0; i < diff->accounts; i++)
        if (!diff->account[i].inside) check_account(check, diff, &diff->account[i], part);
}

/* ---- suggestions: limits on everything that has at least a hundredth of its heap */

enum { HUNDREDTH = 100 };

static void suggest(struct mpr_budget *budget, enum mpr_limit_kind kind, const char *name,
                    uint8_t heap, uint64_t bytes)
{
    mpr_budget_add(budget, &(struct mpr_limit){ .kind = kind,
                                                .name = name,
                                                .role = mpr_role_named(name),
                                                .heap = heap,
                                                .from = "",
                                                .bytes = bytes });
}

/* Replaces characters that a line of a budget cannot have by *. */
static const char *writable_pattern(struct mpr_arena *arena, const char *pattern)
{
    char *text = mpr_arena_alloc(arena, strlen(pattern) + 1);
    size_t bytes = 0;
    for (const char *at = pattern; *at;) {
        const char *from = at;
        uint32_t code;
        const bool good = mpr_utf8_next(&at, &code) && code != '"' && code != '*' &&
                          !mpr_utf8_unsafe(code) &&
                          !mpr_utf8_begins_ci_command(from > pattern ? from[-1] : 0, code, *at);
        if (good) {
            memcpy(text + bytes, from, (size_t)(at - from));
            bytes += (size_t)(at - from);
        } else if (!bytes || text[bytes - 1] != '*') text[bytes++] = '*';
    }
    return text;
}

/* Replaces each number that counts similar things by *: "layers.*". */
static const struct mpr_frame *with_stars(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    enum { PLACES = 8 };
    static const char *const star[PLACES] = { "*", "*", "*", "*", "*", "*", "*", "*" };
    struct mpr_name_number place[PLACES];
    const size_t places = mpr_numbers_find(frame, place, PLACES);
    return places ? mpr_numbers_replace(arena, frame, place, star, places) : frame;
}

/* Returns the line's text with * instead of numbers, source lines ("file.py:*)") and addresses
 * ("lib.so+0x*"); NULL for a line without a call, such as "(no call stack)". */
static const char *line_pattern(struct mpr_arena *arena, struct mpr_path path)
{
    const struct mpr_frame **frame = mpr_arena_alloc(arena, path.depth * sizeof *frame);
    if (!path.depth) return NULL;
    for (size_t i = 0; i < path.depth; i++) frame[i] = with_stars(arena, path.frame[i]);
    const char *name = mpr_frame_path_text(arena, (struct mpr_path){ frame, path.depth });
    char *text = mpr_arena_alloc(arena, strlen(name) + 1);
    size_t bytes = 0;
    if (*name == '(') return NULL;
    for (const char *at = name; *at;) {
        const char *end = at;
        if (at - name >= 1 && at[-1] == ':')
            while (isdigit((unsigned char)*end)) end++;
        else if (at - name >= 3 && strncmp(at - 3, "+0x", 3) == 0)
            while (isxdigit((unsigned char)*end)) end++;
        const bool number = end > at && (*end == ')' || !*end);
        text[bytes++] = number ? '*' : *at;
        at = number ? end : at + 1;
    }
    return text;
}

/* A pattern, and the bytes of the rows from which it was made. */
struct subject {
    const char *pattern;
    uint64_t bytes;
};

MPR_COMPARE(by_pattern, struct subject, strcmp(a->pattern, b->pattern))

/* Suggests limits for the patterns, which may match more rows than they were made from. Equal
 * patterns are merged, and those with less than a hundredth of the heap are left out. */
static void suggest_patterns(struct mpr_check *check, struct mpr_budget *budget,
                             enum mpr_limit_kind kind, struct subject *subject, size_t subjects,
                             const struct mpr_heap_peak *heap, double part)
{
    if (subjects) qsort(subject, subjects, sizeof *subject, by_pattern);
    for (size_t i = 0, end; i < subjects; i = end) {
        struct mpr_check_row row = { .limit.name = subject[i].pattern };
        uint64_t bytes = 0;
        for (end = i; end < subjects && by_pattern(&subject[i], &subject[end]) == 0; end++)
            bytes += subject[end].bytes;
        if (bytes < heap->peak_bytes / HUNDREDTH) continue;
        if (kind == MPR_LIMIT_RANGE) choose_rows(check, &row, heap, is_within);
        else choose_lines(check, &row, heap);
        suggest(budget, kind, subject[i].pattern, heap->heap, with_part(row.bytes, part));
    }
}

static void suggest_ranges(struct mpr_check *check, struct mpr_budget *budget,
                           const struct mpr_heap_peak *heap, double part)
{
    struct subject *range = mpr_arena_alloc(&check->arena, heap->rows * sizeof *range);
    size_t ranges = 0;
    for (size_t i = 0; i < heap->rows; i++) {
        const struct mpr_row *row = &heap->row[i];
        if (row->path.depth && row->bytes)
            range[ranges++] = (struct subject){
                writable_pattern(&budget->arena,
                                 with_stars(&budget->arena, row->path.frame[0])->text),
                row->bytes
            };
    }
    suggest_patterns(check, budget, MPR_LIMIT_RANGE, range, ranges, heap, part);
}

MPR_COMPARE(by_text, char *, strcmp(*a, *b))

/* Suggests limits on lines that are outside of all ranges, because each range has a limit. */
static void suggest_lines(struct mpr_check *check, struct mpr_budget *budget,
                          const struct mpr_heap_peak *heap, const struct mpr_heap_peak *ranges,
                          double part)
{
    const char **outermost = mpr_arena_alloc(&check->arena, ranges->rows * sizeof *outermost);
    size_t all, lines, names = 0, subjects = 0;
    for (size_t i = 0; i < ranges->rows; i++)
        if (ranges->row[i].path.depth) outermost[names++] = ranges->row[i].path.frame[0]->text;
    if (names) qsort(outermost, names, sizeof *outermost, by_text);
    const struct mpr_line *line = lines_of(check, &check->arena, heap, true, &all, &lines);
    struct subject *subject = mpr_arena_alloc(&check->arena, lines * sizeof *subject);
    for (size_t i = 0; i < lines; i++) {
        const struct mpr_row *row = &line[i].row;
        const char *text = line_pattern(&check->arena, row->path);
        if (!text || !row->bytes) continue;
        if (names &&
            bsearch(&row->path.frame[0]->text, outermost, names, sizeof *outermost, by_text))
            continue;
        subject[subjects++] =
            (struct subject){ writable_pattern(&budget->arena, text), row->bytes };
    }
    suggest_patterns(check, budget, MPR_LIMIT_LINE, subject, subjects, heap, part);
}

/* A heap without bytes gets no limit, because its first byte would exceed it. */
int mpr_check_suggest(struct mpr_check *check, struct mpr_budget *budget, double part,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    if (mpr_peaks_add(&check->ranges, path, progress, error) != 0 ||
        mpr_peaks_add(&check->best, path, progress, error) != 0)
        return -1;
    const struct mpr_log_peaks *log = newest(&check->ranges), *best = newest(&check->best);
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *heap = &log->heap[i];
        if (heap->inside || !heap->peak_bytes) continue;
        suggest(budget, MPR_LIMIT_HEAP, "", heap->heap, with_part(heap->peak_bytes, part));
        suggest_ranges(check, budget, heap, part);
        suggest_lines(check, budget, mpr_peaks_heap(best, heap->heap), heap, part);
    }
    if (!mpr_peaks_has_torch(log)) return 0;
    if (read_roles(check, path, progress, error) != 0) return -1;
    const struct mpr_breakdown *b = &check->breakdown[check->breakdowns - 1];
    for (const struct mpr_breakdown_heap *h = b->heap; h < b->heap + b->heaps; h++)
        for (enum mpr_role role = 0; role < MPR_ROLE_UNEXPLAINED; role++) {
            const uint64_t bytes = h->role[role].bytes;
            if (bytes && bytes >= h->bytes / HUNDREDTH)
                suggest(budget, MPR_LIMIT_ROLE, mpr_role_key(role), h->heap,
                        with_part(bytes, part));
        }
    return 0;
}
