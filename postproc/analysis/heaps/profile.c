#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "held.h"
#include "hex.h"
#include "labels.h"
#include "maker.h"
#include "mpf/event.h"
#include "reader.h"

/* What a cell's blocks were that were made in the span. */
struct made {
    double bytes, blocks;
};

struct reading {
    struct mpr_reader reader;
    const struct mpr_profile_options *options;
    struct mpr_profile *out;
    struct mpr_ledger ledger;
    struct made *made; /* by cell */
    uint32_t cells;
    struct mpr_index number; /* of samples, by hash: + 1 */
    uint64_t *key;           /* of samples: node and thread, heap and site */
    const char **range, **thread;
    uint32_t ranges, threads;
};

/* ---- what is made */

/* What a block stands for beyond what it is, where only a sample of its like is in the log. */
static struct mpr_weight more_than(const struct mpr_replay *r, uint8_t heap, uint64_t size)
{
    if (heap == MPF_HEAP_PYTHON && r->options.python_sample_mean > 0)
        return mpr_estimates_weight(&r->estimates.python, size);
    if (heap == MPF_HEAP_HOST && mpr_replay_samples_host(r))
        return mpr_estimates_weight(&r->estimates.host, size);
    return (struct mpr_weight){ 0 };
}

static void count_made(void *arg, const struct mpr_ledger_entry *e)
{
    struct reading *r = arg;
    if (e->from < r->options->from_ns || e->from > r->options->until_ns) return;
    const struct mpr_weight more = more_than(&r->reader.replay, (uint8_t)e->key, e->size);
    MPR_REACH(r->made, e->cell, r->cells);
    r->made[e->cell].bytes += (double)e->size + more.bytes;
    r->made[e->cell].blocks += 1 + more.blocks;
}

/* ---- names */

static const char *range_name(struct reading *r, uint32_t node)
{
    MPR_REACH(r->range, node, r->ranges);
    if (!r->range[node]) {
        const struct mpr_path path = mpr_label_node(&r->out->code.arena, &r->reader, node);
        r->range[node] = mpr_frame_path_text(&r->out->arena, path);
    }
    return r->range[node];
}

static const char *thread_name(struct reading *r, uint32_t thread)
{
    MPR_REACH(r->thread, thread, r->threads);
    if (!r->thread[thread])
        r->thread[thread] = mpr_label_maker(&r->out->arena, &r->reader.replay, thread);
    return r->thread[thread];
}

/* ---- samples */

static uint32_t stack_of(struct reading *r, uint32_t node, uint32_t site)
{
    struct mpr_code *code = &r->out->code;
    const struct mpr_site at = mpr_sites_of(&r->reader.replay.sites, site);
    const uint32_t stack = mpr_code_of_site(code, &r->reader, at);
    return stack ? stack : mpr_code_of_node(code, &r->reader, node);
}

/* Size classes of one place are one sample. */
static struct mpr_profile_sample *sample_of(struct reading *r, const struct mpr_cell *cell)
{
    const struct mpr_all of = mpr_all_of(cell->key);
    const uint64_t key[2] = { (uint64_t)of.thread << 32 | of.node,
                              (uint64_t)cell->site << 8 | cell->heap };
    const uint64_t hash = mpr_hash(mpr_hash(key[0]) + key[1]);
    uint32_t number;
    for (struct mpr_probe p = mpr_index_probe(&r->number, hash); (number = mpr_probe_next(&p));)
        if (!memcmp(&r->key[2 * (size_t)(number - 1)], key, sizeof key))
            return &r->out->sample[number - 1];
    memcpy(&r->key[2 * r->out->samples], key, sizeof key);
    struct mpr_profile_sample *s = &r->out->sample[r->out->samples++];
    mpr_index_add(&r->number, hash, (uint32_t)r->out->samples);
    *s = (struct mpr_profile_sample){ .heap = cell->heap,
                                      .range = range_name(r, of.node),
                                      .thread = thread_name(r, of.thread),
                                      .stack = stack_of(r, of.node, cell->site) };
    return s;
}

/* Of what is held: the heaps of which the log may have samples only. */
struct weighed {
    struct mpr_held *host, *python;
};

static struct mpr_held held_of(const struct mpr_books *books, uint32_t number,
                               const struct weighed *weighed)
{
    const struct mpr_cell *cell = &books->cell[number];
    if (cell->heap == MPF_HEAP_HOST) return weighed->host[number];
    if (cell->heap == MPF_HEAP_PYTHON) return weighed->python[number];
    return (struct mpr_held){ .then = mpr_books_bytes_at_peak(books, cell),
                              .then_blocks = mpr_books_blocks_at_peak(books, cell) };
}

/* Estimates of a log that says anything may be larger than any number. */
static uint64_t rounded(double value)
{
    return value < (double)INT64_MAX ? (uint64_t)(value + 0.5) : INT64_MAX;
}

static void add_cell(struct reading *r, uint32_t number, const struct weighed *weighed)
{
    const struct mpr_books *books = &r->reader.replay.books;
    const struct mpr_cell *cell = &books->cell[number];
    const struct mpr_held held = held_of(books, number, weighed);
    const struct made made = number < r->cells ? r->made[number] : (struct made){ 0 };
    const uint64_t value[MPR_PROFILE_VALUES] = { [MPR_PROFILE_MADE_BLOCKS] = rounded(made.blocks),
                                                 [MPR_PROFILE_MADE_BYTES] = rounded(made.bytes),
                                                 [MPR_PROFILE_LIVE_BLOCKS] = held.then_blocks,
                                                 [MPR_PROFILE_LIVE_BYTES] = held.then };
    if (r->options->heap && cell->heap != r->options->heap) return;
    uint64_t any = 0;
    for (unsigned i = 0; i < MPR_PROFILE_VALUES; i++) any |= value[i];
    if (!any) return;
    struct mpr_profile_sample *s = sample_of(r, cell);
    for (unsigned i = 0; i < MPR_PROFILE_VALUES; i++) s->value[i] += value[i];
}

static void fill_samples(struct reading *r)
{
    const struct mpr_books *books = &r->reader.replay.books;
    const struct weighed weighed = { mpr_held_heap(&r->reader.replay, MPF_HEAP_HOST),
                                     mpr_held_heap(&r->reader.replay, MPF_HEAP_PYTHON) };
    r->out->sample = mpr_arena_alloc(&r->out->arena, books->cells * sizeof *r->out->sample);
    r->key = mpr_alloc(2 * (size_t)books->cells, sizeof *r->key);
    for (uint32_t i = 0; i < books->cells; i++) add_cell(r, i, &weighed);
    free(weighed.host);
    free(weighed.python);
}

/* ---- object files */

static void fill_modules(struct mpr_profile *out, const struct mpr_sites *sites)
{
    out->module = mpr_arena_alloc(&out->arena, sites->modules * sizeof *out->module);
    for (; out->modules < sites->modules; out->modules++) {
        const struct mpr_module *m = &sites->module[out->modules];
        char *build_id = mpr_arena_alloc(&out->arena, 2 * m->build_id_bytes + 1);
        out->module[out->modules] =
            (struct mpr_profile_module){ .path = mpr_arena_text(&out->arena, m->path),
                                         .build_id =
                                             mpr_hex(build_id, m->build_id, m->build_id_bytes),
                                         .from = m->from,
                                         .to = m->to };
    }
}

/* ---- reading */

static void fill(struct reading *r, const char *path)
{
    mpr_ledger_end(&r->ledger);
    mpr_reader_summary(&r->reader, path, &r->out->arena, &r->out->summary);
    fill_samples(r);
    fill_modules(r->out, &r->reader.replay.sites);
}

static void end(struct reading *r)
{
    mpr_ledger_free(&r->ledger);
    mpr_index_free(&r->number);
    free(r->made);
    free(r->key);
    free(r->range);
    free(r->thread);
}

int mpr_profile_read(struct mpr_profile *profile, const char *path,
                     const struct mpr_profile_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct reading r = { .options = options,
                         .out = profile,
                         .ledger = { .tell = count_made, .arg = &r } };
    *profile = (struct mpr_profile){ .samples = 0 };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_ALL, options->at, error) != 0) return -1;
    r.reader.replay.ledger = &r.ledger;
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        fill(&r, path);
        mpr_reader_close(&r.reader);
    } else mpr_profile_free(profile);
    end(&r);
    return status;
}

void mpr_profile_free(struct mpr_profile *profile)
{
    mpr_code_free(&profile->code);
    mpr_arena_free(&profile->arena);
}
