#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "cell_totals.h"
#include "labels.h"
#include "mpf/event.h"
#include "reader.h"
#include "units.h"

/* A cell's blocks that were allocated in the span. */
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
    struct mpr_index number; /* number of a sample + 1, by hash of its key */
    uint64_t *key;           /* two for each sample: node and thread, heap and site */
    const char **range, **thread;
    uint32_t ranges, threads;
};

/* Counts an allocated block; a sampled block counts for several. */
static void count_made(void *arg, const struct mpr_ledger_entry *e)
{
    struct reading *r = arg;
    const struct mpr_replay *replay = &r->reader.replay;
    const uint8_t heap = (uint8_t)e->key;
    struct mpr_weight others = { 0 };
    if (e->from < r->options->from_ns || e->from > r->options->until_ns) return;
    if (heap == MPF_HEAP_PYTHON && replay->options.python_sample_mean > 0)
        others = mpr_estimates_weight(&replay->estimates.python, e->size);
    if (heap == MPF_HEAP_HOST && mpr_replay_samples_host(replay))
        others = mpr_estimates_weight(&replay->estimates.host, e->size);
    MPR_REACH(r->made, e->cell, r->cells);
    r->made[e->cell].bytes += (double)e->size + others.bytes;
    r->made[e->cell].blocks += 1 + others.blocks;
}

/* ---- samples */

/* Returns the sample of the cell.  Cells that differ only in their size class share one. */
static struct mpr_profile_sample *sample_of(struct reading *r, const struct mpr_cell *cell)
{
    const struct mpr_composite_key of = mpr_composite_key_unpack(cell->key);
    const uint64_t key[2] = { (uint64_t)of.thread << 32 | of.node,
                              (uint64_t)cell->site << 8 | cell->heap };
    const uint64_t hash = mpr_hash(mpr_hash(key[0]) + key[1]);
    MPR_INDEX_EACH(number, &r->number, hash)
        if (!memcmp(&r->key[2 * (size_t)(number - 1)], key, sizeof key))
            return &r->out->sample[number - 1];
    memcpy(&r->key[2 * r->out->samples], key, sizeof key);
    struct mpr_profile_sample *s = &r->out->sample[r->out->samples++];
    mpr_index_add(&r->number, hash, (uint32_t)r->out->samples);
    MPR_REACH(r->range, of.node, r->ranges);
    if (!r->range[of.node]) {
        const struct mpr_path path = mpr_label_node(&r->out->code.arena, &r->reader, of.node);
        r->range[of.node] = mpr_frame_path_text(&r->out->arena, path);
    }
    MPR_REACH(r->thread, of.thread, r->threads);
    if (!r->thread[of.thread])
        r->thread[of.thread] = mpr_label_owner(&r->out->arena, &r->reader.replay, of.thread);
    *s = (struct mpr_profile_sample){ .heap = cell->heap,
                                      .range = r->range[of.node],
                                      .thread = r->thread[of.thread] };
    s->stack = mpr_code_of_site(&r->out->code, &r->reader,
                                mpr_sites_of(&r->reader.replay.sites, cell->site));
    if (!s->stack) s->stack = mpr_code_of_node(&r->out->code, &r->reader, of.node);
    return s;
}

/* A hostile log may have estimates that no number can hold. */
static uint64_t rounded(double value)
{
    return value < (double)INT64_MAX ? (uint64_t)(value + 0.5) : INT64_MAX;
}

static void fill_samples(struct reading *r)
{
    const struct mpr_accounts *accounts = &r->reader.replay.accounts;
    struct mpr_cell_totals *host = mpr_cell_totals_heap(&r->reader.replay, MPF_HEAP_HOST),
                           *python = mpr_cell_totals_heap(&r->reader.replay, MPF_HEAP_PYTHON);
    r->out->sample = mpr_arena_alloc(&r->out->arena, accounts->cells * sizeof *r->out->sample);
    r->key = mpr_alloc(2 * (size_t)accounts->cells, sizeof *r->key);
    for (uint32_t i = 0; i < accounts->cells; i++) {
        const struct mpr_cell *cell = &accounts->cell[i];
        const struct mpr_cell_totals *totals = cell->heap == MPF_HEAP_HOST     ? &host[i]
                                               : cell->heap == MPF_HEAP_PYTHON ? &python[i]
                                                                               : NULL;
        const struct made made = i < r->cells ? r->made[i] : (struct made){ 0 };
        const uint64_t value[MPR_PROFILE_VALUES] = {
            [MPR_PROFILE_MADE_BLOCKS] = rounded(made.blocks),
            [MPR_PROFILE_MADE_BYTES] = rounded(made.bytes),
            [MPR_PROFILE_LIVE_BLOCKS] =
                totals ? totals->blocks : mpr_accounts_at_peak(accounts, cell).blocks,
            [MPR_PROFILE_LIVE_BYTES] =
                totals ? totals->bytes : mpr_accounts_at_peak(accounts, cell).bytes,
        };
        uint64_t any = 0;
        for (unsigned k = 0; k < MPR_PROFILE_VALUES; k++) any |= value[k];
        if (!any || (r->options->heap && cell->heap != r->options->heap)) continue;
        struct mpr_profile_sample *s = sample_of(r, cell);
        for (unsigned k = 0; k < MPR_PROFILE_VALUES; k++) s->value[k] += value[k];
    }
    free(host);
    free(python);
}

static void fill_modules(struct mpr_profile *out, const struct mpr_sites *sites)
{
    out->module = mpr_arena_alloc(&out->arena, sites->modules * sizeof *out->module);
    for (; out->modules < sites->modules; out->modules++) {
        const struct mpr_module *m = &sites->module[out->modules];
        char *build_id = mpr_arena_alloc(&out->arena, 2 * m->build_id_bytes + 1);
        out->module[out->modules] = (struct mpr_profile_module){
            .path = mpr_arena_text(&out->arena, m->path),
            .build_id = mpr_units_hex(build_id, m->build_id, m->build_id_bytes),
            .from = m->from,
            .to = m->to,
        };
    }
}

int mpr_profile_read(struct mpr_profile *profile, const char *path,
                     const struct mpr_profile_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct reading r = { .options = options,
                         .out = profile,
                         .ledger = { .report = count_made, .arg = &r } };
    *profile = (struct mpr_profile){ .samples = 0 };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_ALL, options->at, error) != 0) return -1;
    r.reader.replay.ledger = &r.ledger;
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        mpr_ledger_end(&r.ledger);
        mpr_reader_summary(&r.reader, path, &profile->arena, &profile->summary);
        fill_samples(&r);
        fill_modules(profile, &r.reader.replay.sites);
        mpr_reader_close(&r.reader);
    } else mpr_profile_free(profile);
    mpr_live_index_free(&r.ledger.live);
    mpr_index_free(&r.number);
    free(r.made);
    free(r.key);
    free(r.range);
    free(r.thread);
    return status;
}

void mpr_profile_free(struct mpr_profile *profile)
{
    mpr_code_free(&profile->code);
    mpr_arena_free(&profile->arena);
}
