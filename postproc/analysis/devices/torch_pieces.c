#include "torch_pieces.h"

#include <stdlib.h>

#include "alloc.h"

#define PAGE (UINT64_C(2) << 20) /* PyTorch asks for multiples of it (c10/cuda) */

void mpr_torch_pieces_free(struct mpr_torch_pieces *p)
{
    mpr_intervals_free(&p->at);
    free(p->piece);
}

static uint32_t place_for(struct mpr_torch_pieces *p)
{
    if (p->free) {
        const uint32_t place = p->free - 1;
        p->free = p->piece[place].next_free;
        return place;
    }
    MPR_GROW(p->piece, p->pieces, p->cap);
    return p->pieces++;
}

static uint64_t end_of(uint64_t addr, uint64_t size)
{
    return size > UINT64_MAX - addr ? UINT64_MAX : addr + size;
}

static void come(struct mpr_torch_pieces *p, uint64_t start, uint64_t end,
                 const struct mpr_torch_piece *piece)
{
    const uint32_t place = place_for(p);
    p->piece[place] = *piece;
    mpr_intervals_insert(&p->at, mpr_intervals_after(&p->at, start),
                         &(struct mpr_interval){ start, end, place, false });
    p->comes(p->arg, start, end - start, piece);
}

static void go(struct mpr_torch_pieces *p, struct mpr_position place)
{
    const struct mpr_interval gone = *mpr_intervals_at(&p->at, place);
    const struct mpr_torch_piece piece = p->piece[gone.what];
    p->piece[gone.what] = (struct mpr_torch_piece){ .next_free = p->free };
    p->free = gone.what + 1;
    mpr_intervals_remove(&p->at, place, 1);
    p->goes(p->arg, gone.start, gone.end - gone.start, &piece);
}

/* The piece at an address; NULL: none is there. */
static struct mpr_interval *piece_at(const struct mpr_torch_pieces *p, uint64_t addr)
{
    struct mpr_interval *span = mpr_intervals_at(&p->at, mpr_intervals_after(&p->at, addr));
    return span && span->start <= addr ? span : NULL;
}

void mpr_torch_pieces_add(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size,
                          const struct mpr_torch_piece *piece)
{
    const uint64_t end = end_of(addr, size);
    while (addr < end) {
        const struct mpr_interval *span =
            mpr_intervals_at(&p->at, mpr_intervals_after(&p->at, addr));
        if (span && span->start <= addr) {
            p->piece[span->what].gone = false;
            addr = span->end;
            continue;
        }
        const uint64_t to = span && span->start < end ? span->start : end;
        come(p, addr, to, piece);
        addr = to;
    }
}

static bool is_over(const struct mpr_torch_piece *piece)
{
    return piece->gone && !piece->sleeps && !piece->blocks;
}

static void each(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size,
                 void (*change)(struct mpr_torch_piece *piece))
{
    const uint64_t end = end_of(addr, size);
    struct mpr_position place = mpr_intervals_after(&p->at, addr);
    const struct mpr_interval *span;
    while ((span = mpr_intervals_at(&p->at, place)) && span->start < end) {
        change(&p->piece[span->what]);
        addr = span->end;
        if (is_over(&p->piece[span->what])) go(p, place);
        place = mpr_intervals_after(&p->at, addr);
    }
}

static void drop(struct mpr_torch_piece *piece) { piece->gone = true; }

static void forget(struct mpr_torch_piece *piece) { piece->sleeps &= !piece->gone; }

void mpr_torch_pieces_drop(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size)
{
    each(p, addr, size, drop);
}

void mpr_torch_pieces_forget(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size)
{
    each(p, addr, size, forget);
}

/* Whole pages around what a block touches, as far as no other piece is there. */
static void suppose(struct mpr_torch_pieces *p, uint64_t addr, uint64_t end)
{
    static const struct mpr_torch_piece supposed = { .expandable = true, .gone = true };
    const uint64_t first = addr - addr % PAGE,
                   last = end > UINT64_MAX - PAGE ? end : (end + PAGE - 1) / PAGE * PAGE;
    const struct mpr_interval *span = mpr_intervals_at(&p->at, mpr_intervals_after(&p->at, first));
    uint64_t from = first;
    while (span && span->end <= addr) {
        from = span->end;
        span = mpr_intervals_at(&p->at, mpr_intervals_after(&p->at, from));
    }
    come(p, from, span && span->start < last ? span->start : last, &supposed);
}

/* Where the pieces that follow each other from an address on end. */
static uint64_t covered_to(const struct mpr_torch_pieces *p, uint64_t addr, uint64_t end)
{
    const struct mpr_interval *span;
    for (struct mpr_position place = mpr_intervals_after(&p->at, addr);
         addr < end && (span = mpr_intervals_at(&p->at, place)) && span->start <= addr;
         place = mpr_intervals_next(&p->at, place))
        addr = span->end;
    return addr;
}

void mpr_torch_pieces_hold(struct mpr_torch_pieces *p, uint64_t addr, uint64_t size)
{
    const uint64_t end = end_of(addr, size);
    for (uint64_t at = addr; (at = covered_to(p, at, end)) < end;) suppose(p, at, end);
    const struct mpr_interval *first = piece_at(p, addr);
    if (first) p->piece[first->what].blocks++;
}

void mpr_torch_pieces_leave(struct mpr_torch_pieces *p, uint64_t addr)
{
    const struct mpr_position place = mpr_intervals_after(&p->at, addr);
    const struct mpr_interval *span = mpr_intervals_at(&p->at, place);
    if (!span || span->start > addr) return;
    struct mpr_torch_piece *piece = &p->piece[span->what];
    if (piece->blocks) piece->blocks--;
    if (is_over(piece)) go(p, place);
}
