/* Invariant: events stand in the array by thread, then chunk seq, then slot before the sort, and
 * their times never go back within a thread; `rank` and `slot` keep that order between equal times.
 */
#include "pending.h"

#include <stdlib.h>
#include <string.h>

#include "mpf/frame.h"

struct mpr_pending_chunk {
    uint64_t seq;
    uint32_t thread, index;
    const uint8_t *at;
};
struct mpr_pending_event {
    uint64_t time;
    uint32_t rank, slot;
};

static int by_thread(const void *left, const void *right)
{
    const struct mpr_pending_chunk *a = left, *b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int by_time(const void *left, const void *right)
{
    const struct mpr_pending_event *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static uint64_t announced(const struct mpr_pending *p, uint32_t index)
{
    struct mpf_chunk c;
    const uint64_t at = p->head.head_bytes + (uint64_t)index * MPF_CHUNK_BYTES;
    if (at + MPF_CHUNK_BYTES > p->bytes) return 0;
    memcpy(&c, p->image + at, offsetof(struct mpf_chunk, slot));
    return c.state == MPF_CHUNK_USED && c.tag ? c.frame : 0;
}

/* Finds the chunks that hold something; `found` is scratch. */
static int list_chunks(struct mpr_pending *p, uint64_t frames, struct mpf_recovered *found)
{
    p->chunk = calloc((size_t)p->head.chunks + 1, sizeof *p->chunk);
    if (!p->chunk) return MPF_ERR_SPACE;
    for (uint32_t i = 0; i < p->head.chunks; i++) {
        uint32_t torn = 0;
        const uint32_t count =
            mpf_journal_chunk(p->image, p->bytes, &p->head, i, frames, found, &torn);
        p->torn += torn;
        if (announced(p, i) > p->announced) p->announced = announced(p, i);
        if (!count) continue;
        p->chunk[p->chunks++] =
            (struct mpr_pending_chunk){ found->seq, found->thread, i, found->chunk };
        p->events += count;
    }
    qsort(p->chunk, p->chunks, sizeof *p->chunk, by_thread);
    return 0;
}

static int list_events(struct mpr_pending *p, uint64_t frames, struct mpf_recovered *found)
{
    p->cap = p->events;
    p->events = 0;
    p->event = malloc((p->cap + 1) * sizeof *p->event);
    if (!p->event) return MPF_ERR_SPACE;
    uint64_t newest = 0;
    for (uint32_t rank = 0; rank < p->chunks; rank++) {
        uint32_t torn;
        if (rank && p->chunk[rank].thread != p->chunk[rank - 1].thread) newest = 0;
        const uint32_t count = mpf_journal_chunk(p->image, p->bytes, &p->head, p->chunk[rank].index,
                                                 frames, found, &torn);
        for (uint32_t i = 0; i < count && p->events < p->cap; i++) {
            if (found[i].time > newest) newest = found[i].time;
            p->event[p->events++] = (struct mpr_pending_event){ newest, rank, found[i].slot };
        }
    }
    qsort(p->event, p->events, sizeof *p->event, by_time);
    return 0;
}

int mpr_pending_open(struct mpr_pending *p, const uint8_t *image, size_t bytes, uint64_t frames)
{
    *p = (struct mpr_pending){ .image = image, .bytes = bytes };
    int error = mpf_journal_check(image, bytes, &p->head);
    if (error) return error;
    if (p->head.chunks > bytes / MPF_CHUNK_BYTES)
        p->head.chunks = (uint32_t)(bytes / MPF_CHUNK_BYTES);
    struct mpf_recovered *found = malloc(MPF_CHUNK_SLOTS * sizeof *found);
    if (!found) return MPF_ERR_SPACE;
    error = list_chunks(p, frames, found);
    if (!error) error = list_events(p, frames, found);
    free(found);
    if (error) mpr_pending_close(p);
    return error;
}

void mpr_pending_close(struct mpr_pending *p)
{
    free(p->chunk);
    free(p->event);
    *p = (struct mpr_pending){ 0 };
}

int mpr_pending_next(struct mpr_pending *p, uint64_t origin, struct mpf_event *event, uint8_t *data)
{
    while (p->next < p->events) {
        const struct mpr_pending_event *e = &p->event[p->next++];
        const struct mpr_pending_chunk *c = &p->chunk[e->rank];
        const struct mpf_recovered from = { e->time, c->seq, c->thread, e->slot, c->at };
        if (mpf_journal_event(&from, &p->head.start, &p->head.last, origin, event, data) == 0)
            return 1;
        p->torn++;
    }
    return 0;
}

void mpr_pending_chunks(const struct mpr_pending *p, void (*each)(void *arg, const uint8_t *chunk),
                        void *arg)
{
    for (size_t i = 0; i < p->chunks; i++) each(arg, p->chunk[i].at);
}
