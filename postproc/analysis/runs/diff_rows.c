/* An account's runs, row by row: paired, told, and apart by what became of them. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "diff_runs.h"
#include "pairs.h"

struct comparison {
    struct mpr_arena *arena;
    const struct mpr_diff *diff;
    const struct mpr_diff_account *account;
    const struct mpr_naming *naming;
    size_t runs;
};

/* ---- pairs */

/* The caller is a part of what tells lines apart: the last name of a pair's path. */
static struct mpr_path with_caller(struct mpr_arena *arena, const struct mpr_line *line)
{
    const struct mpr_path path = line->row.path;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, (path.depth + 1) * sizeof *frame);
    if (path.depth) memcpy(frame, path.frame, path.depth * sizeof *frame);
    frame[path.depth] =
        *line->caller ? mpr_frame_named(arena, MPR_FRAME_LABEL, line->caller) : &mpr_frame_none;
    return (struct mpr_path){ frame, path.depth + 1 };
}

static void add_entry(const struct comparison *c, struct mpr_pairs *pairs, size_t run,
                      const struct mpr_diff_entry *e)
{
    const bool stands = run == c->account->base_run || run == c->account->now_run;
    const struct mpr_row row = { .path = e->path };
    const struct mpr_line line = mpr_naming_line(c->arena, c->naming, c->account->by, &row);
    mpr_pairs_add(pairs, with_caller(c->arena, &line), e->bytes, e->estimated,
                  stands ? e->variance : 0);
}

static void pair_runs(const struct comparison *c, struct mpr_pairs *pairs)
{
    mpr_pairs_begin(pairs, c->arena, c->runs, c->diff->base);
    for (size_t run = 0; run < c->runs; run++) {
        mpr_pairs_run(pairs, run, mpr_summary_program(&c->diff->peaks.log[run].summary));
        for (size_t i = 0; i < c->account->run[run].entries; i++)
            add_entry(c, pairs, run, &c->account->run[run].entry[i]);
    }
    mpr_pairs_join(pairs);
}

/* ---- lines */

static struct mpr_spread base_of(const struct comparison *c, const int64_t *bytes)
{
    return mpr_diff_spread(bytes, c->diff->base, bytes[c->account->base_run]);
}

static struct mpr_spread now_of(const struct comparison *c, const int64_t *bytes)
{
    return mpr_diff_spread(bytes + c->diff->base, c->runs - c->diff->base,
                           bytes[c->account->now_run]);
}

static bool is_nothing(const struct mpr_spread *s) { return !s->least && !s->most; }

/* In another build an address is another call. */
static bool has_address(const struct mpr_line *line)
{
    for (size_t i = 0; i < line->row.path.depth; i++)
        if (line->row.path.frame[i]->kind == MPR_FRAME_ADDRESS) return true;
    return false;
}

/* One side has it alone. */
static bool is_one_sided(const struct comparison *c, const struct mpr_line *line)
{
    const struct mpr_spread base = base_of(c, line->of_run), now = now_of(c, line->of_run);
    return is_nothing(&base) != is_nothing(&now);
}

/* What a run of samples has none of may be there: a sample would have stood for as much as the
 * mean. As a row's variance. */
static double unseen(const struct comparison *c, const struct mpr_line *line, size_t run)
{
    const struct mpr_recording *r = &c->diff->peaks.log[run].summary.recording;
    const double mean = (double)r->blocks_mean;
    const bool sampled = r->blocks == MPR_RECORDED_SAMPLE && c->account->of == MPR_DIFF_HEAP &&
                         c->account->which == MPF_HEAP_HOST;
    return sampled && !line->of_run[run] ? mean * mean : 0;
}

/* An address of one side's object file says nothing of the other's. */
static enum mpr_diff_kind kind_of(const struct comparison *c, const struct mpr_line *line)
{
    const struct mpr_spread base = base_of(c, line->of_run), now = now_of(c, line->of_run);
    if (is_one_sided(c, line) && has_address(line)) return MPR_DIFF_UNMATCHED;
    const double variance = line->row.variance + unseen(c, line, c->account->base_run) +
                            unseen(c, line, c->account->now_run);
    if (mpr_diff_is_noise(c->diff, &base, &now) ||
        mpr_diff_is_sampling(mpr_minus(now.is, base.is), variance))
        return MPR_DIFF_NOISE;
    return now.is > base.is ? MPR_DIFF_GREW : MPR_DIFF_SHRANK;
}

static struct mpr_line line_of(const struct comparison *c, const struct mpr_pair *pair)
{
    const struct mpr_path path = { pair->path.frame, pair->path.depth - 1 };
    struct mpr_line line = mpr_line_of(&(struct mpr_row){
        .path = path, .estimated = pair->estimated, .variance = pair->variance });
    line.caller = path.frame[path.depth]->text;
    line.runs = c->runs;
    line.of_run = mpr_arena_alloc(c->arena, c->runs * sizeof *line.of_run);
    memcpy(line.of_run, pair->bytes, c->runs * sizeof *line.of_run);
    return line;
}

/* Lines of what changed, and by how much: they sort and fold by that. */
static size_t keep_changed(const struct comparison *c, struct mpr_line *line, size_t lines)
{
    size_t kept = 0;
    for (size_t i = 0; i < lines; i++) {
        const int64_t change =
            mpr_minus(line[i].of_run[c->account->now_run], line[i].of_run[c->account->base_run]);
        line[i].row.bytes = (uint64_t)llabs(change);
        if (change) line[kept++] = line[i];
    }
    return kept;
}

/* What a side has alone comes first, for it may fold with what the other one has: step 8 with step
 * 9. */
static size_t lines_of(const struct comparison *c, const struct mpr_pairs *pairs,
                       struct mpr_line *line)
{
    struct mpr_line *other = mpr_alloc(pairs->pairs + (size_t)1, sizeof *other);
    size_t lines = 0, others = 0;
    for (size_t i = 0; i < pairs->pairs; i++) {
        const struct mpr_line of = line_of(c, &pairs->pair[i]);
        if (is_one_sided(c, &of) && !has_address(&of)) line[lines++] = of;
        else other[others++] = of;
    }
    lines = mpr_naming_fold_sides(c->arena, c->naming, c->account->by, line, lines, c->diff->base);
    if (others) memcpy(line + lines, other, others * sizeof *line);
    free(other);
    return keep_changed(c, line, lines + others);
}

static size_t of_kind(const struct comparison *c, const struct mpr_line *line, size_t lines,
                      enum mpr_diff_kind kind, struct mpr_line *to)
{
    size_t count = 0;
    for (size_t i = 0; i < lines; i++)
        if (kind_of(c, &line[i]) == kind) to[count++] = line[i];
    mpr_lines_sort(to, count, MPR_ORDER_BYTES);
    return count;
}

/* Which of them is which nobody knows. */
static size_t one_line(struct mpr_arena *arena, struct mpr_line *line, size_t lines)
{
    static const char *const name[] = { "calls without names that one side has" };
    for (size_t i = 1; i < lines; i++) mpr_line_add(line, &line[i]);
    line->row.path = mpr_frame_labels(arena, name, 1);
    line->row.path.depth = 1;
    line->caller = "";
    return lines != 0;
}

static struct mpr_diff_row row_of(const struct comparison *c, enum mpr_diff_kind kind,
                                  const struct mpr_line *line)
{
    struct mpr_diff_row row = { .kind = kind,
                                .path = line->row.path,
                                .caller = line->caller,
                                .base = base_of(c, line->of_run),
                                .now = now_of(c, line->of_run),
                                .sibling_least = line->sibling_least,
                                .sibling_most = line->sibling_most,
                                .estimated = line->row.estimated,
                                .variance = line->row.variance };
    row.change = mpr_minus(row.now.is, row.base.is);
    return row;
}

static size_t rows_of(const struct comparison *c, const struct mpr_line *all, size_t count,
                      enum mpr_diff_kind kind, struct mpr_diff_row *row)
{
    struct mpr_line *line = mpr_alloc(count + 1, sizeof *line);
    size_t lines = of_kind(c, all, count, kind, line);
    if (kind == MPR_DIFF_UNMATCHED) lines = one_line(c->arena, line, lines);
    else lines = mpr_naming_fold(c->arena, c->naming, c->account->by, line, lines);
    for (size_t i = 0; i < lines; i++) row[i] = row_of(c, kind, &line[i]);
    free(line);
    return lines;
}

struct mpr_diff_row *mpr_diff_rows(struct mpr_arena *arena, const struct mpr_diff *diff,
                                   const struct mpr_diff_account *account,
                                   const struct mpr_naming *naming, size_t *rows)
{
    const struct comparison c = { arena, diff, account, naming, diff->peaks.logs };
    struct mpr_pairs pairs;
    pair_runs(&c, &pairs);
    struct mpr_line *line = mpr_alloc(pairs.pairs + (size_t)1, sizeof *line);
    const size_t lines = lines_of(&c, &pairs, line);
    struct mpr_diff_row *row = mpr_arena_alloc(arena, lines * sizeof *row);
    *rows = 0;
    for (enum mpr_diff_kind kind = MPR_DIFF_GREW; kind <= MPR_DIFF_UNMATCHED; kind++)
        *rows += rows_of(&c, line, lines, kind, row + *rows);
    free(line);
    mpr_pairs_free(&pairs);
    return row;
}
