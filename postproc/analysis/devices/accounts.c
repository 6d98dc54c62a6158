#include "accounts.h"

#include <stdlib.h>

#include "alloc.h"
#include "composition.h"
#include "gpu_peaks.h"
#include "instants.h"
#include "mpf/sample.h"
#include "picture.h"
#include "reader.h"
#include "segments_kept.h"

#define X(name, text) [MPR_ACCOUNT_##name] = text,
const char *const mpr_account_kind[] = { MPR_ACCOUNT_KINDS(X) };
#undef X

struct making {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    struct mpr_segments_kept *kept;
    unsigned device;
    uint64_t from, to;
    /* What is told of each instant */
    struct told {
        struct mpr_account_instant instant;
        const struct mpr_device_part *part;
        size_t parts;
    } * told;
    size_t count, cap;
};

/* ---- instants */

static void tell(struct making *m, enum mpr_account_kind kind, uint64_t since,
                 const struct mpr_picture *p)
{
    struct mpr_device_state s;
    if (!p->valid || p->time < m->from || p->time > m->to) return;
    mpr_composition_account(&s, m->arena, m->reader, p);
    MPR_GROW(m->told, m->count, m->cap);
    const bool measured = s.used != MPF_UNKNOWN;
    m->told[m->count++] = (struct told){
        { kind, since, s.time, measured ? s.used : s.tracked, measured }, s.part, s.parts
    };
}

static void tell_spread(struct making *m)
{
    const struct mpr_replay *r = &m->reader->replay;
    const struct mpr_instants *in = r->gpu.instants;
    for (size_t i = 0; i < mpr_instants_count(in); i++) {
        struct mpr_picture p = mpr_instants_picture(in, i, m->device, r);
        const uint64_t since = mpr_instants_since(in, i);
        tell(m, MPR_ACCOUNT_SPREAD, since, &p);
        if (m->kept && p.valid)
            mpr_segments_keep(m->kept, m->reader, &p, since, mpr_instants_stays(in, i) ? 0 : i + 1);
        mpr_picture_free(&p);
    }
}

static void tell_oom(struct making *m, const struct mpr_picture *p)
{
    tell(m, MPR_ACCOUNT_OOM, p->time, p);
    if (m->kept && p->valid) mpr_segments_keep(m->kept, m->reader, p, p->time, 0);
}

static void tell_exact(struct making *m)
{
    const struct mpr_gpu *g = &m->reader->replay.gpu;
    const struct mpr_picture *peak = &g->device[m->device].peak;
    tell(m, MPR_ACCOUNT_PEAK, peak->time, peak);
    for (uint32_t i = 0; i < g->ooms; i++)
        if (g->oom[i].picture.device == m->device) tell_oom(m, &g->oom[i].picture);
}

/* Of one time what went on at it comes first. */
static int by_time(const void *left, const void *right)
{
    const struct mpr_account_instant *a = &((const struct told *)left)->instant,
                                     *b = &((const struct told *)right)->instant;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    return (a->kind < b->kind) - (a->kind > b->kind);
}

/* ---- parts */

/* The bytes of one use at all instants; false if they are always 0. */
static bool fill_part(const struct making *m, enum mpr_use use, struct mpr_account_part *out)
{
    *out = (struct mpr_account_part){ .bytes = mpr_arena_alloc(m->arena,
                                                               m->count * sizeof *out->bytes) };
    for (size_t i = 0; i < m->count; i++)
        for (size_t k = 0; k < m->told[i].parts; k++) {
            const struct mpr_device_part *part = &m->told[i].part[k];
            if (part->use != use || !part->bytes) continue;
            if (!out->key) out->key = part->key, out->name = part->name;
            out->bytes[i] = part->bytes;
        }
    return out->key != NULL;
}

/* ---- a device */

static void fill_device(struct making *m, struct mpr_device_account *out)
{
    const struct mpr_gpu_device *d = &m->reader->replay.gpu.device[m->device];
    *out = (struct mpr_device_account){ .index = m->device,
                                        .name = mpr_arena_text(m->arena, d->name),
                                        .uuid = mpr_arena_text(m->arena, d->uuid),
                                        .total = d->total };
    tell_spread(m);
    tell_exact(m);
    if (m->count) qsort(m->told, m->count, sizeof *m->told, by_time);
    out->instant = mpr_arena_alloc(m->arena, m->count * sizeof *out->instant);
    for (; out->instants < m->count; out->instants++)
        out->instant[out->instants] = m->told[out->instants].instant;
    out->part = mpr_arena_alloc(m->arena, MPR_USES * sizeof *out->part);
    for (enum mpr_use use = 0; use < MPR_USES; use++)
        out->parts += fill_part(m, use, &out->part[out->parts]);
    free(m->told);
}

struct mpr_device_account *mpr_accounts_make(struct mpr_arena *arena,
                                             const struct mpr_reader *reader, uint64_t from,
                                             uint64_t to, struct mpr_segments_kept *kept,
                                             size_t *devices)
{
    struct mpr_device_account *made = mpr_arena_alloc(arena, MPF_GPUS * sizeof *made);
    *devices = 0;
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        struct making m = {
            .arena = arena, .reader = reader, .kept = kept, .device = i, .from = from, .to = to
        };
        if (!mpr_gpu_is_there(&reader->replay, i)) continue;
        fill_device(&m, &made[*devices]);
        if (made[*devices].parts) (*devices)++;
    }
    return made;
}
