#include "composition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "gpu_book.h"
#include "labels.h"
#include "mpf/sample.h"
#include "pool_owners.h"
#include "units.h"
#include "walk.h"

/* ---- PyTorch's segments */

static void sum_segments(struct mpr_device_state *out, const struct mpr_replay *r,
                         const struct mpr_picture *p)
{
    struct mpr_walk walk = { .sites = &r->sites, .picture = p };
    struct mpr_walked s;
    while (mpr_walk_next(&walk, &s)) {
        const uint64_t free = mpr_less(s.bytes, s.live);
        out->torch_segments += s.bytes;
        if (mpr_graph_holds(&r->gpu, s.piece->capture, p->time)) {
            out->pool_free += free;
            continue;
        }
        out->releasable += s.idle;
        out->split_free += mpr_less(free, s.idle);
        if (s.split_hole > out->largest_hole) out->largest_hole = s.split_hole;
    }
    for (size_t i = 0; i < p->torches; i++) {
        out->torch_live += mpr_gpu_backed(&p->torch[i]);
        out->torch_asleep += p->torch[i].asleep;
    }
    out->torch_blocks = p->torches;
}

/* ---- who else */

/* What each owner has of the driver's blocks beside PyTorch's segments. */
struct owned {
    uint64_t bytes[MPR_OWNERS], largest[MPR_OWNERS];
    uint32_t blocks[MPR_OWNERS];
};

static struct owned sum_owned(const uint8_t *owner, const struct mpr_replay *r,
                              const struct mpr_picture *p)
{
    struct owned sum = { 0 };
    for (size_t i = 0; i < p->drivers; i++) {
        const struct mpr_gpu_block *b = &p->driver[i];
        if (mpf_heap_code(b->heap) != MPF_HEAP_DEVICE || mpr_walk_is_segment(p, b)) continue;
        const uint8_t o = owner[b->library <= r->sites.libraries ? b->library : 0];
        sum.bytes[o] += b->size;
        sum.blocks[o]++;
        if (b->size > sum.largest[o]) sum.largest[o] = b->size;
    }
    return sum;
}

static int by_comm_bytes(const void *left, const void *right)
{
    const struct mpr_comm_row *a = left, *b = right;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void fill_comms(struct mpr_device_state *out, struct mpr_arena *arena,
                       const struct mpr_replay *r, const struct mpr_picture *p)
{
    const struct mpr_comms *c = &r->gpu.comms;
    struct mpr_comm_row *row = mpr_arena_alloc(arena, ((size_t)c->count + 1) * sizeof *row);
    if (!c->count) return;
    for (uint32_t i = 0; i < c->count; i++)
        row[i] = (struct mpr_comm_row){ .name = mpr_arena_format(arena, "%#" PRIx64, c->comm[i].id),
                                        .id = c->comm[i].id,
                                        .ranks = c->comm[i].ranks,
                                        .rank = c->comm[i].rank,
                                        .time = c->comm[i].time,
                                        .first_use =
                                            c->comm[i].first_use
                                                ? mpr_label_name(arena, r, c->comm[i].first_use, 0)
                                                : "" };
    for (size_t i = 0; i < p->drivers; i++) {
        if (!p->driver[i].comm || mpr_walk_is_segment(p, &p->driver[i])) continue;
        row[p->driver[i].comm - 1].bytes += p->driver[i].size;
        row[p->driver[i].comm - 1].blocks++;
    }
    qsort(row, c->count, sizeof *row, by_comm_bytes);
    out->comm = row;
    out->comms = c->count;
}

/* ---- the account */

struct account {
    struct mpr_device_part *part;
    size_t count;
    int64_t sum;
};

/* Returns the part, whose name the caller may change. */
static struct mpr_device_part *add(struct account *a, enum mpr_use use, int64_t bytes,
                                   const char *note)
{
    static const struct {
        const char *key, *title;
    } word[] = {
#define X(name, key, title) { key, title },
        MPR_USES_OF_DEVICE(X)
#undef X
    };
    a->part[a->count] =
        (struct mpr_device_part){ use, word[use].key, word[use].title, note, bytes };
    a->sum = mpr_plus(a->sum, bytes);
    return &a->part[a->count++];
}

int64_t mpr_device_bytes(const struct mpr_device_state *s, enum mpr_use use)
{
    for (size_t i = 0; i < s->parts; i++)
        if (s->part[i].use == use) return s->part[i].bytes;
    return 0;
}

static uint32_t live_graphs(const struct mpr_gpu *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->graphs; i++) n += !g->graph[i].gone;
    return n;
}

static const char *hole_note(struct mpr_arena *arena, const struct mpr_device_state *s)
{
    struct mpr_number size;
    return s->split_free
               ? mpr_arena_format(arena, "largest hole %s", mpr_units_size(&size, s->largest_hole))
               : "";
}

static void add_torch(struct account *a, struct mpr_arena *arena, const struct mpr_device_state *s,
                      const struct mpr_replay *r)
{
    struct mpr_device_part *live = add(a, MPR_USE_TORCH_LIVE, mpr_amount(s->torch_live), "");
    if (s->torch_asleep) live->name = "torch live, backed";
    add(a, MPR_USE_TORCH_SPLIT_FREE, mpr_amount(s->split_free), hole_note(arena, s));
    add(a, MPR_USE_TORCH_RELEASABLE, mpr_amount(s->releasable), "");
    add(a, MPR_USE_TORCH_GRAPH_POOLS, mpr_amount(s->pool_free),
        s->pool_free
            ? mpr_arena_format(arena, "graphs alive at the end: %" PRIu32, live_graphs(&r->gpu))
            : "");
}

/* XLA and others take much at once, and give their own blocks out of it. */
static const char *pool_note(struct mpr_arena *arena, uint32_t blocks, uint64_t largest)
{
    struct mpr_number size;
    return blocks == 1 ? "one block"
                       : mpr_arena_format(arena, "%" PRIu32 " blocks, the largest %s", blocks,
                                          mpr_units_size(&size, largest));
}

static void add_owners(struct account *a, struct mpr_arena *arena, const struct owned *o,
                       uint32_t comms)
{
    add(a, MPR_USE_NCCL, mpr_amount(o->bytes[MPR_OWNER_NCCL]),
        comms ? mpr_arena_format(arena, "%" PRIu32 " communicator%s", comms, comms == 1 ? "" : "s")
              : "");
    for (int i = MPR_OWNER_NCCL + 1; i < MPR_OWNER_OTHER; i++)
        if (o->blocks[i])
            add(a, (enum mpr_use)(MPR_USE_NCCL + i), mpr_amount(o->bytes[i]),
                pool_note(arena, o->blocks[i], o->largest[i]));
    add(a, MPR_USE_OTHER_LIBRARIES, mpr_amount(o->bytes[MPR_OWNER_OTHER]), "");
}

enum { NAMED_USERS = 3 };

static bool is_among(const char *const *name, size_t names, const char *wanted)
{
    for (size_t i = 0; i < names; i++)
        if (strcmp(name[i], wanted) == 0) return true;
    return false;
}

/* Who used the device's stream-ordered pools then: the first few, each once. */
static const char *pools_note(struct mpr_arena *arena, const struct mpr_replay *r,
                              const uint8_t *owner, const struct mpr_picture *p)
{
    const char *name[MPR_POOL_USERS], *note = "";
    size_t names = 0;
    for (unsigned i = 0; i < p->pool_users; i++) {
        const char *who = mpr_owner_name[owner[p->pool_user[i]]];
        if (!who) who = mpr_sites_library_name(&r->sites, p->pool_user[i]);
        if (is_among(name, names, who)) continue;
        if (names == NAMED_USERS) return mpr_arena_format(arena, "%s and others", note);
        note = mpr_arena_format(arena, "%s%s%s", note, names ? ", " : "of ", who);
        name[names++] = who;
    }
    return note;
}

/* Uses and parts of a picture have the same order. */
static void add_parts(struct account *a, const struct mpr_picture *p)
{
    static_assert(MPR_USE_POOL_OVERHEAD - MPR_USE_GRAPHS == MPR_PART_POOLS - MPR_PART_GRAPHS &&
                      MPR_USE_LOCAL_MEMORY - MPR_USE_GRAPHS == MPR_PART_LOCAL - MPR_PART_GRAPHS,
                  "each part has its use");
    for (int i = 0; i < MPR_PARTS; i++)
        add(a, (enum mpr_use)(MPR_USE_GRAPHS + i), p->part[i],
            p->parts_cut && p->part[i] > 0 ? "at most: other processes grew meanwhile" : "");
}

/* What the process has no part in.  Two readings at two times: the cache of files may be more than
 * all of it. */
static void add_others(struct account *a, struct mpr_arena *arena, const struct mpr_picture *p)
{
    struct mpr_number size;
    uint64_t others = p->others, cache = p->file_cache == MPF_UNKNOWN ? 0 : p->file_cache;
    if (others != MPF_UNKNOWN) {
        if (cache > others) cache = others;
        others -= cache;
    }
    if (cache) add(a, MPR_USE_FILE_CACHE, mpr_amount(cache), "");
    if (others == MPF_UNKNOWN) return;
    struct mpr_device_part *part = add(a, MPR_USE_OTHER_PROCESSES, mpr_amount(others), "");
    if (!p->managed) return;
    part->name = "other processes, managed";
    part->note = mpr_arena_format(arena, "managed memory is at most %s of it",
                                  mpr_units_size(&size, p->managed));
}

void mpr_composition_account(struct mpr_device_state *out, struct mpr_arena *arena,
                             const struct mpr_reader *reader, const struct mpr_picture *p)
{
    const struct mpr_replay *r = &reader->replay;
    const uint8_t *owner = mpr_owners_of(arena, &r->sites);
    struct account a = { .part = mpr_arena_alloc(arena, MPR_USES * sizeof *a.part) };
    *out = (struct mpr_device_state){ .valid = p->valid,
                                      .time = p->time,
                                      .used = p->used,
                                      .total = p->total,
                                      .tracked = p->tracked };
    if (!out->valid) return;
    sum_segments(out, r, p);
    if (out->torch_segments || out->torch_blocks) add_torch(&a, arena, out, r);
    const struct owned owned = sum_owned(owner, r, p);
    add_owners(&a, arena, &owned, r->gpu.comms.count);
    out->xla_arena = owned.blocks[MPR_OWNER_XLA] == 1;
    add(&a, MPR_USE_POOLS, mpr_amount(p->pools), pools_note(arena, r, owner, p));
    add(&a, MPR_USE_GRAPH_MEMORY, mpr_amount(p->graph_memory), "");
    if (p->used != MPF_UNKNOWN) {
        add_parts(&a, p);
        add_others(&a, arena, p);
        add(&a, MPR_USE_UNKNOWN, mpr_minus(mpr_amount(p->used), a.sum), "");
    }
    out->part = a.part;
    out->parts = a.count;
}

static uint64_t asleep_of(const struct mpr_gpu_block *b) { return b->asleep; }

void mpr_composition(struct mpr_device_state *out, struct mpr_arena *arena,
                     const struct mpr_reader *reader, const struct mpr_picture *p)
{
    const struct mpr_replay *r = &reader->replay;
    const bool of_driver =
        r->options.by == MPR_GROUP_LIBRARY || r->options.by == MPR_GROUP_COMM; /* PyTorch's blocks
                                                                                  have neither */
    mpr_composition_account(out, arena, reader, p);
    if (!out->valid) return;
    fill_comms(out, arena, r, p);
    if (of_driver) return;
    out->row = mpr_composition_torch(arena, reader, p, mpr_gpu_backed, &out->rows);
    out->asleep = mpr_composition_torch(arena, reader, p, asleep_of, &out->asleeps);
}

/* ---- rows */

static int by_key(const void *left, const void *right)
{
    const struct mpr_cell *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_bytes(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

const struct mpr_row *mpr_composition_rows(struct mpr_arena *arena, const struct mpr_reader *reader,
                                           const struct mpr_gpu_block *block, size_t blocks,
                                           size_t *rows)
{
    const struct mpr_replay *r = &reader->replay;
    struct mpr_cell *cell = mpr_alloc(blocks, sizeof *cell);
    struct mpr_row *row = mpr_arena_alloc(arena, blocks * sizeof *row);
    *rows = 0;
    for (size_t i = 0; i < blocks; i++)
        cell[i] = (struct mpr_cell){ .key = mpr_gpu_key(r, &block[i]),
                                     .heap = block[i].heap,
                                     .bytes = block[i].size,
                                     .inherited = block[i].inherited ? block[i].size : 0 };
    qsort(cell, blocks, sizeof *cell, by_key);
    for (size_t i = 0; i < blocks; i++) {
        if (!i || cell[i].key != cell[i - 1].key) {
            row[*rows].path = mpr_label_path(arena, reader, &cell[i]);
            (*rows)++;
        }
        struct mpr_row *last = &row[*rows - 1];
        last->bytes += cell[i].bytes;
        last->inherited += cell[i].inherited;
        last->blocks++;
    }
    free(cell);
    qsort(row, *rows, sizeof *row, by_bytes);
    return row;
}

const struct mpr_row *mpr_composition_torch(struct mpr_arena *arena,
                                            const struct mpr_reader *reader,
                                            const struct mpr_picture *p,
                                            uint64_t (*bytes)(const struct mpr_gpu_block *),
                                            size_t *rows)
{
    struct mpr_gpu_block *part = mpr_alloc(p->torches, sizeof *part);
    size_t parts = 0;
    for (size_t i = 0; i < p->torches; i++) {
        if (!bytes(&p->torch[i])) continue;
        part[parts] = p->torch[i];
        part[parts++].size = bytes(&p->torch[i]);
    }
    const struct mpr_row *row = mpr_composition_rows(arena, reader, part, parts, rows);
    free(part);
    return row;
}
