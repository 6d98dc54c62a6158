#include "host_maps.h"

#include <string.h>

#include "maker.h"

static void count_region(struct mpr_replay *r, uint8_t heap, uint32_t cell, size_t made,
                         size_t gone)
{
    if (made) {
        r->books.heap[heap].allocations++;
        r->books.cell[cell].allocations++;
    }
    if (gone) r->books.heap[heap].frees++;
}

/* shmdt names only the beginning: size 0 is the whole mapping. */
void mpr_host_maps_unmap(struct mpr_replay *r, const struct mpf_event *e)
{
    uint8_t heap;
    const uint64_t size = e->size ? e->size : mpr_regions_extent(&r->regions, e->addr);
    if (!mpr_regions_known(&r->regions, &r->books, e->addr, size, &heap)) return;
    count_region(r, heap, 0, 0, mpr_regions_unmap(&r->regions, &r->books, e->addr, size));
}

void mpr_host_maps_protect(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    uint8_t heap;
    const bool writable = e->op == MPF_OP_PROTECT_RW;
    if (!mpr_regions_known(&r->regions, &r->books, e->addr, e->size, &heap)) return;
    const uint32_t cell = mpr_maker_new(r, t, heap, e->size);
    const size_t changed =
        mpr_regions_protect(&r->regions, &r->books, e->addr, e->size, cell, writable, e->time);
    count_region(r, heap, cell, writable ? changed : 0, writable ? 0 : changed);
}

void mpr_host_maps_map(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool writable = e->op == MPF_OP_MAP;
    const uint32_t cell = mpr_maker_new(r, t, e->heap, e->size);
    mpr_host_maps_unmap(r, e);
    const size_t made =
        mpr_regions_map(&r->regions, &r->books, e->addr, e->size, cell, writable, e->time);
    count_region(r, e->heap, cell, made && writable, 0);
}

void mpr_host_maps_remap_from(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->remaps == MPR_REMAPS) {
        mpr_regions_stay(&r->regions, &r->books, &t->remap[0]);
        memmove(t->remap, t->remap + 1, --t->remaps * sizeof *t->remap);
    }
    mpr_regions_leave(&r->regions, &r->books, e->addr, e->size, &t->remap[t->remaps++]);
}

static void leave_after_all(struct mpr_replay *r, struct mpr_thread *t)
{
    mpr_regions_leave(&r->regions, &r->books, t->refused[0], t->refused[1], &t->remap[t->remaps++]);
    t->refused[1] = 0;
}

void mpr_host_maps_remap_to(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t to[2] = { e->addr, e->size };
    if (!t->remaps && t->refused[1]) leave_after_all(r, t);
    if (!t->remaps) return;
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    if (!leaving->count) {
        mpr_host_maps_unmap(r, e);
        return;
    }
    const uint8_t heap = r->books.cell[leaving->span->what].heap;
    const uint32_t cell = mpr_maker_new(r, t, heap, e->size);
    const size_t arrived = mpr_regions_arrive(&r->regions, &r->books, leaving, to, cell, e->time);
    count_region(r, heap, cell, arrived, arrived);
}

void mpr_host_maps_refused(struct mpr_replay *r, struct mpr_thread *t)
{
    struct mpr_leaving *leaving = &t->remap[--t->remaps];
    t->refused[0] = leaving->from;
    t->refused[1] = leaving->size;
    mpr_regions_stay(&r->regions, &r->books, leaving);
}
