/* Invariant: of what has gone since the first instant, `gone` has all blocks that a kept instant
 * saw, in the order in which they went; `gones` of an instant is how many had gone before it. */
#include "instants.h"

#include <stdlib.h>

#include "alloc.h"
#include "gpu_peaks.h"
#include "picture.h"

struct instant {
    uint64_t since, time, births;
    size_t gones;
    bool wanted;
    uint32_t peaks; /* a bit for each device of which PyTorch holds most then */
    struct mpr_picture device[MPF_GPUS]; /* as they were begun */
};

struct mpr_instants {
    size_t most, count;
    size_t wanted;                     /* of these */
    uint64_t from, to, apart, changed; /* ns; changed: the newest event of a device */
    bool used, wants;                  /* wants: the state after that event */
    uint64_t torch[MPF_GPUS];          /* bytes that PyTorch held at most */
    struct instant *at;
    struct mpr_gpu_block *gone;
    size_t gones, gone_cap;
};

struct mpr_instants *mpr_instants_new(size_t most, uint64_t from, uint64_t to)
{
    struct mpr_instants *in = mpr_alloc(1, sizeof *in);
    *in = (struct mpr_instants){ .most = most, .from = from, .to = to, .apart = 1 };
    in->at = mpr_alloc(most + 1 + MPF_GPUS, sizeof *in->at);
    return in;
}

void mpr_instants_free(struct mpr_instants *in)
{
    if (!in) return;
    free(in->at);
    free(in->gone);
    free(in);
}

/* ---- what goes */

/* What went between two instants is the same to both: each block once. */
static void make_room(struct mpr_instants *in)
{
    const size_t last = in->at[in->count - 1].gones;
    if (in->gones < in->gone_cap) return;
    in->gones = last + mpr_picture_once(in->gone + last, in->gones - last);
    if (in->gones >= in->gone_cap / 2)
        in->gone = mpr_grow(in->gone, &in->gone_cap, SIZE_MAX, sizeof *in->gone);
}

void mpr_instants_gone(struct mpr_instants *in, const struct mpr_gpu_block *b)
{
    if (!in->count || b->birth > in->at[in->count - 1].births) return;
    make_room(in);
    in->gone[in->gones++] = *b;
}

/* Which of the instants was the first to see the block. */
static size_t first_to_see(const struct mpr_instants *in, uint64_t birth)
{
    size_t low = 0, high = in->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (in->at[middle].births < birth) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Leaves what an instant has seen. */
static void forget(struct mpr_instants *in)
{
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < in->gones; i++) {
        for (; next < in->count && in->at[next].gones <= i; next++) in->at[next].gones = kept;
        if (first_to_see(in, in->gone[i].birth) < next) in->gone[kept++] = in->gone[i];
    }
    for (; next < in->count; next++) in->at[next].gones = kept;
    in->gones = kept;
}

/* ---- instants */

static bool stays(const struct instant *i) { return i->wanted || i->peaks; }

/* Half of the others are left at most, as far apart as so many are that are spread evenly: where
 * little happens they are few anyhow, so they go where they are many. */
static void thin_out(struct mpr_instants *in)
{
    const uint64_t even = (in->at[in->count - 1].time - in->at[0].time) / (in->most / 2) + 1;
    size_t kept = 1;
    in->apart = even > 2 * in->apart ? even : 2 * in->apart;
    for (size_t i = 1; i < in->count; i++)
        if (stays(&in->at[i]) || in->at[i].time - in->at[kept - 1].time >= in->apart)
            in->at[kept++] = in->at[i];
    in->count = kept;
    forget(in);
}

static void take(struct mpr_instants *in, const struct mpr_replay *r, uint64_t time)
{
    struct instant *i = &in->at[in->count++];
    *i = (struct instant){
        .since = in->changed, .time = time, .births = r->gpu.births, .gones = in->gones
    };
    for (unsigned d = 0; d < MPF_GPUS; d++)
        if (mpr_gpu_is_there(r, d)) mpr_picture_begin(&i->device[d], r, d, time);
}

/* Is the devices' state at that time that of no other?  Something has changed before it, and not at
 * it. */
static bool is_settled(const struct mpr_instants *in, uint64_t time)
{
    return in->used && time > in->changed && time >= in->from && time <= in->to;
}

static bool is_due(const struct mpr_instants *in, uint64_t time)
{
    return !in->count || time - in->at[in->count - 1].time >= in->apart;
}

/* The devices of which PyTorch holds more than ever. */
static uint32_t new_peaks(struct mpr_instants *in, const struct mpr_replay *r)
{
    uint32_t peaks = 0;
    for (unsigned d = 0; d < MPF_GPUS; d++) {
        const uint64_t bytes = r->books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, d)].bytes;
        if (bytes <= in->torch[d]) continue;
        in->torch[d] = bytes;
        peaks |= UINT32_C(1) << d;
    }
    return peaks;
}

/* With what it alone had seen. */
static void drop_newest(struct mpr_instants *in)
{
    size_t kept = in->at[--in->count].gones;
    const struct instant *last = &in->at[in->count - 1];
    for (size_t i = kept; i < in->gones; i++)
        if (in->gone[i].birth <= last->births) in->gone[kept++] = in->gone[i];
    in->gones = kept;
}

/* The peaks so far are none any more; the newest instant goes if it was nothing else, so that a
 * device that fills has one and not very many. */
static void forget_peaks(struct mpr_instants *in, uint32_t peaks)
{
    for (size_t i = 0; i < in->count; i++) {
        struct instant *of = &in->at[i];
        const bool only = of->peaks && !(of->peaks & ~peaks) && !of->wanted;
        of->peaks &= ~peaks;
        if (only && i && i + 1 == in->count && of->time - of[-1].time < in->apart) drop_newest(in);
    }
}

static bool is_full(const struct mpr_instants *in)
{
    size_t others = 0;
    for (size_t i = 0; i < in->count; i++) others += !in->at[i].peaks;
    return others >= in->most;
}

static void keep(struct mpr_instants *in, const struct mpr_replay *r, uint64_t time)
{
    const uint32_t peaks = new_peaks(in, r);
    const bool wanted = in->wants && in->wanted < in->most / 4;
    in->wants = false;
    if (peaks) forget_peaks(in, peaks);
    if (!peaks && !wanted && !is_due(in, time)) return;
    if (is_full(in)) thin_out(in);
    if (!peaks && !wanted && !is_due(in, time)) return;
    take(in, r, time);
    in->at[in->count - 1].wanted = wanted;
    in->at[in->count - 1].peaks = peaks;
    in->wanted += wanted;
}

void mpr_instants_turn(struct mpr_instants *in, const struct mpr_replay *r)
{
    const uint64_t before = r->now ? r->now - 1 : 0;
    if (is_settled(in, before)) keep(in, r, before);
    in->used = true;
    in->changed = r->now;
}

void mpr_instants_want(struct mpr_instants *in) { in->wants = true; }

void mpr_instants_end(struct mpr_instants *in, const struct mpr_replay *r)
{
    if (is_settled(in, r->now)) take(in, r, r->now);
}

/* ---- what they saw */

size_t mpr_instants_count(const struct mpr_instants *in) { return in->count; }

bool mpr_instants_stays(const struct mpr_instants *in, size_t index)
{
    return stays(&in->at[index]);
}

uint64_t mpr_instants_since(const struct mpr_instants *in, size_t index)
{
    return in->at[index].since;
}

struct mpr_picture mpr_instants_picture(const struct mpr_instants *in, size_t index,
                                        unsigned device, const struct mpr_replay *r)
{
    struct mpr_picture p = in->at[index].device[device];
    for (size_t i = in->at[index].gones; i < in->gones; i++) mpr_picture_gone(&p, &in->gone[i]);
    mpr_picture_end(&p, r);
    return p;
}
