#include "device.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "basename.h"
#include "gpu.h"
#include "labels.h"
#include "mpf/sample.h"
#include "reader.h"
#include "segments.h"
#include "units.h"

int64_t mpr_device_bytes(const struct mpr_device_state *s, enum mpr_use use)
{
    for (size_t i = 0; i < s->parts; i++)
        if (s->part[i].use == use) return s->part[i].bytes;
    return 0;
}

struct mpr_device_part mpr_device_part_of(enum mpr_use use, int64_t bytes)
{
    static const struct {
        const char *key, *name;
    } text[] = {
#define X(name, key, title) { key, title },
        MPR_USES_OF_DEVICE(X)
#undef X
    };
    return (struct mpr_device_part){ use, text[use].key, text[use].name, "", bytes };
}

/* Returns the new part, whose name and note the caller may change. */
static struct mpr_device_part *add_part(struct mpr_device_state *s, enum mpr_use use, int64_t bytes,
                                        const char *note)
{
    struct mpr_device_part *part = &s->part[s->parts++];
    *part = mpr_device_part_of(use, bytes);
    part->note = note;
    return part;
}

/* A segment's bytes are live or free. Free bytes are in a graph's private pool, or PyTorch can
 * release them, or they are split: a live block keeps their segment. */
static void add_torch(struct mpr_device_state *out, struct mpr_arena *arena,
                      const struct mpr_replay *r, const struct mpr_device_snapshot *p)
{
    struct mpr_segment_walk walk = { .sites = &r->sites, .snapshot = p };
    struct mpr_walked_segment s;
    struct mpr_number size;
    const char *hole = "", *graphs = "";
    uint32_t alive = 0;
    while (mpr_segment_walk_next(&walk, &s)) {
        const uint64_t free = mpr_saturating_sub(s.bytes, s.live);
        out->torch_segments += s.bytes;
        if (mpr_graph_holds(&r->gpu, s.piece->capture, p->time)) {
            out->pool_free += free;
            continue;
        }
        out->releasable += s.idle;
        out->split_free += mpr_saturating_sub(free, s.idle);
        if (s.split_hole > out->largest_hole) out->largest_hole = s.split_hole;
    }
    for (size_t i = 0; i < p->torches; i++) {
        out->torch_live += mpr_gpu_backed(&p->torch[i]);
        out->torch_asleep += p->torch[i].asleep;
    }
    if (!out->torch_segments && !p->torches) return;
    if (out->split_free)
        hole = mpr_arena_format(arena, "largest hole %s", mpr_units_size(&size, out->largest_hole));
    for (uint32_t i = 0; i < r->gpu.graphs; i++) alive += !r->gpu.graph[i].gone;
    if (out->pool_free)
        graphs = mpr_arena_format(arena, "graphs alive at the end: %" PRIu32, alive);
    struct mpr_device_part *live =
        add_part(out, MPR_USE_TORCH_LIVE, mpr_saturating_signed(out->torch_live), "");
    if (out->torch_asleep) live->name = "torch live, backed";
    add_part(out, MPR_USE_TORCH_SPLIT_FREE, mpr_saturating_signed(out->split_free), hole);
    add_part(out, MPR_USE_TORCH_RELEASABLE, mpr_saturating_signed(out->releasable), "");
    add_part(out, MPR_USE_TORCH_GRAPH_POOLS, mpr_saturating_signed(out->pool_free), graphs);
}

/* ---- blocks and pools of other libraries */

/* In the order of the uses from MPR_USE_NCCL on. */
enum { OWNER_NCCL, OWNER_XLA, OWNER_CUPY, OWNER_OTHER, OWNERS };

/* Returns the owner of each library by its number; number 0 is an unknown library. A rule
 * compares the beginning of the object file's name, or its folder: CuPy's object file that calls
 * the driver is only named "runtime". */
static const uint8_t *owners_of(struct mpr_arena *arena, const struct mpr_sites *s)
{
    static const struct {
        uint8_t owner;
        const char *name, *folder;
    } rule[] = {
        { OWNER_NCCL, "libnccl", "" },
        { OWNER_XLA, "xla_cuda_plugin", "" },
        { OWNER_XLA, "pjrt_c_api_gpu_plugin", "" },
        { OWNER_CUPY, "", "-packages/cupy_backends/" },
        { OWNER_CUPY, "", "-packages/cupy/" },
    };
    uint8_t *owner = mpr_arena_alloc(arena, (size_t)s->libraries + 1);
    memset(owner, OWNER_OTHER, (size_t)s->libraries + 1);
    for (uint32_t i = 0; i < s->modules; i++) {
        const char *path = s->module[i].path, *name = mpr_basename(path);
        for (size_t k = 0; k < sizeof rule / sizeof *rule; k++) {
            if (strncmp(name, rule[k].name, strlen(rule[k].name)) != 0 ||
                !strstr(path, rule[k].folder))
                continue;
            owner[s->module[i].library] = rule[k].owner;
            break;
        }
    }
    return owner;
}

/* Adds the driver's blocks that are not PyTorch's segments, by owner. XLA and CuPy allocate few
 * large blocks and divide them among their users. */
static void add_owners(struct mpr_device_state *s, struct mpr_arena *arena, const uint8_t *owner,
                       const struct mpr_replay *r, const struct mpr_device_snapshot *p)
{
    struct {
        uint64_t bytes, largest;
        uint32_t blocks;
    } sum[OWNERS] = { 0 };
    struct mpr_number size;
    for (size_t i = 0; i < p->drivers; i++) {
        const struct mpr_gpu_block *b = &p->driver[i];
        if (mpf_heap_code(b->heap) != MPF_HEAP_DEVICE || mpr_is_torch_segment(p, b)) continue;
        const uint8_t o = owner[b->library <= r->sites.libraries ? b->library : 0];
        sum[o].bytes += b->size;
        sum[o].blocks++;
        if (b->size > sum[o].largest) sum[o].largest = b->size;
    }
    const uint32_t comms = r->gpu.comms.count;
    add_part(
        s, MPR_USE_NCCL, mpr_saturating_signed(sum[OWNER_NCCL].bytes),
        comms ? mpr_arena_format(arena, "%" PRIu32 " communicator%s", comms, comms == 1 ? "" : "s")
              : "");
    for (int i = OWNER_NCCL + 1; i < OWNER_OTHER; i++) {
        if (!sum[i].blocks) continue;
        add_part(s, (enum mpr_use)(MPR_USE_NCCL + i), mpr_saturating_signed(sum[i].bytes),
                 sum[i].blocks == 1
                     ? "one block"
                     : mpr_arena_format(arena, "%" PRIu32 " blocks, the largest %s", sum[i].blocks,
                                        mpr_units_size(&size, sum[i].largest)));
    }
    add_part(s, MPR_USE_OTHER_LIBRARIES, mpr_saturating_signed(sum[OWNER_OTHER].bytes), "");
    s->xla_arena = sum[OWNER_XLA].blocks == 1;
}

/* Returns the names of the first few users of the device's stream-ordered pools. */
static const char *pool_users(struct mpr_arena *arena, const struct mpr_replay *r,
                              const uint8_t *owner, const struct mpr_device_snapshot *p)
{
    enum { NAMED = 3 };
    static const char *const owner_name[OWNERS] = { "NCCL", "XLA", "CuPy" };
    const char *named[NAMED], *note = "";
    size_t count = 0;
    for (unsigned i = 0; i < p->pool_users; i++) {
        const char *user = owner_name[owner[p->pool_user[i]]];
        size_t known = 0;
        if (!user) user = mpr_sites_library_name(&r->sites, p->pool_user[i]);
        while (known < count && strcmp(named[known], user) != 0) known++;
        if (known < count) continue;
        if (count == NAMED) return mpr_arena_format(arena, "%s and others", note);
        note = mpr_arena_format(arena, "%s%s%s", note, count ? ", " : "of ", user);
        named[count++] = user;
    }
    return note;
}

/* ---- an account */

/* Adds the memory of other processes. The file cache was read at another time, so it is limited
 * to their total. */
static void add_others(struct mpr_device_state *s, struct mpr_arena *arena,
                       const struct mpr_device_snapshot *p)
{
    struct mpr_number size;
    uint64_t others = p->others, cache = p->file_cache == MPF_UNKNOWN ? 0 : p->file_cache;
    if (others != MPF_UNKNOWN) {
        if (cache > others) cache = others;
        others -= cache;
    }
    if (cache) add_part(s, MPR_USE_FILE_CACHE, mpr_saturating_signed(cache), "");
    if (others == MPF_UNKNOWN) return;
    struct mpr_device_part *part =
        add_part(s, MPR_USE_OTHER_PROCESSES, mpr_saturating_signed(others), "");
    if (!p->managed) return;
    part->name = "other processes, managed";
    part->note = mpr_arena_format(arena, "managed memory is at most %s of it",
                                  mpr_units_size(&size, p->managed));
}

void mpr_device_fill_account(struct mpr_device_state *out, struct mpr_arena *arena,
                             const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    const struct mpr_replay *r = &reader->replay;
    *out = (struct mpr_device_state){ .valid = p->valid,
                                      .time = p->time,
                                      .used = p->used,
                                      .total = p->total,
                                      .tracked = p->tracked };
    if (!out->valid) return;
    const uint8_t *owner = owners_of(arena, &r->sites);
    out->part = mpr_arena_alloc(arena, MPR_USES * sizeof *out->part);
    add_torch(out, arena, r, p);
    add_owners(out, arena, owner, r, p);
    add_part(out, MPR_USE_POOLS, mpr_saturating_signed(p->pools), pool_users(arena, r, owner, p));
    add_part(out, MPR_USE_GRAPH_MEMORY, mpr_saturating_signed(p->graph_memory), "");
    if (p->used == MPF_UNKNOWN) return;
    /* memory that calls used without an allocation; uses and parts have the same order */
    static_assert(MPR_USE_POOL_OVERHEAD - MPR_USE_GRAPHS == MPR_PART_POOLS - MPR_PART_GRAPHS &&
                      MPR_USE_LOCAL_MEMORY - MPR_USE_GRAPHS == MPR_PART_LOCAL - MPR_PART_GRAPHS,
                  "each part has its use");
    for (int i = 0; i < MPR_PARTS; i++)
        add_part(out, (enum mpr_use)(MPR_USE_GRAPHS + i), p->part[i],
                 p->parts_cut && p->part[i] > 0 ? "at most, because other processes grew meanwhile"
                                                : "");
    int64_t sum = 0;
    add_others(out, arena, p);
    for (size_t i = 0; i < out->parts; i++) sum = mpr_signed_add(sum, out->part[i].bytes);
    add_part(out, MPR_USE_UNKNOWN, mpr_signed_sub(mpr_saturating_signed(p->used), sum), "");
}

/* ---- owners of blocks */

MPR_COMPARE(by_key, struct mpr_cell, mpr_compare(a->key, b->key))

const struct mpr_row *mpr_device_block_rows(struct mpr_arena *arena,
                                            const struct mpr_reader *reader,
                                            const struct mpr_gpu_block *block, size_t blocks,
                                            uint64_t (*bytes)(const struct mpr_gpu_block *),
                                            size_t *rows)
{
    struct mpr_cell *cell = mpr_alloc(blocks, sizeof *cell);
    size_t cells = 0;
    for (size_t i = 0; i < blocks; i++) {
        const struct mpr_gpu_block *b = &block[i];
        const uint64_t counted = bytes(b);
        if (counted)
            cell[cells++] = (struct mpr_cell){ .key = mpr_gpu_key(&reader->replay, b),
                                               .heap = b->heap,
                                               .bytes = counted,
                                               .inherited = b->inherited ? counted : 0 };
    }
    struct mpr_row *row = mpr_arena_alloc(arena, cells * sizeof *row);
    qsort(cell, cells, sizeof *cell, by_key);
    *rows = 0;
    for (size_t i = 0; i < cells; i++) {
        if (!i || cell[i].key != cell[i - 1].key)
            row[(*rows)++].path = mpr_label_path(arena, reader, &cell[i]);
        struct mpr_row *newest = &row[*rows - 1];
        newest->bytes += cell[i].bytes;
        newest->inherited += cell[i].inherited;
        newest->blocks++;
    }
    free(cell);
    qsort(row, *rows, sizeof *row, mpr_row_by_bytes);
    return row;
}

MPR_COMPARE(by_comm_bytes, struct mpr_comm_row, mpr_compare(b->bytes, a->bytes))

static uint64_t asleep_of(const struct mpr_gpu_block *b) { return b->asleep; }

void mpr_device_fill_state(struct mpr_device_state *out, struct mpr_arena *arena,
                           const struct mpr_reader *reader, const struct mpr_device_snapshot *p)
{
    const struct mpr_replay *r = &reader->replay;
    const enum mpr_group by = r->options.by;
    const struct mpr_comms *c = &r->gpu.comms;
    mpr_device_fill_account(out, arena, reader, p);
    if (!out->valid) return;
    struct mpr_comm_row *row = mpr_arena_alloc(arena, c->count * sizeof *row);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct mpr_comm *comm = &c->comm[i];
        row[i] = (struct mpr_comm_row){
            .name = mpr_label_comm(arena, comm),
            .ranks = comm->ranks,
            .rank = comm->rank,
            .time = comm->time,
            .first_use = comm->first_use ? mpr_label_name(arena, r, comm->first_use, 0) : "",
            .id_by_order = comm->split && comm->id,
        };
    }
    for (size_t i = 0; c->count && i < p->drivers; i++) {
        const struct mpr_gpu_block *b = &p->driver[i];
        if (!b->comm || mpr_is_torch_segment(p, b)) continue;
        row[b->comm - 1].bytes += b->size;
        row[b->comm - 1].blocks++;
    }
    qsort(row, c->count, sizeof *row, by_comm_bytes);
    out->comm = row;
    out->comms = c->count;
    if (by == MPR_GROUP_LIBRARY || by == MPR_GROUP_COMM)
        return; /* PyTorch's blocks have no library and no communicator */
    out->row =
        mpr_device_block_rows(arena, reader, p->torch, p->torches, mpr_gpu_backed, &out->rows);
    out->asleep =
        mpr_device_block_rows(arena, reader, p->torch, p->torches, asleep_of, &out->asleeps);
}

struct mpr_device mpr_device_named(struct mpr_arena *arena, const struct mpr_replay *r,
                                   unsigned index)
{
    const struct mpr_gpu_device *d = &r->gpu.device[index];
    return (struct mpr_device){
        .index = index,
        .name = mpr_arena_text(arena, d->name),
        .uuid = mpr_arena_text(arena, d->uuid),
        .off = mpr_arena_text(arena, d->off),
        .used_off = mpr_arena_text(arena, d->used_off),
        .by_name = mpr_arena_text(arena, d->by_name),
        .shared = d->shared,
        .torch_reserved_peak = d->torch_reserved_peak,
    };
}

struct mpr_device *mpr_devices_fill(struct mpr_arena *arena, const struct mpr_reader *reader,
                                    size_t *devices)
{
    struct mpr_device *device = mpr_arena_alloc(arena, MPF_GPUS * sizeof *device);
    *devices = 0;
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        if (!mpr_gpu_is_known(&reader->replay, i)) continue;
        struct mpr_device *out = &device[(*devices)++];
        *out = mpr_device_named(arena, &reader->replay, i);
        mpr_device_fill_state(&out->peak, arena, reader, &reader->replay.gpu.device[i].peak);
    }
    return device;
}

/* ---- accounts over time */

#define X(name, text) [MPR_ACCOUNT_##name] = text,
const char *const mpr_account_kind[] = { MPR_ACCOUNT_KINDS(X) };
#undef X

/* The accounts of one device while they are collected. */
struct collection {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    uint64_t from, to;
    struct mpr_account_instant *instant;
    size_t count, cap;
};

static void add_instant(struct collection *c, enum mpr_account_kind kind, uint64_t since,
                        const struct mpr_device_snapshot *p)
{
    struct mpr_device_state s;
    if (!p->valid || p->time < c->from || p->time > c->to) return;
    mpr_device_fill_account(&s, c->arena, c->reader, p);
    MPR_GROW(c->instant, c->count, c->cap);
    const bool measured = s.used != MPF_UNKNOWN;
    c->instant[c->count++] =
        (struct mpr_account_instant){ kind,     since,  s.time, measured ? s.used : s.tracked,
                                      measured, s.part, s.parts };
}

static void add_instants(struct collection *c, unsigned device, struct mpr_segments_series *kept)
{
    const struct mpr_replay *r = &c->reader->replay;
    const struct mpr_device_snapshots *in = r->gpu.instants;
    const struct mpr_device_snapshot *peak = &r->gpu.device[device].peak;
    for (size_t i = 0; i < mpr_device_snapshots_count(in); i++) {
        struct mpr_device_snapshot p = mpr_device_snapshots_get(in, i, device, r);
        const uint64_t since = mpr_device_snapshots_since(in, i);
        add_instant(c, MPR_ACCOUNT_SPREAD, since, &p);
        if (kept && p.valid)
            mpr_segments_series_add(kept, c->reader, &p, since,
                                    mpr_device_snapshots_is_kept(in, i) ? 0 : i + 1);
        mpr_device_snapshot_free(&p);
    }
    add_instant(c, MPR_ACCOUNT_PEAK, peak->time, peak);
    for (uint32_t i = 0; i < r->gpu.ooms; i++) {
        const struct mpr_device_snapshot *p = &r->gpu.oom[i].snapshot;
        if (p->device != device) continue;
        add_instant(c, MPR_ACCOUNT_OOM, p->time, p);
        if (kept && p->valid) mpr_segments_series_add(kept, c->reader, p, p->time, 0);
    }
}

/* At one time an out-of-memory event precedes a peak, and a peak precedes a spread instant. */
MPR_COMPARE(by_time, struct mpr_account_instant,
            mpr_compare(a->time, b->time) ?: mpr_compare(b->kind, a->kind))

struct mpr_device_account *mpr_device_accounts(struct mpr_arena *arena,
                                               const struct mpr_reader *reader, uint64_t from,
                                               uint64_t to, struct mpr_segments_series *kept,
                                               size_t *devices)
{
    struct mpr_device_account *account = mpr_arena_alloc(arena, MPF_GPUS * sizeof *account);
    *devices = 0;
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        if (!mpr_gpu_is_known(&reader->replay, i)) continue;
        const struct mpr_gpu_device *d = &reader->replay.gpu.device[i];
        struct collection c = { .arena = arena, .reader = reader, .from = from, .to = to };
        struct mpr_device_account *out = &account[*devices];
        *out = (struct mpr_device_account){ .index = i,
                                            .name = mpr_arena_text(arena, d->name),
                                            .uuid = mpr_arena_text(arena, d->uuid),
                                            .total = d->total };
        add_instants(&c, i, kept);
        const size_t bytes = c.count * sizeof *c.instant;
        if (c.count) qsort(c.instant, c.count, sizeof *c.instant, by_time);
        out->instant = mpr_arena_alloc(arena, bytes);
        if (c.count) memcpy(out->instant, c.instant, bytes);
        out->instants = c.count;
        out->part = mpr_arena_alloc(arena, MPR_USES * sizeof *out->part);
        for (enum mpr_use use = 0; use < MPR_USES; use++) {
            struct mpr_account_part *of_use = &out->part[out->parts];
            *of_use = (struct mpr_account_part){ .bytes = mpr_arena_alloc(
                                                     arena, c.count * sizeof *of_use->bytes) };
            for (size_t k = 0; k < c.count; k++)
                for (size_t at = 0; at < c.instant[k].parts; at++) {
                    const struct mpr_device_part *part = &c.instant[k].part[at];
                    if (part->use != use || !part->bytes) continue;
                    if (!of_use->key) of_use->key = part->key, of_use->name = part->name;
                    of_use->bytes[k] = part->bytes;
                }
            out->parts += of_use->key != NULL;
        }
        free(c.instant);
        if (out->parts) (*devices)++;
    }
    return account;
}
